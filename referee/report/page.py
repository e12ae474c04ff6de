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
from referee.scoring import COCO
from referee.scoring.error_types import ErrorType
from referee.scoring.result import signature_parts
from referee.scoring.rules import PUBLISHED
from referee.store.records import OVER, Run, RunState, Score, ScoreInterval
from testsets import TestSetError

STYLES = (STATIC / "vendor" / "pico.min.css", STATIC / "style.css", Path(__file__).with_name("report.css"))
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
    judged, course, notices = current_judgement(contest, run), course_of(contest, run), [*_notices(run)]
    css = "\n".join(path.read_text() for path in STYLES)
    shown = {
        "style": Markup(css),  # noqa: S704 - our own files
        "run": run,
        "contest": contest.config.name,
        "notices": notices,
        "result": [*_result(run, judged)],
        "judged": judged,
        "course": course,
        "power_chart": course.elapsed_s and Markup(power_chart(course)),  # noqa: S704 - our drawing
        "phases_defined": PHASES,
    }
    if judged is None:
        notices.append(
            f"This run is not judged as it stands, so it has no result; see: referee judge {run.id}"
        )
    else:
        shown |= _board(contest, run) | {"document": json.dumps(score_document(run, judged), indent=1)}
        try:
            shown |= _explained(explain(contest, run, judged), contest, run, judged.ap)
        except (RefereeError, TestSetError) as failure:
            notices.append(failure.sentence)
        if judged.needs_review:
            notices.append("This run needs review: a check failed, see below.")
    return template_environment("referee.report").get_template("report.html").render(shown)


def _notices(run: Run) -> Iterator[str]:
    if run.state is RunState.VOID:
        yield f"This run is void and does not count: {run.void_reason}"
    if run.opened_utc is None:
        yield "This run was never opened: nothing was served, received or measured."
    elif run.energy_wh is None:
        yield "This run has no energy, so it has no score."
    if not run.official and run.meter_identity:
        yield "The meter is unofficial: this energy does not count in a contest."


def _result(run: Run, judged: Score | None) -> Iterator[tuple[str, str, str]]:
    """Rows of a name, a value and what there is to say of it."""
    if judged is not None:
        interval, metric = judged.interval, signature_parts(judged.signature)["metric"]
        yield "score", _figure(judged.score, "{:.4f} mAP/Wh"), _between(interval, "score", "{:.4f}")
        yield f"mAP {metric}", f"{judged.map:.5f}", _between(interval, "map", "{:.5f}")
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
    yield (
        "elapsed",
        _figure(run.elapsed_s, "{:.3f} s"),
        f"of {run.window_s:g} s, closed by {run.closed_by or 'no one'}",
    )


def _figure(value: float | None, form: str) -> str:
    return "none" if value is None else form.format(value)


def _between(interval: ScoreInterval | None, name: str, form: str) -> str:
    low, high = (getattr(interval, f"{name}_{end}", None) for end in ("low", "high"))
    if interval is None or low is None or high is None:
        return ""
    return f"{form.format(low)} to {form.format(high)} at {interval.level:.0%}"


def _board(contest: Contest, run: Run) -> dict[str, Any]:
    """The run's place with its neighbours and how sure each order is, or why it has none."""
    places = standings(contest).places
    at = next((at for at, place in enumerate(places) if place.standing.run == run.id), None)
    if at is None:
        better = next((place.standing.run for place in places if place.standing.team == run.team), None)
        why = "it is not ranked" if better is None else f"the best one of its team is run {better}"
        return {"no_place": f"This run is not on the board: {why}."}
    own = places[at]
    return {"place": own, "neighbours": [(one, _sure(own, one)) for one in places[max(at - 1, 0) : at + 2]]}


def _sure(own: Place, other: Place) -> str:
    if own is other:
        return "this run"
    if None in (own.standing.score_low, other.standing.score_low):
        return "not known"
    chance = dict(own.level_with).get(other.standing.team)
    return f"at least {SURE:.0%}" if chance is None else f"{chance:.1%}"


def _explained(
    found: Explanation, contest: Contest, run: Run, ap: Mapping[int, float | None]
) -> dict[str, Any]:
    names = {one.id: one.name for one in contest.test_set.categories}
    what = f"Precision by recall{' at IoU 0.5' if found.analysis.metric == COCO else ''}"
    best_first = sorted(found.curves, key=lambda one: (-(ap.get(one) or 0.0), names[one]))
    caption, shown = f"{what} of every category.", best_first
    if len(best_first) > 2 * FEW:
        caption = f"{what} of all categories; named are the {FEW} best and, after them, the {FEW} worst."
        shown = best_first[:FEW] + best_first[-FEW:]
    losses = found.analysis.confidence_cost
    return {
        "costs": [(one, ERRORS[one.type]) for one in found.costs],
        "regret": found.regret,
        "regret_chart": found.regret and Markup(regret_chart(found.regret)),  # noqa: S704 - our drawing
        "curves": Markup(curves_chart(found.curves, caption, {one: names[one] for one in shown})),  # noqa: S704
        "caption": caption,
        "categories": [(names[one], ap.get(one), losses.get(one)) for one in best_first],
        "pictures": pictures(found, contest, run),
    }
