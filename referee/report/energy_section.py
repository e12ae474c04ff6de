"""The section of a report that says where the energy went: its floor, its levels, and what an image cost."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from referee.contest import Contest
from referee.judging.client_timeline import ClientTimeline
from referee.judging.image_costs import image_costs, kind_uses, most_costly
from referee.judging.power_steps import idle_floor, levels_of, power_steps
from referee.judging.run_course import DEFINITION, Course
from referee.judging.stop_regret import StopRegret
from referee.judging.unread_time import pauses_of, steps_outside, unread_words
from referee.report.run_chart import time_chart
from referee.store.records import Run


def energy_section(
    contest: Contest,
    run: Run,
    course: Course,
    regret: StopRegret | None,
    timeline: ClientTimeline | None,
) -> dict[str, Any]:
    """Return what the section shows; its `chart` is empty for a run without any time. Raises as `image_costs`."""
    if not course.elapsed_s:
        return {"chart": ""}
    pauses = pauses_of(run, course)
    steps = power_steps(course.reading_s, course.power_w, course.elapsed_s)
    steps = steps_outside(steps, pauses)
    levels = levels_of(steps)
    costs = image_costs(contest, run, course.elapsed_s, timeline)
    chart = time_chart(course, regret, steps, pauses)
    return {
        "chart": Markup(chart),  # noqa: S704 - our drawing
        "levels": levels,
        "unread": unread_words(pauses),
        "floor": idle_floor(run, levels),
        "images": costs,
        "image_kinds": () if costs is None else kind_uses(costs),
        "costly": () if costs is None else most_costly(costs),
        "phases_defined": DEFINITION,
    }
