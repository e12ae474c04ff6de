"""The provisional score of every open run, in a process of its own beside the server.

It evaluates what the server has committed by the judge's own code, so its last score is the judge's, and publishes
the figures in the store's table `provisional`: each second, or as often as a run costs at most a tenth of a core. A
closed run is published once more, and again when its energy is read later. Nothing depends on this process.
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

from referee.clock import Clock
from referee.contest import Contest, open_contest, require_same_test_set
from referee.errors import RefereeError, StorageFailed
from referee.judging.checks import is_scorable
from referee.judging.judge import evaluate_rows, undo_image_order
from referee.scoring import score
from referee.store.records import Provisional, Run, RunState
from testsets import GroundTruth, TestSetError, read_ground_truth

logger = logging.getLogger(__name__)

TICK_S = 1.0
SHARE = 0.1  # of a core that one run may cost
PARENT_CHECK_S = 0.5
STOP_TIMEOUT_S = 3.0
NICENESS = 5  # the server comes first where both want the processor


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
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def follow(contest: Contest, clock: Clock, stop: threading.Event) -> None:
    """Publish the figures of every open run until `stop` is set: each second, or less often if that is costly.

    A database that fails is logged and tried again; a run that cannot be evaluated for another reason is logged and
    left out. Raises TestSetError.
    """
    followed = FollowedRuns(contest, clock)
    while not stop.is_set():
        start_s = clock.monotonic_s()
        cost_s = followed.tick()
        clock.wait(stop, start_s + max(TICK_S, cost_s / SHARE))


class FollowedRuns:
    """The open runs of a contest, and the closed ones until their final figures are published."""

    def __init__(self, contest: Contest, clock: Clock) -> None:
        self._contest = contest
        self._store = contest.store
        self._clock = clock
        self._ground_truth = read_ground_truth(contest.test_set.folder)
        self._runs: dict[int, _FollowedRun] = {}
        self._refused: set[int] = set()

    def tick(self) -> float:
        """Publish every open run, and one closed run; returns the processor time of the costliest one in seconds."""
        costs_s = [0.0]
        try:
            opened = self._store.runs(RunState.OPEN)
            for run in (*opened, *self._unpublished()):
                if run.id not in self._refused:
                    before_s = self._clock.process_s()
                    self._try_to_publish(run)
                    costs_s.append(self._clock.process_s() - before_s)
        except StorageFailed as error:
            logger.warning("the runs cannot be read now: %s", error.sentence)
        else:
            kept = self._runs.keys() & {run.id for run in opened}
            self._runs = {number: self._runs[number] for number in kept}
        return max(costs_s)

    def _unpublished(self) -> list[Run]:
        """The first closed run that was not published with its last detections and its energy of record."""
        for run in self._store.runs(RunState.CLOSED):
            final = (run.energy_wh, self._store.count_detections(run.id))
            shown = self._store.provisional(run.id)
            if run.id not in self._refused and (
                shown is None or (shown.energy_wh, shown.detections) != final
            ):
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
        self._contest = contest
        self._ground_truth = ground_truth
        self._run = run.id
        self._order = contest.store.image_order(run.id)
        self._rows = np.empty((0, 7))
        self._last_post = 0
        self._map: float | None = None

    def evaluate(self) -> tuple[float, int]:
        """The mAP of all stored detections, and their number; computed only when there are new ones."""
        new, self._last_post = self._contest.store.detections_after(self._run, self._last_post)
        if len(new) or self._map is None:
            self._rows = np.concatenate([self._rows, undo_image_order(new, self._order)])
            self._map = evaluate_rows(self._contest, self._ground_truth, self._rows).map
        return self._map, len(self._rows)


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
    os.nice(NICENESS)
    try:
        with open_contest(arguments.folder) as contest:
            contest.store.forgo_durability()
            follow(contest, clock, stop)
    except (RefereeError, TestSetError) as error:
        sys.exit(f"live score: {error.sentence}")


def _stop_with(parent: int, clock: Clock, stop: threading.Event) -> None:
    """Set `stop` when the parent process is gone: the system then gives this process another parent."""
    while not stop.is_set() and os.getppid() == parent:
        clock.wait(stop, clock.monotonic_s() + PARENT_CHECK_S)
    stop.set()


if __name__ == "__main__":
    main()
