"""A separate process that follows open runs, publishes the board and makes backups, so no request waits."""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from lpirc_power.endings import setting
from lpirc_testsets import TestSetError
from referee.backup.contest_copy import back_up
from referee.clock import Clock
from referee.contest import Contest, contest_id, open_contest
from referee.errors import RefereeError
from referee.judging.board_publisher import publish
from referee.judging.provisional_scores import follow
from referee.judging.replay_publisher import publish_replays
from referee.presence import entries
from referee.store.records import BACKUP
from referee.web.server_log import LINE, BackgroundHandler
from referee.web.sole_server import LOOK_S, STOP_TIMEOUT_S, end_with

NICENESS = 5  # the server has precedence
COPIES = 12
"""Number of scheduled backups that are kept."""
LOOK_COPIES_S = 60.0
"""Interval between checks whether a backup is due."""
REPLACE_S = 5.0  # delay after it ended, since it may end repeatedly

logger = logging.getLogger(__name__)


@contextmanager
def live_scores(folder: Path) -> Iterator[None]:
    """Run the process for the contest in `folder` during a with statement, and replace it if it ends."""
    stop = threading.Event()
    keeper = threading.Thread(
        target=_keep, args=(folder, stop), name="keep-live", daemon=True
    )
    keeper.start()
    try:
        yield
    finally:
        stop.set()
        keeper.join()


def _keep(folder: Path, stop: threading.Event) -> None:
    clock = Clock()
    command = [
        sys.executable,
        "-P",
        "-m",
        "referee.web.live_process",
        str(folder),
        str(os.getpid()),
    ]
    while True:
        # Its own session: a Ctrl-C at the terminal reaches the server, which then ends it.
        process = subprocess.Popen(  # noqa: S603 - our own program
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        while process.poll() is None and not clock.wait(
            stop, clock.monotonic_s() + LOOK_S
        ):
            pass
        if stop.is_set():
            break
        logger.warning(
            "the process for provisional scores has ended (%d); a new one starts",
            process.returncode,
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
    """Back up the database and contest.toml whenever the newest backup is old enough; log a failure once."""
    backup = contest.config.backup
    due_s = clock.monotonic_s()
    reported = ""
    folder = contest.folder / backup.folder
    name = f"backup-{contest_id(contest.folder)}"
    while backup.folder and not clock.wait(stop, due_s):
        due_s = clock.monotonic_s() + LOOK_COPIES_S
        now = clock.utc()
        problem = ""
        file = folder / f"{name}-{now:%Y%m%d-%H%M%S}.zip"
        try:
            listed = entries(folder)
            made = [one for one in listed if one.match(f"{name}-*.zip")]
            made.sort(key=lambda one: one.stat().st_mtime)
            ages_s = [now.timestamp() - one.stat().st_mtime for one in made]
            if any(
                0 <= age_s < backup.every_min * 60 - LOOK_COPIES_S / 2
                for age_s in ages_s
            ):
                continue
            for left in listed:
                if left.match(f".{name}-*"):  # of a process that was killed
                    shutil.rmtree(left, ignore_errors=True)
            back_up(contest.folder, file, now, keys=False, test_sets=False)
            for old in made[: 1 - COPIES]:
                old.unlink()
        except (RefereeError, OSError) as error:
            problem = f"Scheduled backups into {folder} fail: {error}".replace(
                file.name, ""
            )
        if problem != reported:
            reported = problem
            sentence = problem or "Scheduled backups work again."
            logger.warning("%s", sentence)
            with suppress(RefereeError), contest.store.durable() as store:
                failed = bool(problem)
                store.log.append(now, None, BACKUP, sentence=sentence, failed=failed)


def main(words: Sequence[str] | None = None) -> None:
    """Follow the contest in the folder on the command line until SIGTERM or until the server is gone."""
    parser = argparse.ArgumentParser(
        prog="python -m referee.web.live_process", description=__doc__
    )
    parser.add_argument("folder", type=Path, help="the contest folder")
    parser.add_argument(
        "parent", type=int, help="end when the process with this PID ends"
    )
    arguments = parser.parse_args(words)
    logging.basicConfig(
        level=logging.WARNING, format=LINE, handlers=[BackgroundHandler()]
    )
    clock = Clock()
    stop = threading.Event()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, setting(stop))
    end_with(arguments.parent)
    os.nice(NICENESS)
    try:
        with open_contest(arguments.folder, as_served=True) as contest:
            contest.store.forgo_durability()
            copies = threading.Thread(
                target=make_copies, args=(contest, clock, stop), daemon=True
            )
            copies.start()  # nothing waits for it, since its disk may not answer
            publisher = threading.Thread(
                target=publish, args=(contest, clock, stop), name="publish-board"
            )
            publisher.start()
            replays = threading.Thread(
                target=publish_replays,
                args=(contest, clock, stop),
                name="publish-replays",
            )
            replays.start()
            try:
                if contest.config.live_score:
                    follow(contest, clock, stop)
                publisher.join()
            finally:
                stop.set()
                publisher.join()
                replays.join()
    except (RefereeError, TestSetError) as error:
        sys.exit(f"live score: {error.sentence}")


if __name__ == "__main__":
    main()
