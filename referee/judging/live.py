"""The provisional score of every open run, followed in a process beside the server (referee.web.live_process).

It evaluates what the server has committed by the judge's own code, so its last score is the judge's, and publishes
the figures in the store's table `provisional`: each second, or as often as a run costs at most a tenth of a core. A
closed run is published once more, and again when its energy is read later. Nothing depends on it.
"""

from __future__ import annotations

import logging
import math
import threading

import numpy as np

from lpirc_testsets import GroundTruth, read_ground_truth
from referee.clock import Clock
from referee.contest import Contest, require_same_test_set
from referee.errors import RefereeError, StorageFailed
from referee.judging.bound_rules import as_judged
from referee.judging.case import restricted_to, undo_image_order
from referee.judging.checks import is_scorable
from referee.judging.judge import evaluate_rows
from referee.judging.scoring_job import IMAGE
from referee.scoring import score
from referee.store.records import Provisional, Run, RunState

logger = logging.getLogger(__name__)

TICK_S = 1.0
SHARE = 0.1  # of a core that one run may cost


def follow(contest: Contest, clock: Clock, stop: threading.Event) -> None:
    """Publish the figures of every open run until `stop` is set: each second, or less often if that is costly.

    A database that fails is logged and tried again; a run that cannot be evaluated for another reason is logged and
    left out. Raises TestSetError.
    """
    followed = FollowedRuns(contest, clock)
    while not stop.is_set():
        start_s = clock.monotonic_s()
        followed.tick()
        clock.wait(stop, start_s + TICK_S)


class FollowedRuns:
    """The open runs of a contest, and the closed ones until their final figures are published."""

    def __init__(self, contest: Contest, clock: Clock) -> None:
        self._contest = contest
        self._store = contest.store
        self._clock = clock
        self._ground_truth = read_ground_truth(contest.test_set.folder)
        self._runs: dict[int, _FollowedRun] = {}
        self._due_s: dict[int, float] = {}
        self._refused: set[int] = set()

    def tick(self) -> None:
        """Publish every open run that is due, those that have ended since, and one other closed run."""
        try:
            opened = self._store.runs(RunState.OPEN)
            ended = [self._store.run(number) for number in self._runs.keys() - {run.id for run in opened}]
            due = [run for run in opened if self._due_s.get(run.id, -math.inf) <= self._clock.monotonic_s()]
            past = {run.id: run for run in (*ended, *self._unpublished()) if run.state is not RunState.VOID}
        except StorageFailed as error:
            logger.warning("the runs cannot be read now: %s", error.sentence)
            return
        for run in (*due, *past.values()):
            if run.id not in self._refused:
                start_s, before_s = self._clock.monotonic_s(), self._clock.process_s()
                self._try_to_publish(run)
                pause_s = (self._clock.process_s() - before_s) / SHARE
                self._due_s[run.id] = start_s + (pause_s if pause_s > TICK_S else 0.0)
        kept = self._runs.keys() & {run.id for run in opened}
        self._runs = {number: self._runs[number] for number in kept}
        self._due_s = {number: self._due_s[number] for number in kept if number in self._due_s}

    def _unpublished(self) -> list[Run]:
        """The first closed run that was not published with its last detections and its energy of record."""
        for run in self._store.runs(RunState.CLOSED):
            final = (run.energy_wh, self._store.count_detections(run.id))
            shown = self._store.provisional(run.id)
            is_published = shown is not None and (shown.energy_wh, shown.detections) == final
            if run.id not in self._refused and not is_published:
                return [run]
        return []

    def _try_to_publish(self, run: Run) -> None:
        try:
            self._publish(run)
        except StorageFailed as error:
            logger.warning("run %d cannot be evaluated now: %s", run.id, error.sentence)
        except RefereeError as error:
            logger.warning("run %d cannot be evaluated: %s", run.id, error.sentence)
            self._refused.add(run.id)

    def _publish(self, run: Run) -> None:
        # The run was read before its posts: if it is closed, every post of it is there.
        if run.id not in self._runs:
            self._runs[run.id] = _FollowedRun(self._contest, self._ground_truth, run)
        reached, detections = self._runs[run.id].evaluate()
        energy_wh = self._store.newest_energy_wh(run.id) if run.state is RunState.OPEN else run.energy_wh
        self._store.set_provisional(
            Provisional(
                run=run.id,
                utc=self._clock.utc().isoformat(),
                map=reached,
                energy_wh=energy_wh,
                score=score(reached, energy_wh) if is_scorable(energy_wh) else None,
                detections=detections,
            )
        )


class _FollowedRun:
    """A run's detections as far as they have been read, in order of arrival, and their mAP."""

    def __init__(self, contest: Contest, ground_truth: GroundTruth, run: Run) -> None:
        require_same_test_set(contest, run)
        self._contest = contest = as_judged(contest, run)
        self._run = run.id
        self._order = contest.store.image_order(run.id)
        self._ground_truth = restricted_to(ground_truth, self._order)
        self._rows = np.empty((0, 7))
        self._counts = np.full(len(contest.test_set.images) + 1, contest.config.count_unserved)
        self._last_post, self._last_served = 0, 0
        self._map: float | None = None

    def evaluate(self) -> tuple[float, int]:
        """The mAP of the stored detections that count, and the number of all; computed only when something is new."""
        new, self._last_post = self._contest.store.detections_after(self._run, self._last_post)
        served, self._last_served = self._contest.store.served_after(self._run, self._last_served)
        images = self._order[np.array(served, np.int64) - 1]
        if len(new) or not self._counts[images].all() or self._map is None:
            self._counts[images] = True
            self._rows = np.concatenate([self._rows, undo_image_order(new, self._order)])
            counted = self._rows[self._counts[self._rows[:, IMAGE].astype(np.int64)]]
            self._map = evaluate_rows(self._contest, self._ground_truth, counted).map
        return self._map, len(self._rows)
