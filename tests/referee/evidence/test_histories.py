"""An organizer who holds the contest's key can rewrite a run so that all of it agrees; one team's receipts tell.

LPIRC_HISTORIES=1000 in the environment verifies so many whole ones, by both verifiers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from tests.referee.evidence.histories import (
    BOUND_BY_BODIES,
    BOUND_BY_THE_CLOSE,
    TOLD_BY_THE_RULES,
    Alteration,
    History,
    corrected_truth,
    energy_read_later,
    other_standing,
)
from tests.referee.evidence.proved import (
    Proved,
    by_main,
    by_second,
    caught_by,
    failed,
    sentences,
)

ALTERED = [*BOUND_BY_BODIES, *BOUND_BY_THE_CLOSE, *TOLD_BY_THE_RULES]
COUNT = 1000
WHOLE = int(os.environ.get("LPIRC_HISTORIES", "0")) or 2 * len(ALTERED)
EACH_SECOND = 5


def histories(
    proved: Proved,
    count: int,
    seed: int,
) -> Iterator[tuple[Alteration, History, bytes]]:
    """Altered ones, and what a team kept: without a closing receipt in each second round, if bodies bind it."""
    chance = np.random.default_rng(seed)
    bodies_alone = b"".join(proved.receipts.splitlines(keepends=True)[:-1])
    for number in range(count):
        history = History(proved)
        alter = ALTERED[number % len(ALTERED)]
        alter(history, chance)
        is_cut_short = alter in BOUND_BY_BODIES and number // len(ALTERED) % 2
        yield alter, history, bodies_alone if is_cut_short else proved.receipts


def expected(alter: Alteration) -> list[str]:
    if alter is other_standing:
        return ["receipts", "rules"]
    return ["rules" if alter in TOLD_BY_THE_RULES else "receipts"]


def test_histories_altered_with_the_organizers_key_are_all_caught_by_one_teams_receipts(
    proved: dict[str, Proved],
) -> None:
    for number, (alter, history, kept) in enumerate(
        histories(proved["judged"], COUNT, seed=1)
    ):
        found = caught_by(history.sealed(judged=False), kept)
        assert {*expected(alter)} <= {*found}, (alter.__name__, number)


def test_nothing_else_tells_of_them(proved: dict[str, Proved]) -> None:
    judged = proved["judged"]
    for number, (alter, history, kept) in enumerate(histories(judged, WHOLE, seed=2)):
        data = history.sealed()
        for verifier in (
            (by_main, by_second) if number % EACH_SECOND == 0 else (by_main,)
        ):
            found = verifier(data, kept, judged.key.public)
            told = {*expected(alter), *(["judgements"] if history.says_bound else [])}
            assert {*failed(found)} == told, (
                alter.__name__,
                number,
                verifier.__name__,
                found,
            )


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
    old = history.run["testset_digest"]
    new = corrected_truth(history, np.random.default_rng(4))
    data = history.sealed()
    assert failed(by_main(data, judged.receipts, judged.key.public)) == []
    told = sentences(data)
    assert f"corrected: from {old[:12]} to {new[:12]} by eve" in told["testset"]
    assert f"testset_digest {new} instead of the run's {old}" in told["rules"]
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
