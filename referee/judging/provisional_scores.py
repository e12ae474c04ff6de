"""The provisional score of every open run, computed in a separate process (referee.web.live_process).

The process evaluates what the server has committed with the judge's own code, so its last score equals the judge's. It
publishes the figures in the store's table `provisional` once a second, or less often, so that a run costs at most a
tenth of a core. A closed run is published once more, and again if its energy is read later. Nothing depends on these
figures.

The table is for operators; what teams and the public may see is in `released` (referee.judging.released_figures).
"""

from __future__ import annotations

import logging
import math
import threading
from contextlib import suppress
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from lpirc_score import score
from lpirc_score.tasks import BOXES
from lpirc_testsets import GroundTruth, objects_of
from referee.clock import Clock
from referee.contest import Contest, require_same_test_set
from referee.errors import RefereeError, StorageFailed
from referee.judging.bound_rules import as_judged, has_provisional_score
from referee.judging.figure_freshness import measured_state
from referee.judging.figure_state import FigureState
from referee.judging.followed_answers import FollowedAnswers
from referee.judging.judge import evaluate_rows, task_truth_of
from referee.judging.released_figures import half_of, is_due, is_last, release_of
from referee.judging.run_case import restricted_to, undo_image_order
from referee.judging.run_checks import is_scorable, lacks_truth
from referee.judging.scoring_job import IMAGE
from referee.judging.time_limit import limited_plugin
from referee.store.records import LIVE_FAILED, Provisional, Run, RunState

logger = logging.getLogger(__name__)

TICK_S = 1.0
SHARE = 0.1  # of a core, at most, for one run


def follow(
    contest: Contest,
    clock: Clock,
    stop: threading.Event,
) -> None:
    """Publish the figures of every open run until `stop` is set: each second, or less often if that is costly.

    If the database fails, log it and try again; if a run cannot be evaluated for another reason, log it and skip the
    run from then on. Raises TestSetError.
    """
    followed = FollowedRuns(contest, clock)
    while not stop.is_set():
        start_s = clock.monotonic_s()
        followed.tick()
        clock.wait(stop, start_s + TICK_S)


class FollowedRuns:
    """The open runs of a contest, and the closed runs until their final figures are published."""

    def __init__(self, contest: Contest, clock: Clock) -> None:
        self._contest = contest
        self._store = contest.store
        self._clock = clock
        self._ground_truth: GroundTruth | None = None
        if contest.config.task == BOXES:
            self._ground_truth = objects_of(contest.test_set)
        self._runs: dict[int, _FollowedRun | FollowedAnswers] = {}
        self._due_s: dict[int, float] = {}
        # The pause between two publications of a run; it follows from the cost of the last one.
        self._pause_s: dict[int, float] = {}
        self._refused: set[int] = set()

    def tick(self) -> None:
        """Publish every open run that is due, every run that has just ended, and one incomplete closed run."""
        try:
            opened = self._store.runs.find(RunState.OPEN)
            numbers = {run.id for run in opened}
            ended = [self._store.runs.get(one) for one in self._runs.keys() - numbers]
            past = {
                run.id: run
                for run in (*ended, *self._unpublished())
                if run.state is not RunState.VOID
            }
        except StorageFailed as error:
            logger.warning("the runs cannot be read now: %s", error.sentence)
            return
        due = [run for run in opened if self._is_due(run)]
        for run in (*due, *past.values()):
            if run.id not in self._refused:
                self._publish_and_pause(run)
        for ended_number in self._runs.keys() - numbers:
            del self._runs[ended_number]
        for table in (self._due_s, self._pause_s):
            for other in table.keys() - self._runs.keys():
                del table[other]

    def _is_due(self, run: Run) -> bool:
        due_s = self._due_s.get(run.id, -math.inf)
        return due_s <= self._clock.monotonic_s()

    def _publish_and_pause(self, run: Run) -> None:
        """Publish a run, and set its next time so that it uses at most its share of a core."""
        start_s = self._clock.monotonic_s()
        before_s = self._clock.process_s()
        self._try_to_publish(run)
        took_s = self._clock.process_s() - before_s
        pause_s = took_s / SHARE
        self._pause_s[run.id] = pause_s
        # A pause shorter than a tick needs no delay.
        self._due_s[run.id] = start_s
        if pause_s > TICK_S:
            self._due_s[run.id] += pause_s

    def _unpublished(self) -> list[Run]:
        """Return, as a list, the first closed run whose published figures lack detections or the energy, if any."""
        for run in self._store.runs.find(RunState.CLOSED):
            detections = self._store.posts.count_detections(run.id)
            shown = self._store.provisional.of_run(run.id)
            released = self._store.provisional.released(run.id)
            is_published = (
                shown is not None
                and shown.energy_wh == run.energy_wh
                and shown.detections == detections
            )
            is_done = is_published and is_last(run, released, detections)
            if not is_done and run.id not in self._refused:
                return [run]
        return []

    def _try_to_publish(self, run: Run) -> None:
        try:
            with limited_plugin(run):
                self._publish(run)
        except StorageFailed as error:
            logger.warning("run %d cannot be evaluated now: %s", run.id, error.sentence)
        except RefereeError as error:
            logger.warning("run %d cannot be evaluated: %s", run.id, error.sentence)
            self._refused.add(run.id)
            self._note(run, error.sentence)

    def _note(self, run: Run, sentence: str) -> None:
        """Note in the log that a run cannot be evaluated so far, unless its newest event of that kind says so."""
        before = self._store.log.of_kinds((LIVE_FAILED,)).get(run.id, [])
        if before and before[-1]["sentence"] == sentence:
            return
        with suppress(RefereeError), self._store.durable() as store:
            store.log.append(self._clock.utc(), run.id, LIVE_FAILED, sentence=sentence)

    def _publish(self, run: Run) -> None:
        # The run was read before its posts, so a closed run has all its posts by now.
        if run.id not in self._runs:
            self._runs[run.id] = self._begun(run)
        followed = self._runs[run.id]
        now = self._clock.utc()
        reached, detections = followed.evaluate()
        energy_wh = run.energy_wh
        utc = now
        if run.state is RunState.OPEN:
            newest = self._store.readings.newest(run.id, with_energy=True)
            if newest is not None:
                energy_wh = newest.energy_wh
                utc = min(now, newest.utc)
        is_fresh = measured_state(self._store, run, now) is FigureState.FRESH
        reached_score = None
        is_scored = is_fresh and has_provisional_score(run)
        if is_scored and reached is not None and is_scorable(energy_wh):
            reached_score = score(reached, energy_wh)
        figures = Provisional(
            run=run.id,
            utc=utc.isoformat(),
            map=reached,
            energy_wh=energy_wh,
            score=reached_score,
            detections=detections,
            pause_s=self._pause_s.get(run.id, 0.0),
        )
        self._store.provisional.set(figures)
        if self._is_to_release(run, is_fresh=is_fresh, detections=detections, now=now):
            half_map = followed.evaluate_half()
            utc_text = utc.isoformat()
            released = release_of(
                run,
                half_map,
                energy_wh,
                detections,
                utc=utc_text,
                now=now,
            )
            self._store.provisional.release(released)

    def _begun(self, run: Run) -> _FollowedRun | FollowedAnswers:
        """Return the part that follows a run. Raises RefereeError `testset-changed`; TestSetError."""
        require_same_test_set(self._contest, run)
        contest = as_judged(self._contest, run)
        test_set = contest.test_set
        if contest.config.task == BOXES:
            if self._ground_truth is None:
                self._ground_truth = objects_of(test_set)
            return _FollowedRun(contest, self._ground_truth, run)
        order = contest.store.runs.image_order(run.id)
        half = half_of(contest.secret, run, order)
        task = contest.config.task
        truth = task_truth_of(test_set.folder, test_set.digest, task)
        return FollowedAnswers(contest, run, truth, half)

    def _is_to_release(
        self,
        run: Run,
        *,
        is_fresh: bool,
        detections: int,
        now: datetime,
    ) -> bool:
        before = self._store.provisional.released(run.id)
        if run.state is RunState.OPEN:
            return is_fresh and is_due(run, before, now)
        return not is_last(run, before, detections)


class _FollowedRun:
    """The detections of a run read so far, in order of arrival, and their mAP."""

    def __init__(
        self,
        contest: Contest,
        ground_truth: GroundTruth,
        run: Run,
    ) -> None:
        self._contest = contest
        self._store = contest.store
        self._run = run.id
        self._order = contest.store.runs.image_order(run.id)
        self._lacks_truth = lacks_truth(ground_truth)
        self._ground_truth = restricted_to(ground_truth, self._order)
        self._half = half_of(contest.secret, run, self._order)
        self._rows: NDArray[np.float64] = np.empty((0, 7))
        self._counts = np.full(
            len(contest.test_set.images) + 1,
            contest.config.count_unserved,
        )
        self._last_post = 0
        self._last_served = 0
        self._map: float | None = None

    def evaluate(self) -> tuple[float | None, int]:
        """Return the mAP of the stored detections that are scored, and the number of all detections.

        The mAP is computed only if a detection is new; otherwise it is the last one. It is None without ground truth.
        """
        new, last_post = self._store.posts.detections_after(self._run, self._last_post)
        served, last_served = self._store.served.after(self._run, self._last_served)
        self._last_post = last_post
        self._last_served = last_served
        images = self._order[np.array(served, np.int64) - 1]
        is_new = len(new) or not self._counts[images].all()
        if is_new or (self._map is None and not self._lacks_truth):
            self._counts[images] = True
            new_rows = undo_image_order(new, self._order)
            self._rows = np.concatenate([self._rows, new_rows])
            self._map = self._map_of(self._counted(), self._ground_truth)
        return self._map, len(self._rows)

    def evaluate_half(self) -> float | None:
        """Return the mAP on the secret half of the run's images, of the detections that `evaluate` has read.

        None without ground truth.
        """
        counted = self._counted()
        is_of_half = np.isin(counted[:, IMAGE], self._half)
        truth = restricted_to(self._ground_truth, self._half)
        return self._map_of(counted[is_of_half], truth)

    def _map_of(
        self,
        rows: NDArray[np.float64],
        truth: GroundTruth,
    ) -> float | None:
        if self._lacks_truth:
            return None
        return evaluate_rows(self._contest, truth, rows).map or 0.0

    def _counted(self) -> NDArray[np.float64]:
        images = self._rows[:, IMAGE].astype(np.int64)
        counted: NDArray[np.float64] = self._rows[self._counts[images]]
        return counted
