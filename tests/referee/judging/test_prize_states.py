"""What is said of a prize: nothing while its condition leaves no one to compare, and no promise after the end."""

from __future__ import annotations

from typing import Any

import pytest

from referee.judging.prize_states import (
    PrizeState,
    contest_is_over,
    with_prize_states,
)
from referee.store.records import BoardState, RunState

UNVEILED = "2026-05-04T16:00:00+00:00"


def board(ranked: int, *, is_over: bool = False, **different: Any) -> dict[str, Any]:
    places = [{"rank": number} for number in range(1, ranked + 1)]
    prizes = [
        {"rule": rule, "teams": ("ant",) if ranked else ()}
        for rule in ("best-score", "least-energy", "highest-map")
    ]
    found = {"ranking": places, "prizes": prizes, "is_over": is_over}
    return found | different


def states(shown: dict[str, Any]) -> list[PrizeState]:
    return [prize["state"] for prize in with_prize_states(shown)]


@pytest.mark.parametrize("ranked", [1, 2])
def test_a_prize_with_a_condition_names_no_one_while_two_teams_or_fewer_are_ranked(
    ranked: int,
) -> None:
    few = [PrizeState.STANDS, PrizeState.TOO_FEW, PrizeState.TOO_FEW]
    assert states(board(ranked)) == few
    assert set(states(board(ranked, is_over=True))) == {PrizeState.STANDS}
    assert set(states(board(3))) == {PrizeState.STANDS}


def test_a_prize_without_a_winner_says_why() -> None:
    assert set(states(board(0))) == {PrizeState.NONE_RANKED}
    nobody = [{"rule": "least-energy", "teams": ()}]
    assert states(board(4, prizes=nobody)) == [PrizeState.NONE_MEETS]


def hall(**different: Any) -> dict[str, Any]:
    attempts = [{"state": RunState.JUDGED}, {"state": RunState.VOID}]
    found = {
        "state": BoardState.LIVE,
        "now": [],
        "next": [],
        "attempts_each": 1,
        "attempts": [{"team": "ant", "used": 1}],
        "teams": {"ant": {"attempts": attempts}},
    }
    return found | different


def test_a_contest_is_over_once_all_is_unveiled_or_every_attempt_is_used_and_judged() -> (
    None
):
    assert contest_is_over(hall(), None)
    assert contest_is_over(hall(attempts_each=0), UNVEILED)
    not_over = [
        {"attempts": [{"team": "ant", "used": 0}]},
        {"attempts": []},
        {"attempts_each": 0},
        {"teams": {"ant": {"attempts": [{"state": RunState.CLOSED}]}}},
    ]
    for different in not_over:
        assert not contest_is_over(hall(**different), None), different


@pytest.mark.parametrize(
    "different",
    [
        {"now": [{"team": "ant"}]},
        {"next": ["ant"]},
        {"state": BoardState.FROZEN},
        {"state": BoardState.UNVEILING},
    ],
)
def test_a_contest_is_not_over_while_a_team_may_run_or_results_are_hidden(
    different: dict[str, Any],
) -> None:
    assert not contest_is_over(hall(**different), UNVEILED)
