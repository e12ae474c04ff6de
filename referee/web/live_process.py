"""The process beside the server that follows the open runs, publishes the board and makes the copies of [backup].

None of it may delay a request.
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
from contextlib import contextmanager, suppress
from pathlib import Path

from referee.backup.contest_copy import back_up
from referee.clock import Clock
from referee.contest import Contest, open_contest
from referee.errors import RefereeError
from referee.judging.board import publish
from referee.judging.live import follow
from referee.web.processes import LOOK_S, STOP_TIMEOUT_S, end_with
from referee.web.server_log import LINE, BackgroundHandler
from testsets import TestSetError

NICENESS = 5  # the server comes first where both want the processor
COPIES, RETRY_S = 12, 60.0  # of [backup] so many stay; after one that failed
REPLACE_S = 5.0  # after it has ended: it may do so again and again

logger = logging.getLogger(__name__)


@contextmanager
def live_scores(folder: Path) -> Iterator[None]:
    """Keep a process that follows the contest in `folder` for the length of a with statement; replace one that ends."""
    stop = threading.Event()
    keeper = threading.Thread(target=_keep, args=(folder, stop), name="keep-live", daemon=True)
    keeper.start()
    try:
        yield
    finally:
        stop.set()
        keeper.join()


def _keep(folder: Path, stop: threading.Event) -> None:
    clock = Clock()
    command = [sys.executable, "-P", "-m", "referee.web.live_process", str(folder), str(os.getpid())]
    while True:
        # Its own session: a Ctrl-C at the terminal reaches the server, which then ends it.
        process = subprocess.Popen(  # noqa: S603 - our own program
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
        )
        while process.poll() is None and not clock.wait(stop, clock.monotonic_s() + LOOK_S):
            pass
        if stop.is_set():
            break
        logger.warning(
            "the process of the provisional scores has ended (%d); it is replaced", process.returncode
        )
        if clock.wait(stop, clock.monotonic_s() + REPLACE_S):
            return
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def make_copies(contest: Contest, clock: Clock, stop: threading.Event) -> None:
    """Copy database and contest.toml whenever it is due, also after a restart; tell once why that fails."""
    told, every_s = "", contest.config.backup.every_min * 60
    folder, name = contest.folder / contest.config.backup.folder, f"backup-{contest.config.id}"
    age_s = clock.utc().timestamp() - max(
        (one.stat().st_mtime for one in folder.glob(f"{name}-*.zip")), default=0
    )
    due_s = clock.monotonic_s() + (every_s - age_s if 0 <= age_s < every_s else 0)
    while contest.config.backup.folder and not clock.wait(stop, due_s):
        problem, file = "", folder / f"{name}-{clock.utc():%Y%m%d-%H%M%S}.zip"
        try:
            back_up(contest.folder, file, clock.utc(), keys=False, test_sets=False)
            for old in sorted(folder.glob(f"{name}-*.zip"), key=lambda one: one.stat().st_mtime)[:-COPIES]:
                old.unlink()
        except (RefereeError, OSError) as error:
            problem = str(error).replace(file.name, "")
        if problem != told:
            sentence = (
                f"Scheduled backups fail: {problem}" if problem else "Scheduled backups are made again."
            )
            logger.warning("%s", sentence)
            with suppress(RefereeError):
                contest.store.log_event(clock.utc(), None, "backup", sentence=sentence)
        told, due_s = problem, clock.monotonic_s() + (RETRY_S if problem else every_s)


def main(words: Sequence[str] | None = None) -> None:
    """Follow the contest in the folder on the command line until SIGTERM, or until the server is gone."""
    parser = argparse.ArgumentParser(prog="python -m referee.web.live_process", description=__doc__)
    parser.add_argument("folder", type=Path, help="the contest folder")
    parser.add_argument("parent", type=int, help="the process to end with")
    arguments = parser.parse_args(words)
    logging.basicConfig(level=logging.WARNING, format=LINE, handlers=[BackgroundHandler()])
    clock, stop = Clock(), threading.Event()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, lambda *_: stop.set())
    end_with(arguments.parent)
    os.nice(NICENESS)
    try:
        with open_contest(arguments.folder) as contest:
            contest.store.forgo_durability()
            threading.Thread(
                target=make_copies, args=(contest, clock, stop), name="copies", daemon=True
            ).start()
            publisher = threading.Thread(target=publish, args=(contest, clock, stop), name="publish-board")
            publisher.start()
            try:
                if contest.config.live_score:
                    follow(contest, clock, stop)
                publisher.join()
            finally:
                stop.set()
                publisher.join()
    except (RefereeError, TestSetError) as error:
        sys.exit(f"live score: {error.sentence}")


if __name__ == "__main__":
    main()
