"""What the board may say of a prize now: whose it is, or why it is nobody's. Pure, from the public document.

A prize with a condition compares the teams that lie one standard deviation from the mean. Of two ranked teams that is
always exactly one, which then "has" the least energy although it may have used more. So such a prize is open until
FEWEST teams are ranked; when the contest is over, it is awarded as the rule says, however few they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from referee.judging.prizes import CONDITIONS
from referee.store.records import BoardState, RunState

FEWEST = 3
"""Ranked teams from which on a prize with a condition has something to compare."""


class PrizeState(StrEnum):
    """What is said of a prize."""

    STANDS = "stands"
    TOO_FEW = "too-few"
    NONE_RANKED = "none-ranked"
    NONE_MEETS = "none-meets"


def contest_is_over(board: Mapping[str, Any], unveiled_utc: str | None) -> bool:
    """Return True if no result is to come: no team runs or waits, and all is unveiled or every attempt is used."""
    if board["state"] != BoardState.LIVE or board["now"] or board["next"]:
        return False
    if unveiled_utc is not None:
        return True
    most = board.get("attempts_each")
    used = [one["used"] for one in board["attempts"]]
    if not most or not used or min(used) < most:
        return False
    attempts = (one for team in board["teams"].values() for one in team["attempts"])
    return all(one["state"] in (RunState.JUDGED, RunState.VOID) for one in attempts)


def with_prize_states(board: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the documents of the board's prizes, each with its `state`."""
    return [prize | {"state": _state(prize, board)} for prize in board["prizes"]]


def _state(prize: Mapping[str, Any], board: Mapping[str, Any]) -> PrizeState:
    ranked = [one for one in board["ranking"] if one["rank"] is not None]
    if not ranked:
        return PrizeState.NONE_RANKED
    has_condition = prize["rule"] in CONDITIONS
    if has_condition and len(ranked) < FEWEST and not board["is_over"]:
        return PrizeState.TOO_FEW
    return PrizeState.STANDS if prize["teams"] else PrizeState.NONE_MEETS
