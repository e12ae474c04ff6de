"""The page of one run: what its sections show, from the records and the judgement."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from referee.contest import Contest
from referee.errors import RefereeError
from referee.files.atomic_write import write_atomically
from referee.judging.course import PHASES, course_of
from referee.judging.explained import Explanation, explain
from referee.judging.leaderboard import SURE, Place
from referee.judging.results import current_judgement, energy_above_idle_wh, score_document, standings
from referee.pages import STATIC, template_environment
from referee.report.charts import curves_chart, power_chart, regret_chart
from referee.report.pictures import pictures
from referee.scoring.error_types import ErrorType
from referee.scoring.result import signature_parts
from referee.scoring.rules import PUBLISHED
from referee.store.records import OVER, Run, RunState, Score
from testsets import TestSetError

FEW = 4  # of the best curves, and of the worst
ERRORS = {
    ErrorType.CLASSIFICATION: "on an object, with another category",
    ErrorType.LOCALISATION: "on an object of its category, but the box fits too badly",
    ErrorType.BOTH: "near an object of another category, and the box fits too badly",
    ErrorType.DUPLICATE: "on an object that another detection has found already",
    ErrorType.BACKGROUND: "on no object",
    ErrorType.MISSED: "objects that no detection is about",
    ErrorType.FALSE_POSITIVE: "all false detections; as much as better confidences could gain at most",
    ErrorType.FALSE_NEGATIVE: "all objects that were not found",
}


def write_report(contest: Contest, number: int, folder: Path, name: str | None = None) -> Path:
    """Write the report of a run that is over as one HTML file in `folder`, by default `run-<number>.html`.

    Raises RefereeError `run-unknown`, `run-state` (not over yet), `no-matplotlib`; OSError.
    """
    page = report_page(contest, contest.store.run(number))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (name or f"run-{number}.html")
    write_atomically(path, page.encode())
    return path


def report_page(contest: Contest, run: Run) -> str:
    """The report of a run as HTML. What cannot be shown is replaced by a sentence. Raises as `write_report` does."""
    if run.state not in OVER:
        sentence = f"Run {run.id} of {run.team} is {run.state}; there is a report once it is closed."
        raise RefereeError("run-state", sentence, run=run.id)
    judged, notices = current_judgement(contest, run), [*_notices(run)]
    explanation = None
    if judged is None:
        notices.append(f"This run is not judged as it stands, so it has no result yet: referee judge {run.id}")
    else:
        try:
            explanation = explain(contest, run, judged)
        except (RefereeError, TestSetError) as failure:
            notices.append(failure.sentence)
    if judged is not None and judged.needs_review:
        notices.append("This run needs review: a check failed, see below.")
    course = course_of(contest, run)
    shown = {
        "run": run,
        "contest": contest.config.name,
        "notices": notices,
        "result": [*_result(run, judged)],
        "judged": judged,
        "document": judged and json.dumps(score_document(run, judged), indent=1),
        "course": course,
        "power_chart": Markup(power_chart(course)) if course.elapsed_s else None,  # noqa: S704 - our drawing
        "phases_defined": PHASES,
    }
    if judged is not None:
        shown |= _board(contest, run)
    if judged is not None and explanation is not None:
        shown |= _explained(explanation, contest, run, judged.ap)
    return template_environment("referee.report").get_template("report.html").render(shown)


def _notices(run: Run) -> Iterator[str]:
    if run.state is RunState.VOID:
        yield f"This run is void and does not count: {run.void_reason}"
    if run.elapsed_s is None:
        yield "This run was never opened: nothing was served, received or measured."
    elif run.energy_wh is None:
        yield "This run has no energy, so it has no score."
    if not run.official and run.meter_identity:
        yield "The meter is unofficial: this energy does not count in a contest."


def _result(run: Run, judged: Score | None) -> Iterator[tuple[str, str, str]]:
    """Rows of a name, a value and what there is to say of it."""
    score = _figure(judged and judged.score, "{:.4f} mAP/Wh")
    if judged is not None:
        interval, metric = judged.interval, signature_parts(judged.signature)["metric"]
        of_score = interval and interval.score_low is not None and interval.score_high is not None
        yield "score", score, _between(interval, "score", 4) if of_score else ""
        yield f"mAP {metric}", f"{judged.map:.5f}", _between(interval, "map", 5) if interval else ""
        if metric != PUBLISHED:
            published = _figure(judged.map_ilsvrc_det, "{:.5f}")
            yield f"mAP {PUBLISHED}", published, "to compare with published champions"
        yield "images", str(judged.images), ""
        yield "detections", str(judged.detections), ""
        yield "mean power", _figure(judged.mean_power_w, "{:.3f} W"), ""
        if run.idle_power_w is not None:
            above = _figure(energy_above_idle_wh(run, judged), "{:.6f} Wh")
            yield "energy above idle", above, f"the idle board took {run.idle_power_w:.3f} W"
    yield "energy", _figure(run.energy_wh, "{:.6f} Wh"), run.meter_identity or ""
    yield "elapsed", _figure(run.elapsed_s, "{:.3f} s"), f"of {run.window_s:g} s, closed by {run.closed_by}"


def _figure(value: float | None, form: str) -> str:
    return "none" if value is None else form.format(value)


def _between(interval: Any, name: str, digits: int) -> str:
    low, high = getattr(interval, f"{name}_low"), getattr(interval, f"{name}_high")
    return f"{low:.{digits}f} to {high:.{digits}f} at {interval.level:.0%}"


def _board(contest: Contest, run: Run) -> dict[str, Any]:
    """The run's place with its neighbours and how sure each order is, or why it has none."""
    places = standings(contest).places
    at = next((at for at, place in enumerate(places) if place.standing.run == run.id), None)
    if at is None:
        better = next((place.standing for place in places if place.standing.team == run.team), None)
        why = f"the team's best run, {better.run}, is" if better else "it is not ranked"
        return {"no_place": f"This run is not on the board: {why}."}
    own = places[at]
    return {"place": own, "neighbours": [(one, _order(own, one)) for one in places[max(at - 1, 0) : at + 2]]}


def _order(own: Place, other: Place) -> str:
    if own is other:
        return "this run"
    chance = dict(own.level_with).get(other.standing.team)
    sure = f"{chance:.1%} sure" if chance is not None else f"at least {SURE:.0%} sure"
    return f"{'above' if other.rank < own.rank else 'below'} this run: {sure}"


def _explained(found: Explanation, contest: Contest, run: Run, ap: Mapping[int, float | None]) -> dict[str, Any]:
    names = {one.id: one.name for one in contest.test_set.categories}
    losses = found.analysis.confidence_cost
    best_first = sorted((category for category in found.curves), key=lambda one: (-(ap[one] or 0.0), names[one]))
    few = best_first if len(best_first) <= 2 * FEW else best_first[:FEW] + best_first[-FEW:]
    told = "every category" if few is best_first else f"all {len(best_first)} categories, and by name the {FEW} with the best AP and the {FEW} with the worst"
    caption = f"Precision by recall of {told}."
    chart = curves_chart(found.curves, caption, {one: names[one] for one in few})
    return {
        "costs": [(one, ERRORS[one.type]) for one in found.costs],
        "regret": found.regret,
        "regret_chart": found.regret and Markup(regret_chart(found.regret)),  # noqa: S704 - our drawing
        "curves": Markup(chart),  # noqa: S704 - our drawing
        "caption": caption,
        "categories": [(names[one], ap[one], losses.get(one)) for one in best_first],
        "pictures": pictures(found, contest, run),
    }
