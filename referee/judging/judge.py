"""Judges a run: reads the inputs from the store, scores them, and stores the score."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lpirc_score import Evaluation
from lpirc_score.analysis.halves import mean_of_categories
from lpirc_score.metrics.evaluation import evaluated
from lpirc_score.tasks import BOXES
from lpirc_score.tasks.task_kinds import Truth
from lpirc_score.tasks.truth_reading import truth_of
from lpirc_testsets import GroundTruth, load_test_set, objects_of
from referee.clock import Clock
from referee.contest import (
    Contest,
    require_closed,
    require_same_images,
    require_same_test_set,
    require_scorer,
)
from referee.errors import TestSetChanged
from referee.judging.bound_rules import as_judged, rule_of
from referee.judging.run_case import START_S, Case, judgement_of, were_served
from referee.judging.run_limits import limits_of_run
from referee.judging.score_uncertainty import interval_from
from referee.judging.scoring_job import Scored, scored_detections
from referee.store import Event
from referee.store.acts import Act
from referee.store.event_chain import SALT
from referee.store.hash_links import correction_text
from referee.store.records import JUDGED, TRUTH_CORRECTED, Run, RunState, Score

SALT_BYTES = 16


class Again(NamedTuple):
    """A request to judge a run again: by whom and why. `metric`, unless None, replaces the run's own metric."""

    by: str
    reason: str | None = None
    metric: str | None = None
    act: Act | None = None


def judge(
    contest: Contest,
    number: int,
    clock: Clock,
    *,
    again: Again | None = None,
    found: Scored | None = None,
    state: RunState | None = None,
    act: Act | None = None,
) -> Score:
    """Judge a closed run by its own rules and store the score, which replaces the earlier score in every result.

    The earlier score is kept. With `again`, the test set may have another ground truth than at arming, for the same
    images; this change is recorded as a signed event of its own. `found` is the run's scoring, if known; if it
    includes the half-samples, the score gets its interval. `state` is the state that the run must still have; `act`
    identifies the request in the log.

    Raises RefereeError `run-unknown`, `run-state` (not closed yet, or void), `testset-changed`; TestSetError.
    """
    while True:
        run = judgeable(contest, number, corrected=again is not None)
        judging = as_judged(contest, run, again and again.metric)
        judged, maps = with_interval(judgement(judging, run, clock, found), found)
        events = _events(contest, run, judged, again, clock.utc())
        contest.store.scores.add(judged, state, maps, events, act)
        state = None
        states = (RunState.CLOSED, RunState.JUDGED)
        # If the energy was read while the run was judged, judge it again.
        if (
            contest.store.runs.change(
                run.id,
                states,
                state=RunState.JUDGED.value,
            ).energy_wh
            == run.energy_wh
        ):
            break
    return judged


def _events(
    contest: Contest,
    run: Run,
    judged: Score,
    again: Again | None,
    now: datetime,
) -> list[Event]:
    """Return the events of a judgement; if the ground truth has changed, the event of its correction comes first."""
    digest = contest.test_set.digest
    armed_with = run.testset_digest
    before = [
        event for event in contest.store.log.of_run(run.id) if event["kind"] == JUDGED
    ]
    old = before[-1].get("testset_digest", armed_with) if before else armed_with
    events = []
    if digest != old:
        if again is None:
            advice = f"judge it again with: referee rejudge {run.id}"
            raise TestSetChanged(
                f"Run {run.id} was judged on test set {old[:12]}, but the contest now has test set {digest[:12]}; "
                f"{advice}"
            )
        events.append(_correction(contest, run, old, again, now.isoformat()))
    figures = {"map": judged.map, "energy_wh": judged.energy_wh, "score": judged.score}
    # Its link is public before the figures are; without these bits a guess of them could be checked.
    salt = secrets.token_hex(SALT_BYTES)
    detail: dict[str, object] = {**figures, "signature": judged.signature, SALT: salt}
    if judged.rules is not None:
        detail |= {"judged_utc": judged.judged_utc, "rules_sha256": judged.rules.sha256}
    if digest != armed_with:
        detail |= {"testset_digest": digest, "armed_with": armed_with}
    return [*events, Event(now.isoformat(), run.id, JUDGED, detail)]


def _correction(
    contest: Contest,
    run: Run,
    old: str,
    again: Again,
    utc: str,
) -> Event:
    first_id = contest.store.identity.first_id()
    new = contest.test_set.digest
    text = correction_text(first_id, run.id, utc, old, new, again.by, again.reason)
    detail = {
        "old": old,
        "new": new,
        "by": again.by,
        "reason": again.reason,
        "signature": contest.key.sign(text),
        "public_key": contest.key.public,
    }
    return Event(utc, run.id, TRUTH_CORRECTED, detail)


def with_interval(
    judged: Score,
    found: Scored | None,
) -> tuple[Score, NDArray[np.float64] | None]:
    """Return the judgement with its interval, and the half-samples' mAPs (R,); None without halves or ground truth."""
    if found is None or found.halves is None or judged.map is None:
        return judged, None
    maps = mean_of_categories(found.halves)
    return replace(judged, interval=interval_from(maps, judged)), maps


def judgeable(
    contest: Contest,
    number: int,
    *,
    corrected: bool = False,
) -> Run:
    """Return the run if it can be judged now. Raises RefereeError as `judge` does."""
    run = contest.store.runs.get(number)
    if corrected:
        require_same_images(contest, run)
    else:
        require_same_test_set(contest, run)
    require_closed(run)
    require_scorer(contest, run)
    return run


def judgement(
    contest: Contest,
    run: Run,
    clock: Clock,
    found: Scored | None = None,
) -> Score:
    """Judge a closed run by the contest's metric and ground truth and return the judgement, without storing it.

    The ground truth must be of the run's images. Raises TestSetError.
    """
    return judgement_of(
        case_of(contest, run, with_rows=found is None or rule_of(run).needs_images),
        clock.utc().isoformat(),
        found,
    )


def case_of(
    contest: Contest,
    run: Run,
    *,
    with_rows: bool = True,
) -> Case:
    """Return the case of a run, read from the store. Raises TestSetError."""
    store = contest.store
    order = store.runs.image_order(run.id)
    return Case(
        run=run,
        metric=contest.config.scored_by,
        count_unserved=contest.config.count_unserved,
        test_set=contest.test_set,
        order=order,
        served=store.served.images(run.id),
        readings=store.readings.of_run(run.id, START_S),
        events=store.log.of_run(run.id),
        refused=store.posts.count_refused(run.id),
        refused_rows=store.posts.refused_rows(run.id),
        limits=limits_of_run(run),
        **_answered(contest, run, with_rows=with_rows),
    )


def _answered(
    contest: Contest,
    run: Run,
    *,
    with_rows: bool,
) -> dict[str, Any]:
    """Return the parts of a case that differ by the task: the truth, and what the team has sent."""
    posts = contest.store.posts
    test_set = contest.test_set
    task = contest.config.task
    if task == BOXES:
        return {
            "ground_truth": ground_truth_of(test_set.folder, test_set.digest),
            "rows": posts.detections(run.id) if with_rows else np.empty((0, 7)),
        }
    bodies: list[tuple[bytes, str]] = []
    if with_rows:
        bodies, _ = contest.store.answers.bodies_after(run.id, 0)
    return {
        "ground_truth": None,
        "rows": np.empty((0, 7)),
        "task": task,
        "truth": task_truth_of(test_set.folder, test_set.digest, task),
        "bodies": bodies,
    }


@lru_cache(1)  # many runs share one, and reading it takes longer than judging
def ground_truth_of(folder: Path, digest: str) -> GroundTruth:
    """Read the ground truth of the test set in `folder`; `digest` is the key of the cache. Raises TestSetError.

    A set without ground truth has no objects.
    """
    return objects_of(load_test_set(folder))


@lru_cache(1)
def task_truth_of(folder: Path, digest: str, task: str) -> Truth:
    """Read the truth of the test set in `folder` for a task, as `ground_truth_of` does. Raises TestSetError."""
    return truth_of(task, load_test_set(folder))


def served_images(contest: Contest, run: Run) -> NDArray[np.bool_]:
    """Return whether each image was served to the run: shape (N + 1,), indexed by its number 1..N in the test set."""
    order = contest.store.runs.image_order(run.id)
    served = contest.store.served.images(run.id)
    return were_served(order, served, len(contest.test_set.images))


def evaluate_rows(
    contest: Contest,
    ground_truth: GroundTruth,
    rows: NDArray[np.float64],
) -> Evaluation:
    """Evaluate rows (n, 7) by the contest's metric; they are in order of arrival, with the test set's image numbers."""
    metric = contest.config.metric
    digest = contest.test_set.digest
    return evaluated(
        ground_truth,
        scored_detections(rows, metric),
        metric,
        ground_truth_digest=digest,
    )
