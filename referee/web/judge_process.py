"""Runs the console's commands as low-priority processes and judges one run at a time, so that no request waits."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from lpirc_score.errors import CodedError
from lpirc_score.tasks import BOXES
from lpirc_score.tasks.offered import task_engine
from referee.clock import Clock
from referee.runs.run_recorder import note_event
from referee.store import Store
from referee.store.records import JUDGE_FAILED, RunState

PROGRAM = "import os; os.nice(10); from referee.cli import main; main()"

LIMIT_S = 600.0
"""Seconds that the judging of a run by a plug-in may take."""

logger = logging.getLogger(__name__)


def run_command(
    *words: str, limit_s: float | None = None
) -> tuple[subprocess.CompletedProcess[str], str]:
    """Run the command `referee` at low priority until it ends; return the process and its last line on stderr.

    After `limit_s` it is killed, and subprocess.TimeoutExpired raised.
    """
    # In a separate session, so that Ctrl-C at the terminal ends the server but not the commands it has started.
    ended = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-P", "-c", PROGRAM, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
        timeout=limit_s,
    )
    return ended, ended.stderr.strip().rpartition("\n")[2].removeprefix("referee: ")


class Judging:
    """Judges runs one after the other, in one thread. `runs` are the numbers of those being judged or waiting."""

    def __init__(self, folder: Path, store: Store, clock: Clock) -> None:
        self._folder = folder
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: deque[tuple[int, Sequence[str]]] = deque()
        self.runs: frozenset[int] = frozenset()

    def ask(self, runs: Sequence[int]) -> None:
        """Queue these runs for judging, each at most once. A failure is recorded as an event of the run.

        A run that has no judgement yet is judged at most once, even if the process of a worker that has died is still
        at it.
        """
        asked = [(run, self._options(run)) for run in sorted(set(runs))]
        with self._lock:
            is_idle = not self.runs
            new = [one for one in asked if one[0] not in self.runs]
            self.runs |= {run for run, _ in new}
            self._waiting.extend(new)
        if is_idle and new:
            threading.Thread(target=self._judge_all, name="judge", daemon=True).start()

    def _judge_all(self) -> None:
        """Judge what waits, until nothing does."""
        while True:
            with self._lock:
                run, options = self._waiting.popleft()
            try:
                self._judge(run, options)
            except Exception:
                logger.exception("run %d: its judging broke off", run)
            with self._lock:
                self.runs -= {run}
                if not self.runs:
                    return

    def _options(self, run: int) -> list[str]:
        is_first = self._store.runs.get(run).state is not RunState.JUDGED
        return ["--on-record", *(["--first"] if is_first else [])]

    def _limit_s(self, run: int) -> float | None:
        """Return how long the judging may take: a plug-in that hangs keeps no other run from its judgement."""
        task = self._store.runs.get(run).task
        try:
            is_of_plugin = task != BOXES and task_engine(task) is not None
        except CodedError:
            return None  # the command says what is wrong
        return LIMIT_S if is_of_plugin else None

    def _judge(self, run: int, options: Sequence[str]) -> None:
        try:
            ended, said = run_command(
                "judge",
                str(run),
                *options,
                "--contest",
                str(self._folder),
                limit_s=self._limit_s(run),
            )
            sentence = (
                None
                if ended.returncode == 0
                else said or f"It broke off ({ended.returncode})."
            )
        except subprocess.TimeoutExpired as error:
            sentence = (
                f"The plug-in of its task did not end within {error.timeout:g} s; judge it by hand once the plug-in is "
                f"mended: referee judge {run}"
            )
        except OSError as error:
            sentence = f"It cannot be started: {error}."
        if sentence is not None:
            logger.error("run %d was not judged: %s", run, sentence)
            note_event(self._store, self._clock, run, JUDGE_FAILED, sentence=sentence)
