"""An organizer who holds the contest's key can rewrite a run so that all of it agrees; one team's receipts tell.

LPIRC_HISTORIES=1000 in the environment tries so many.
"""

from __future__ import annotations

import os

import numpy as np

from tests.referee.evidence.histories import (
    BOUND_BY_BODIES,
    BOUND_BY_THE_CLOSE,
    TOLD_BY_THE_RULES,
    History,
    corrected_truth,
    energy_read_later,
)
from tests.referee.evidence.proved import Proved, by_main, by_second, failed, sentences

COUNT = int(os.environ.get("LPIRC_HISTORIES", "1000"))
EACH_SECOND = 50
ALTERED = [*BOUND_BY_BODIES, *BOUND_BY_THE_CLOSE, *TOLD_BY_THE_RULES]


def test_histories_altered_with_the_organizers_key_are_all_caught_by_one_teams_receipts(
    proved: dict[str, Proved],
) -> None:
    chance, judged = np.random.default_rng(2), proved["judged"]
    bodies_alone = b"".join(judged.receipts.splitlines(keepends=True)[:-1])
    for number in range(COUNT):
        history, alter = History(judged), ALTERED[number % len(ALTERED)]
        alter(history, chance)
        data = history.sealed()
        kept = bodies_alone if alter in BOUND_BY_BODIES and number % 2 else judged.receipts
        expected = "rules" if alter in TOLD_BY_THE_RULES else "receipts"
        for verifier in (by_main, by_second) if number % EACH_SECOND == EACH_SECOND - 1 else (by_main,):
            found = verifier(data, kept, judged.key.public)
            assert failed(found) == [expected], (alter.__name__, number, verifier.__name__, found)


def test_a_history_without_alterations_holds(proved: dict[str, Proved]) -> None:
    judged = proved["judged"]
    data = History(judged).sealed()
    for verifier in (by_main, by_second):
        assert failed(verifier(data, judged.receipts, judged.key.public)) == []


def test_a_ground_truth_that_is_exchanged_openly_is_named_with_both_digests(
    proved: dict[str, Proved],
) -> None:
    judged = proved["judged"]
    history = History(judged)
    old, new = history.run["testset_digest"], corrected_truth(history, np.random.default_rng(4))
    data = history.sealed()
    assert failed(by_main(data, judged.receipts, judged.key.public)) == []
    told = sentences(data)
    assert f"corrected: from {old[:12]} to {new[:12]} by eve" in told["testset"]
    assert f"testset_digest {new} instead of the bound {old}" in told["rules"]
    assert "by other rules" in told["judgements"]


def test_an_energy_of_the_close_is_not_replaced_by_one_said_to_be_read_later(
    proved: dict[str, Proved],
) -> None:
    judged = proved["judged"]
    history = History(judged)
    energy_read_later(history, np.random.default_rng(3))
    data = history.sealed()
    for verifier in (by_main, by_second):
        assert "energy" in failed(verifier(data, judged.receipts, judged.key.public))
