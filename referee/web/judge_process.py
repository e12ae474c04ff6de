"""Judging from the console: a process of low priority beside the server, one at a time, so that no request waits."""

from __future__ import annotations

import argparse
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from referee.clock import Clock
from referee.contest import open_contest, require_unchanged
from referee.errors import RefereeError
from referee.judging.uncertainty import judge_with_interval
from referee.runs.recorder import note_event
from referee.store import Store
from referee.web.processes import end_with
from testsets import TestSetError

NICENESS = 10
FAILED = "judge-failed"

logger = logging.getLogger(__name__)


class Judging:
    """The runs that are being judged, or wait for it."""

    def __init__(self, folder: Path, store: Store, clock: Clock) -> None:
        self._folder, self._store, self._clock = folder, store, clock
        self._lock = threading.Lock()
        self._waiting: list[int] = []
        self._is_working = False
        self.runs: frozenset[int] = frozenset()

    def ask(self, runs: Sequence[int]) -> None:
        """Judge these runs soon; those that wait already wait once."""
        with self._lock:
            new = [run for run in dict.fromkeys(runs) if run not in self.runs]
            self._waiting += new
            self.runs |= frozenset(new)
            starts = bool(new) and not self._is_working
            self._is_working |= starts
        if starts:
            threading.Thread(target=self._work, name="judge", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                batch, self._waiting = self._waiting, []
                self._is_working = bool(batch)
            if not batch:
                return
            try:
                self._judge(batch)
            except OSError as error:
                logger.error("the process that judges cannot be started: %s", error)  # noqa: TRY400
            for run in self._done(batch):
                sentence = f"Judging run {run} broke off; see the server's log, then judge it again."
                note_failure(self._store, self._clock, run, sentence)

    def _judge(self, batch: Sequence[int]) -> None:
        command = [
            sys.executable,
            "-P",
            "-m",
            "referee.web.judge_process",
            str(self._folder),
            str(os.getpid()),
        ]
        with subprocess.Popen(  # noqa: S603 - our own program
            [*command, *map(str, batch)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
        ) as process:
            for line in process.stdout or ():
                self._done([int(line)])

    def _done(self, runs: Sequence[int]) -> frozenset[int]:
        """Those of the runs that were not done yet."""
        with self._lock:
            left = self.runs.intersection(runs)
            self.runs -= left
        return left


def note_failure(store: Store, clock: Clock, run: int, sentence: str) -> None:
    """Log that a run could not be judged, and why."""
    logger.error("run %d was not judged: %s", run, sentence)
    note_event(store, clock, run, FAILED, sentence=sentence)


def main(words: Sequence[str] | None = None) -> None:
    """Judge runs, and say the number of each on stdout once it is done with; why one failed is an event."""
    parser = argparse.ArgumentParser(prog="judge", description=main.__doc__)
    parser.add_argument("folder", type=Path, help="the contest folder")
    parser.add_argument("parent", type=int, help="the process to end with")
    parser.add_argument("runs", type=int, nargs="+")
    arguments = parser.parse_args(words)
    end_with(arguments.parent)
    os.nice(NICENESS)
    clock = Clock()
    with open_contest(arguments.folder) as contest:
        for run in arguments.runs:
            try:
                require_unchanged(contest.test_set)
                judge_with_interval(contest, run, clock)
            except (RefereeError, TestSetError) as error:
                note_failure(contest.store, clock, run, error.sentence)
            print(run, flush=True)  # noqa: T201 - to the server
