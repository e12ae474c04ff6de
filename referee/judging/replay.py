"""The course of a stored run as one bounded document, which a player shows as it happened: no clock, no HTTP.

All figures are those of `run_course`, `stop_regret` and `run_figures`. A sentence names each that is not known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lpirc_score.metrics.offered import has_one_threshold
from lpirc_score.tasks.words import words_of
from lpirc_testsets import TestSetError
from referee.contest import Contest
from referee.errors import RefereeError
from referee.judging.bound_rules import rule_of
from referee.judging.energy_course import energies_at
from referee.judging.replay_frames import (
    Boxes,
    Frames,
    Sent,
    box_columns,
    boxes_of,
    evenly,
    frame_columns,
    frames_of,
    seconds,
    sent_in,
)
from referee.judging.run_course import Course, course_of
from referee.judging.run_figures import current_judgement, figures_of, power_course
from referee.judging.score_explanation import regret_of
from referee.judging.stop_regret import StopRegret
from referee.judging.unread_time import pauses_of, unread_words
from referee.store.lost_energy import energy_lost
from referee.store.records import OVER, Run, RunState

Floats = NDArray[np.float64]

FORM = "lpirc-replay-1"
MOST_STEPS = 300  # moments with power, energy and counts
MOST_POSTS = 1000
MOST_EVENTS = 100
DIGITS = 6  # significant ones, of a figure

NEVER_OPENED = "This run was never opened, so there is nothing to play."
STILL_OPEN = (
    "This run is not over: the replay ends with its last record, and has no energy yet."
)
NO_READINGS = (
    "There are no readings of the meter, so power and energy over time are not known."
)
NO_ENERGY_COURSE = "The energy over time is not known: the meter began again, or the run has no energy."
NO_POSTS = "No detections were received."
OTHER_TEST_SET = "The contest has another test set now: the images and the names of the categories are not shown."
NOT_JUDGED = "The run has no current judgement, so its mAP and score are not known."
NO_SCORE_COURSE = "The mAP and the score over time are not known; those at the end are."
OTHER_METRIC = (
    "The mAP over time is computed only for metrics with a single IoU threshold."
)


class Moments(NamedTuple):
    """The stop regret of a run, or the sentence that says why there is none."""

    regret: StopRegret | None
    why_not: str | None = None


def replay_of(
    contest: Contest,
    run: Run,
    now: datetime,
    moments: Moments | None = None,
) -> dict[str, Any]:
    """Return the replay of a run at `now`, UTC. A run that is not over is shown up to its last record.

    `moments` are those of `moments_of`, if they are known already.
    """
    sent = sent_in(contest.store, run.id)
    frames = frames_of(sent)
    boxes = boxes_of(sent, frames)
    course = course_of(contest, run)
    if moments is None:
        moments = moments_of(contest, run)
    steps = _steps(contest, run, course, sent)
    sizes = _sizes(contest, run, frames)
    posts = evenly(len(sent.posts_s), MOST_POSTS)
    return {
        **_head(contest, run, now),
        "elapsed_s": round(course.elapsed_s, 3),
        "missing": [*_missing(contest, run, course, sent, steps, moments)],
        "left_out": _left_out(sent, frames, boxes),
        "frames": frame_columns(frames, sizes or []),
        "boxes": box_columns(boxes),
        "categories": {} if sizes is None else _names(contest, boxes),
        "posts": {
            "at_s": seconds(sent.posts_s[posts]),
            "rows": sent.counts[posts].tolist(),
        },
        "steps": steps,
        "moments": _moment_columns(moments.regret),
        "events": _events(contest, run),
    }


def has_its_images(contest: Contest, run: Run) -> bool:
    """Return True if the contest's test set still has the run's images, by the same numbers."""
    if run.testset_digest == contest.test_set.digest:
        return True
    return (
        run.images_digest is not None
        and run.images_digest == contest.test_set.images_digest
    )


def _head(contest: Contest, run: Run, now: datetime) -> dict[str, Any]:
    figures = figures_of(contest, run, now)
    is_more = rule_of(run).higher_is_better
    order = {} if is_more else {"less_is_better": True}
    return {
        "form": FORM,
        "contest": contest.config.name,
        "run": run.id,
        "team": run.team,
        "station": run.station,
        "heat": run.heat,
        "state": run.state,
        "closed_by": run.closed_by,
        "images": run.images,
        "window_s": run.window_s,
        "opened_utc": run.opened_utc,
        "official": run.official,
        "final": {
            "map": figures.map,
            "energy_wh": figures.energy_wh,
            "score": figures.score,
            "judged": figures.judged,
            "needs_review": figures.needs_review,
            **order,
        },
    }


def moments_of(contest: Contest, run: Run) -> Moments:
    """Return the stop regret of a run, computed for it alone."""
    judged = current_judgement(contest, run)
    if judged is None:
        return Moments(None, NOT_JUDGED)
    if not has_its_images(contest, run):
        return Moments(None, NO_SCORE_COURSE)
    try:
        regret = regret_of(contest, run, judged)
    except (RefereeError, TestSetError):
        return Moments(None, NO_SCORE_COURSE)
    if regret is not None:
        return Moments(regret)
    if has_one_threshold(contest.config.metric):
        return Moments(None, NO_SCORE_COURSE)
    return Moments(None, OTHER_METRIC)


def _missing(
    contest: Contest,
    run: Run,
    course: Course,
    sent: Sent,
    steps: Mapping[str, Any],
    moments: Moments,
) -> Iterator[str]:
    """Yield a sentence for each part of the replay that is not known or needs a caution."""
    if run.state is RunState.VOID:
        yield f"This run is void: {run.void_reason}"
    if run.opened_utc is None and course.elapsed_s == 0:
        yield NEVER_OPENED
        return
    if run.state not in OVER:
        yield STILL_OPEN
    lost = energy_lost(contest.store.log.of_run(run.id))
    if lost is not None:
        yield lost.sentence(run.id, run.team)
    yield from _missing_of_meter(run, course, steps)
    if len(sent.posts_s) == 0:
        yield NO_POSTS
    if not has_its_images(contest, run):
        yield OTHER_TEST_SET
    if moments.why_not is not None and run.state in OVER:
        yield words_of(run.task).said(moments.why_not)


def _missing_of_meter(
    run: Run, course: Course, steps: Mapping[str, Any]
) -> Iterator[str]:
    if len(course.reading_s) == 0:
        yield NO_READINGS
    elif run.state in OVER and not steps["energy_wh"]:
        yield NO_ENERGY_COURSE
    if unread := unread_words(pauses_of(run, course)):
        yield unread


def _left_out(sent: Sent, frames: Frames, boxes: Boxes) -> dict[str, Any]:
    """Return how much of the run the bounds of a replay leave out."""
    return {
        "images": len(sent.images) - len(frames.image),
        "boxes": boxes.left_out,
        "posts": max(0, len(sent.posts_s) - MOST_POSTS),
        "least_confidence": None if boxes.least is None else round(boxes.least, 4),
    }


def _steps(
    contest: Contest, run: Run, course: Course, sent: Sent
) -> dict[str, list[Any]]:
    """Return power, energy and counts at moments up to the end; power and energy are empty lists if unknown."""
    power_at_s, power_w = _power(contest, run, course)
    at_s = np.linspace(0.0, course.elapsed_s, MOST_STEPS)
    edges_s = np.append(at_s, course.elapsed_s)
    energies_wh = energies_at(contest, run, edges_s)
    since_s = np.sort(sent.since_s)
    return {
        "at_s": seconds(at_s),
        "energy_wh": [] if energies_wh is None else _figures(energies_wh[:-1]),
        "served": _counts(sent.served_s, at_s),
        "answered": _counts(np.sort(sent.answered_s), at_s),
        "detections": _counts(since_s, at_s),
        "power_at_s": power_at_s,
        "power_w": power_w,
    }


def _power(
    contest: Contest, run: Run, course: Course
) -> tuple[list[float], list[float | None]]:
    """Return times and the power at each; None from the begin of a pause of the readings on."""
    known = power_course(contest, run, MOST_STEPS)
    points: list[tuple[float, float | None]] = [
        *zip(known["elapsed_s"], known["power_w"], strict=True)
    ]
    points += [
        (round(pause.start_s, 3), None)
        for pause in pauses_of(run, course)
        if pause.start_s > 0
    ]
    points.sort(key=lambda point: (point[0], point[1] is None))
    return [at_s for at_s, _ in points], [power for _, power in points]


def _counts(when_s: Floats, at_s: Floats) -> list[int]:
    """Return how many of the ascending times (n,) have come at each moment."""
    found: list[int] = np.searchsorted(when_s, at_s, side="right").tolist()
    return found


def _figures(values: Floats) -> list[float | None]:
    return [_figure(value) for value in values.tolist()]


def _figure(value: float) -> float | None:
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None


def _moment_columns(regret: StopRegret | None) -> dict[str, Any]:
    """Return mAP and score of a log-out at each moment; a score is None while its energy is within its own error."""
    if regret is None:
        return {"at_s": [], "map": [], "score": []}
    score = np.where(regret.is_known, regret.score, math.inf)
    return {
        "at_s": seconds(regret.elapsed_s),
        "map": _figures(regret.map),
        "score": _figures(score),
    }


def _sizes(contest: Contest, run: Run, frames: Frames) -> list[tuple[int, int]] | None:
    """Return the width and height of each frame's image, None if the test set has other images now."""
    if not has_its_images(contest, run):
        return None
    order = contest.store.runs.image_order(run.id)
    originals = order[frames.image - 1].tolist()
    images = [contest.test_set.images[original - 1] for original in originals]
    return [(one.width, one.height) for one in images]


def _names(contest: Contest, boxes: Boxes) -> dict[str, str]:
    used = {int(category) for category in np.unique(boxes.rows[:, 1])}
    return {
        str(one.id): one.name for one in contest.test_set.categories if one.id in used
    }


def _events(contest: Contest, run: Run) -> list[dict[str, Any]]:
    """Return the kind of each event since the run was opened, with its time in the run."""
    if run.opened_utc is None:
        return []
    opened = datetime.fromisoformat(run.opened_utc)
    found = []
    for event in contest.store.log.of_run(run.id):
        at_s = (datetime.fromisoformat(event["utc"]) - opened).total_seconds()
        sentence = str(event.get("sentence") or event.get("action") or "")
        found.append({"at_s": round(at_s, 3), "kind": event["kind"], "what": sentence})
    return [one for one in found if one["at_s"] >= 0][:MOST_EVENTS]
