"""The scores of open runs over time, as the server remembers them: bounded, and only of heats."""

from __future__ import annotations

from typing import Any

from referee.web.race_courses import MOST_POINTS, MOST_RUNS, RaceCourses


def status(
    elapsed_s: float,
    run: int = 1,
    heat: str | None = "final",
    score: float | None = 0.5,
) -> dict[str, Any]:
    figures = {"elapsed_s": elapsed_s, "energy_wh": elapsed_s / 100, "score": score}
    return {"stations": [{"run": None}, {"run": {"run": run, "heat": heat} | figures}]}


def test_a_point_is_kept_each_second_of_a_run_of_a_heat_that_has_a_score() -> None:
    courses = RaceCourses()
    for elapsed_s in (1.0, 1.5, 2.0, 3.5):
        courses.note(status(elapsed_s))
    courses.note(status(5.0, score=None))
    courses.note(status(5.0, run=2, heat=None))
    assert courses.by_run() == {
        1: {
            "elapsed_s": [1.0, 2.0, 3.5],
            "energy_wh": [0.01, 0.02, 0.035],
            "score": [0.5, 0.5, 0.5],
        }
    }


def test_a_long_run_is_thinned_and_old_runs_are_forgotten() -> None:
    courses = RaceCourses()
    for second in range(2 * MOST_POINTS):
        courses.note(status(float(second)))
    points = courses.by_run()[1]["elapsed_s"]
    assert len(points) <= MOST_POINTS + 1
    assert points[0] == 0.0
    assert points[-1] == 2 * MOST_POINTS - 1
    for run in range(2, MOST_RUNS + 3):
        courses.note(status(1.0, run))
    assert set(courses.by_run()) == set(range(3, MOST_RUNS + 3))
