"""The JSON documents of heats and of their standings, for the command line, the console and the public board."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from referee.contest import Contest
from referee.judging.heat_results import (
    HeatResult,
    HeatSide,
    heat_results,
    why_undecided,
)
from referee.judging.heat_standings import (
    KnockOut,
    Round,
    RoundRobin,
    knock_out,
    round_robin,
)
from referee.judging.meetings import Undecided
from referee.store.records import RunState

Document = dict[str, Any]
KNOCK_OUT = "knock-out"
ROUND_ROBIN = "round-robin"


def heat_document(result: HeatResult) -> Document:
    """Return a heat; `undecided` has a clause for each side that cannot be compared."""
    return {
        "name": result.name,
        "round": result.round,
        "outcome": result.outcome,
        "winner": result.winner,
        "undecided": why_undecided(result),
        "sides": [_side(side) for side in result.sides],
    }


def _side(side: HeatSide) -> Document:
    run = side.run
    figures = side.figures
    pending = side.pending and side.pending.why
    state = RunState.CLOSED if pending is Undecided.NOT_PUBLISHED else run.state
    return {
        "team": run.team,
        "station": run.station,
        "run": run.id,
        "state": state,
        "points": side.points,
        "score": figures and figures.score,
        "map": figures and figures.map,
        "energy_wh": figures and figures.energy_wh,
        "not_ranked": figures and figures.not_ranked,
        "pending": pending,
    }


def standings_document(
    kind: str,
    results: Iterable[HeatResult],
    teams: Sequence[str],
) -> Document | None:
    """Return the standings of the rounds, a knock-out or a round robin of these teams; None for neither."""
    if kind == KNOCK_OUT:
        return _knock_out(knock_out(results))
    if kind == ROUND_ROBIN:
        return _round_robin(round_robin(results, teams))
    return None


def _knock_out(found: KnockOut) -> Document:
    return {
        "kind": KNOCK_OUT,
        "rounds": _rounds(found.rounds),
        "out": [{"team": team, "round": its} for team, its in found.out.items()],
        "still_in": list(found.still_in),
        "next": [list(teams) for teams in found.next],
        "winner": found.winner,
        "doubts": list(found.doubts),
    }


def _round_robin(found: RoundRobin) -> Document:
    return {
        "kind": ROUND_ROBIN,
        "rounds": _rounds(found.rounds),
        "table": [asdict(row) for row in found.table],
        "played": found.played,
        "to_play": [list(teams) for teams in found.to_play],
    }


def _rounds(rounds: Iterable[Round]) -> list[Document]:
    return [{"round": one.number, "heats": list(one.names)} for one in rounds]


def heats_document(contest: Contest, *, published_only: bool = False) -> Document:
    """Return the heats of a contest and their standings."""
    results = heat_results(contest, published_only=published_only)
    everyone = contest.store.teams.all().items()
    teams = [team for team, is_disabled in everyone if not is_disabled]
    return {
        "heats": [heat_document(one) for one in results],
        "standings": standings_document(contest.config.heats, results, teams),
    }


class KnownHeats:
    """The published heats for a frequent caller, read again only if a run, a judgement or a decision has changed."""

    def __init__(self, contest: Contest) -> None:
        self._contest = contest
        self._found: tuple[object, Document] | None = None

    def now(self) -> Document:
        """Return the heats as `heats_document` does."""
        store = self._contest.store
        runs = [run for run in store.runs.find() if run.heat is not None]
        mark = store.scores.judgement_mark()
        made_of = runs, store.heats.all(), store.teams.all(), mark
        if self._found is None or self._found[0] != made_of:
            found = heats_document(self._contest, published_only=True)
            self._found = made_of, found
        return self._found[1]
