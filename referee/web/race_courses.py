"""The scores of open runs over time, for operators: kept in memory, since the store has only the newest ones.

A course begins when the status is first computed, and so is empty after a restart of the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from referee.judging.heat_courses import Course

STEP_S = 1.0
MOST_POINTS = 600
MOST_RUNS = 64


class RaceCourses:
    """The courses of the newest runs of heats, by run number. The status notes them, one thread at a time."""

    def __init__(self) -> None:
        self._courses: dict[int, Course] = {}

    def note(self, status: Mapping[str, Any]) -> None:
        """Add a point for each open run of a heat that has a score, at most one each STEP_S."""
        for station in status["stations"]:
            run = station["run"]
            if run is not None and run["heat"] and run["score"] is not None:
                self._add(run)
        while len(self._courses) > MOST_RUNS:
            del self._courses[min(self._courses)]

    def _add(self, run: Mapping[str, Any]) -> None:
        point = {name: run[name] for name in ("elapsed_s", "energy_wh", "score")}
        if None in point.values():
            return
        course = self._courses.get(run["run"])
        if course is None:
            course = {name: [] for name in point}
        elif point["elapsed_s"] - course["elapsed_s"][-1] < STEP_S:
            return
        if len(course["elapsed_s"]) >= MOST_POINTS:
            course = {name: values[::2] for name, values in course.items()}
        # A new object, since another thread may be reading the old one.
        added = {name: [*values, point[name]] for name, values in course.items()}
        self._courses[run["run"]] = added

    def by_run(self) -> dict[int, Course]:
        """Return the courses by run number."""
        return dict(self._courses)
