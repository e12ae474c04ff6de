"""The provisional score of every open run, each second, in a process of its own beside the server.

It reads what the server has committed and publishes the newest figures in the store's table `provisional`; those of a
closed run once more, when nobody looked while it closed, or when its energy was read later. Nothing
depends on it: the score of record is the judge's, computed from the stored rows, and is the same number bit for bit
(in a voc-* contest, where equal confidences count in order of arrival, the judge takes them image by image).
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from referee.clock import Clock
from referee.contest import Contest, open_contest, require_same_test_set
from referee.errors import RefereeError
from referee.judging.checks import is_scorable
from referee.scoring import Detections, score
from referee.scoring.running import RunningEvaluation
from referee.store.records import Provisional, Run, RunState
from testsets import TestSetError, read_ground_truth

logger = logging.getLogger(__name__)

TICK_S = 1.0
PARENT_LOOK_S = 0.5
STOP_PATIENCE_S = 3.0
YIELDING = 5  # to the server, where both want the processor
IMAGE = 0
NEVER_TOLD = -1.0  # no energy
STORAGE_FAILED = "storage-failed"


@contextmanager
def live_scores(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Keep a process that follows the contest in `folder` for the length of a with statement."""
    command = [sys.executable, "-P", "-m", "referee.judging.live", str(folder), "--parent", str(os.getpid())]
    # Its own session: a Ctrl-C at the terminal reaches the server, which then ends it.
    process = subprocess.Popen(  # noqa: S603 - our own program
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def follow(contest: Contest, clock: Clock, stop: threading.Event) -> None:
    """Publish the figures of every open run each second, until `stop` is set.

    A database that fails is logged and tried again with the next second; a run that cannot be followed otherwise is
    logged and left out. Raises TestSetError, and RefereeError for a metric that cannot be followed.
    """
    followed = FollowedRuns(contest, clock)
    while not stop.is_set():
        next_s = clock.monotonic_s() + TICK_S
        followed.tick()
        clock.wait(stop, next_s)


class FollowedRuns:
    """The open runs of a contest, each with its evaluation so far, and the closed ones until their end is told.

    The ground truth is read once.
    """

    def __init__(self, contest: Contest, clock: Clock) -> None:
        self._contest = contest
        self._store = contest.store
        self._clock = clock
        self._ground_truth = read_ground_truth(contest.test_set.folder)
        self._runs: dict[int, _FollowedRun] = {}
        self._told: dict[int, float | None] = {}  # closed runs whose end is told, with the energy told
        self._refused: set[int] = set()
        self._evaluation()  # or the metric would be refused only when the first run opens

    def tick(self) -> None:
        """Take up new runs, and look at all: a run that is no longer open for the last time."""
        try:
            opened = {run.id: run for run in self._store.runs(RunState.OPEN)}
            untold = self._untold()
        except RefereeError as error:
            logger.warning("the runs cannot be followed now: %s", error.sentence)
            return
        for number in (*sorted({*opened, *self._runs} - self._refused), *untold):
            try:
                self._look(number, opened.get(number))
            except RefereeError as error:
                logger.warning("run %d cannot be followed: %s", number, error.sentence)
                if error.code != STORAGE_FAILED:  # that passes
                    self._refused.add(number)
                    self._runs.pop(number, None)

    def _untold(self) -> list[int]:
        """A closed run that waits for its judgement, and whose end has not been told: one a second."""
        for run in self._store.runs(RunState.CLOSED):
            if run.id in self._runs or run.id in self._refused:
                continue
            if run.id not in self._told:
                self._told[run.id] = self._published(run)
            if self._told[run.id] != run.energy_wh:
                return [run.id]
        return []

    def _published(self, run: Run) -> float | None:
        """The energy that an earlier process told with all of the run's detections."""
        known = self._store.provisional(run.id)
        is_whole = known is not None and known.detections == self._store.count_detections(run.id)
        return known.energy_wh if known is not None and is_whole else NEVER_TOLD

    def _look(self, number: int, opened: Run | None) -> None:
        # The state was read before the posts: when it says closed, every post of the run is there.
        run = opened or self._store.run(number)
        if run.state is not RunState.VOID:
            followed = self._runs.get(number) or self._take_up(run)
            followed.take(*self._store.detections_after(number, followed.last_post))
            energy_wh = run.energy_wh if opened is None else self._store.newest_energy_wh(number)
            self._store.set_provisional(self._provisional(number, followed.evaluation, energy_wh))
        if opened is None:
            self._told[number] = run.energy_wh
            self._runs.pop(number, None)

    def _take_up(self, run: Run) -> _FollowedRun:
        require_same_test_set(self._contest, run)
        followed = _FollowedRun(self._evaluation(), self._store.image_order(run.id))
        self._runs[run.id] = followed
        return followed

    def _evaluation(self) -> RunningEvaluation:
        return RunningEvaluation(self._ground_truth, self._contest.config.metric)

    def _provisional(
        self, number: int, evaluation: RunningEvaluation, energy_wh: float | None
    ) -> Provisional:
        now = evaluation.evaluation()
        return Provisional(
            run=number,
            utc=self._clock.utc().isoformat(),
            map=now.map,
            energy_wh=energy_wh,
            score=score(now.map, energy_wh) if is_scorable(energy_wh) else None,
            detections=now.detections,
        )


class _FollowedRun:
    """One run: its evaluation, the order in which the team knows the images, and how far it has been read."""

    def __init__(self, evaluation: RunningEvaluation, order: NDArray[np.int64]) -> None:
        self.evaluation = evaluation
        self.last_post = 0
        self._order = order

    def take(self, rows: NDArray[np.float64], last_post: int) -> None:
        """Take further detections, up to that post, with image numbers as the team knows them."""
        rows[:, IMAGE] = self._order[rows[:, IMAGE].astype(np.int64) - 1]
        self.evaluation.add(Detections.from_rows(rows))
        self.last_post = last_post


def main(words: Sequence[str] | None = None) -> None:
    """Follow the contest in the folder on the command line until SIGTERM, or until the parent is gone."""
    parser = argparse.ArgumentParser(prog="python -m referee.judging.live", description=__doc__)
    parser.add_argument("folder", type=Path, help="the contest folder")
    parser.add_argument("--parent", type=int, default=os.getppid(), help="end with this parent process")
    arguments = parser.parse_args(words)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    clock, stop = Clock(), threading.Event()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, lambda *_: stop.set())
    threading.Thread(target=_stop_with, args=(arguments.parent, clock, stop), daemon=True).start()
    os.nice(YIELDING)
    try:
        with open_contest(arguments.folder) as contest:
            contest.store.forgo_durability()
            follow(contest, clock, stop)
    except (RefereeError, TestSetError) as error:
        sys.exit(f"live score: {error.sentence}")


def _stop_with(parent: int, clock: Clock, stop: threading.Event) -> None:
    """Stop when the parent is gone: an orphan gets another one."""
    while not stop.is_set() and os.getppid() == parent:
        clock.wait(stop, clock.monotonic_s() + PARENT_LOOK_S)
    stop.set()


if __name__ == "__main__":
    main()
