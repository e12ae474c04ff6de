"""The public course of a heat's runs: the released figures, one point a release, as far as `public_score` allows.

Of a run that is over it has the power, too, which was public while it ran. The store keeps only the newest
release of a run, so a course grows from the one that is published already.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from referee.contest import Contest
from referee.judging.freeze import NO_COURSE, NO_POWER
from referee.judging.released_figures import public_judgement, released_of
from referee.judging.run_figures import power_course
from referee.store.records import Published, Run, RunState

Document = dict[str, Any]
Course = dict[str, list[float]]
MOST_POINTS = 60  # of the power of a run that is over


def courses_before(row: Published | None) -> dict[int, Course]:
    """Return the published courses by run; a document of an earlier version has none."""
    if row is None:
        return {}
    heats = json.loads(row.document).get("heats", [])
    sides = [side for heat in heats for side in heat["sides"]]
    return {side["run"]: side["course"] for side in sides}


def powers_before(row: Published | None) -> dict[int, Course]:
    """Return the published powers of the runs that are over, by run."""
    if row is None:
        return {}
    heats = json.loads(row.document).get("heats", [])
    sides = [side for heat in heats for side in heat["sides"]]
    return {
        side["run"]: side["power"]
        for side in sides
        if side.get("power", NO_POWER)["elapsed_s"]
    }


def with_courses(
    contest: Contest,
    now: datetime,
    heats: Sequence[Document],
    before: Mapping[int, Course],
    powers: Mapping[int, Course],
) -> list[Document]:
    """Return the documents of heats, each side with the affiliation of its team, the course of its run and its power.

    `before` and `powers` are those that are published already.
    """
    affiliations = contest.store.teams.affiliations()
    runs = {run.id: run for run in contest.store.runs.find()}
    found = []
    for heat in heats:
        sides = []
        for side in heat["sides"]:
            run = runs[side["run"]]
            course = _course(contest, run, now, before.get(run.id, NO_COURSE))
            more = {
                "affiliation": affiliations[run.team],
                "course": course,
                "power": power_of(contest, run, powers.get(run.id)),
            }
            sides.append(side | more)
        found.append(heat | {"sides": sides})
    return found


def power_of(contest: Contest, run: Run, before: Course | None = None) -> Course:
    """Return the power of a run that is over, `before` if it is known; that of an open run is among its figures."""
    if run.state not in (RunState.CLOSED, RunState.JUDGED):
        return NO_POWER
    if before is not None:
        return before
    found: Course = power_course(contest, run, MOST_POINTS)
    return {
        "elapsed_s": [round(one, 1) for one in found["elapsed_s"]],
        "power_w": [round(one, 2) for one in found["power_w"]],
    }


def _course(
    contest: Contest,
    run: Run,
    now: datetime,
    before: Course,
) -> Course:
    """Return a run's course with what is released now; that of a judged run ends with its judgement."""
    hides = not contest.config.public_score
    if hides or run.opened_utc is None or run.state is RunState.VOID:
        return NO_COURSE
    released = released_of(contest, run, now)
    if released is None or released.energy_wh is None or released.score is None:
        return before
    elapsed_s = run.elapsed_s
    if elapsed_s is None or public_judgement(contest, run) is None:
        since = datetime.fromisoformat(released.utc)
        elapsed_s = (since - datetime.fromisoformat(run.opened_utc)).total_seconds()
    return _with_point(before, elapsed_s, released.energy_wh, released.score)


def _with_point(
    before: Course,
    elapsed_s: float,
    energy_wh: float,
    score: float,
) -> Course:
    at_s = round(elapsed_s, 1)
    count = sum(1 for one in before["elapsed_s"] if one < at_s)
    return {
        "elapsed_s": [*before["elapsed_s"][:count], at_s],
        "energy_wh": [*before["energy_wh"][:count], round(energy_wh, 5)],
        "score": [*before["score"][:count], score],
    }
