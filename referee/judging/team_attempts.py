"""The attempts of each team as everyone may see them; part of the published results, so frozen with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from referee.judging.figure_state import judged_state
from referee.judging.ranking import Standing
from referee.judging.standings import Standings
from referee.store.records import OVER, Run, RunState

FIGURES = ("score", "score_low", "score_high", "map", "energy_wh")
REMARKS = ("not_ranked", "extra_s", "images_seen")
"""Remarks of an attempt that are left out if there is nothing to remark."""
Attempts = dict[str, list[dict[str, Any]]]


def attempts_by_team(runs: Iterable[Run], found: Standings) -> Attempts:
    """Return the attempts of each team, oldest first: of each run that has opened and is over.

    A void run is listed without its reason. A judged one has its figures, and its rank if it is the team's ranked run;
    one that is not in the standings has `left_out`, the reason. One that the jury has not published is `closed`.
    """
    standings = {one.run: one for one in found.attempts}
    ranks = {place.standing.run: place.rank for place in found.places}
    left_out = {one.run: one.why for one in found.left_out if not one.is_unpublished}
    attempts: Attempts = {}
    for run in runs:
        if run.state not in OVER or run.opened_utc is None:
            continue
        document: dict[str, Any] = {
            "run": run.id,
            "utc": run.opened_utc,
            "state": RunState.VOID if run.state is RunState.VOID else RunState.CLOSED,
        }
        standing = standings.get(run.id)
        if standing is not None:
            document |= _judged(standing, ranks)
        elif run.id in left_out:
            document |= {"state": RunState.JUDGED, "left_out": left_out[run.id]}
        attempts.setdefault(run.team, []).append(document)
    return attempts


def _judged(standing: Standing, ranks: Mapping[int, int | None]) -> dict[str, Any]:
    figures = {name: getattr(standing, name) for name in FIGURES}
    remarks = {name: getattr(standing, name) for name in REMARKS}
    document: dict[str, Any] = {"state": RunState.JUDGED} | figures
    document |= {name: value for name, value in remarks.items() if value}
    if standing.others:
        document["others"] = dict(standing.others)
    document["rank"] = ranks.get(standing.run)
    document["figure_state"] = judged_state(needs_review=standing.needs_review)
    if standing.reviewed is not None:
        document["reviewed"] = True  # only operators may read the note
    if not standing.official:
        document["official"] = False
    if standing.failed_checks:
        checks = [one.sentence for one in standing.failed_checks]
        document["failed_checks"] = checks
    return document
