"""An organizer who holds the contest's key can rewrite a run so that all of it agrees; one team's receipts tell.

LPIRC_HISTORIES=1000 in the environment tries so many.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from tests.referee.evidence.histories import ALTERED, History, energy_read_later
from tests.referee.evidence.proved import Proved, by_main, by_second, failed

COUNT = int(os.environ.get("LPIRC_HISTORIES", "45"))
EACH_SECOND = 5


def histories(proved: Proved, count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    chance = np.random.default_rng(seed)
    for number in range(count):
        history, alter = History(proved), ALTERED[number % len(ALTERED)]
        for _ in range(int(chance.integers(1, 4))):
            alter(history, chance)
        yield alter.__name__, history.sealed()


def test_rewritten_histories_hold_by_themselves_and_fall_by_a_teams_receipts(
    proved: dict[str, Proved],
) -> None:
    judged = proved["judged"]
    for number, (how, data) in enumerate(histories(judged, COUNT, seed=2)):
        for verifier in (by_main, by_second) if number % EACH_SECOND == 0 else (by_main,):
            found = verifier(data, judged.receipts, judged.key.public)
            assert failed(found) == ["receipts"], (how, number, verifier.__name__, found)


def test_an_energy_of_the_close_is_not_replaced_by_one_said_to_be_read_later(
    proved: dict[str, Proved],
) -> None:
    judged = proved["judged"]
    history = History(judged)
    energy_read_later(history, np.random.default_rng(3))
    data = history.sealed()
    for verifier in (by_main, by_second):
        assert "energy" in failed(verifier(data, judged.receipts, judged.key.public))
