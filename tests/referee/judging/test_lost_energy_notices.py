"""The runs whose energy is lost, and what the public is told of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta

import pytest

from referee.clock import Clock
from referee.contest import Contest
from referee.judging.board_publisher import Publisher
from referee.judging.freeze import public_view
from referee.judging.judge import judge
from referee.judging.lost_energy_notices import lost_energies, lost_energy_of
from referee.judging.public_documents import empty_board, public_board
from referee.judging.run_figures import let_stand
from referee.store.records import Released, RunState
from tests.referee.factories import START, House
from tests.referee.judging.judged_runs import closed_run, opened_run

Build = Callable[..., House]


@pytest.fixture
def contest(build: Build) -> Contest:
    return build(public_score=True).contest


def lose(
    contest: Contest,
    run: int,
    code: str = "meter-reset",
) -> None:
    contest.store.log.append(START, run, "energy-lost", code=code, elapsed_s=5.0)


def test_only_the_runs_concerned_are_named_oldest_first_and_a_void_one_is_not(
    contest: Contest,
) -> None:
    one, _, other = (
        opened_run(contest, team) for team in ("voles", "otters", "badgers")
    )
    for run in (other, one):
        lose(contest, run.id)
    assert [(lost.run, lost.team) for lost in lost_energies(contest)] == [
        (1, "voles"),
        (3, "badgers"),
    ]
    contest.store.runs.change(
        1,
        (RunState.OPEN,),
        state="void",
        void_reason="the meter had no power",
    )
    assert [lost.run for lost in lost_energies(contest)] == [3]
    assert lost_energy_of(contest, 1) is None
    assert (lost_energy_of(contest, 3) or "").startswith(
        "The energy of run 3 of badgers is lost: "
    )


def test_a_review_that_lets_the_run_stand_ends_it_until_another_check_fails(
    contest: Contest,
) -> None:
    number = closed_run(contest, "otters", odd=True).id
    lose(contest, number, "cut-short")
    judge(contest, number, Clock())
    assert "is not complete: the meter's power failed" in (
        lost_energy_of(contest, number) or ""
    )
    let_stand(contest, number, "ruth", "its last second", START)
    assert lost_energies(contest) == []


def test_the_public_sees_the_line_and_no_energy_or_score_of_what_is_left_in_the_meter(
    contest: Contest,
) -> None:
    number = opened_run(contest, "otters").id
    utc = START.isoformat()
    now = START + timedelta(seconds=60)
    contest.store.provisional.release(Released(number, utc, utc, 0.5, 0.01, 50.0, 3))
    figures = ("map", "energy_wh", "score", "figure_state")

    def published() -> tuple[list[str], list[float | str | None]]:
        document = json.loads(public_board(contest, now))
        (run,) = document["figures"].values()
        return [one["sentence"] for one in document["energy_lost"]], [
            run[name] for name in figures
        ]

    assert published() == ([], [0.5, 0.01, 50.0, "fresh"])
    lose(contest, number, "began-again")
    assert published() == (
        [lost_energy_of(contest, number)],
        [0.5, None, None, "in-review"],
    )


def test_a_frozen_board_does_not_tell_of_it(contest: Contest) -> None:
    lose(contest, opened_run(contest, "otters").id)

    def told() -> int:
        row = contest.store.published.get()
        assert row is not None
        return len(public_view(row)["energy_lost"])

    Publisher(contest, Clock()).tick()
    assert told() == 1
    contest.store.published.freeze(START, empty_board(contest))
    assert told() == 0
