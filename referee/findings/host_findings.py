"""The findings about a contest folder and this host: database, test set, disk, journal, backups, clock."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from lpirc_testsets import TestSetError
from referee.clock import Clock
from referee.config import ContestConfig, read_config
from referee.contest import Contest, load_own_test_set, require_unchanged
from referee.errors import RefereeError
from referee.findings.backup_folder import require_can_hold
from referee.journal.disk import JournalDisk
from referee.journal.epochs import newest_epoch, own_claim, require_own
from referee.journal.place import behind_text, is_shared, journal_folder
from referee.judging.freeze import Freeze
from referee.presence import is_folder, is_there
from referee.seams import Finding
from referee.store import DATABASE_NAME, Store

LEAST_FREE_BYTES = 2**30
SLACK = timedelta(
    seconds=2
)  # a clock that is being synchronized may step back by this much


def failure_of(look: Callable[[Any], object], at: object) -> Iterator[Finding]:
    """Yield the failure that a look raises, if any."""
    try:
        look(at)
    except (RefereeError, TestSetError) as error:
        yield Finding(error.code, error.sentence)


def require_sound_database(folder: Path) -> None:
    """Raise RefereeError unless the database is sound."""
    with closing(Store.open(folder / DATABASE_NAME)) as store:
        store.integrity.require_sound()


def require_sound_test_set(folder: Path) -> None:
    """Raise TestSetError or RefereeError unless the test set is as its manifest says."""
    require_unchanged(load_own_test_set(folder, read_config(folder)))


def require_free_space(folder: Path) -> None:
    """Raise RefereeError `no-room` if the disk of the contest is nearly full."""
    free_bytes = shutil.disk_usage(folder if is_there(folder) else Path()).free
    if free_bytes < LEAST_FREE_BYTES:
        sentence = f"The disk of {folder} has only {free_bytes / 1e6:.0f} MB left; make room before the day."
        raise RefereeError("no-room", sentence)


def look_at_backup_folder(folder: Path, config: ContestConfig) -> Iterator[Finding]:
    """Check that scheduled backups can be written into the folder that the contest names."""
    if not config.backup.folder:
        return
    try:
        require_can_hold(folder / config.backup.folder)
    except RefereeError as error:
        sentence = f"[backup] folder = {config.backup.folder!r}: {error.sentence}"
        yield Finding(error.code, sentence)


def _require_folder(journal: Path) -> None:
    if is_there(journal) and not is_folder(journal):
        words = f"The journal {journal} is a file; name a folder in [journal]."
        raise RefereeError("journal-missing", words)


def look_at_journal(folder: Path) -> Iterator[Finding]:
    """Check the disk of an external journal.

    The disk must answer and differ from the contest's disk, and this contest must own the journal.
    """
    with suppress(RefereeError):  # errors in contest.toml are findings already
        config = read_config(folder)
        if not is_shared(config):
            return
        journal = journal_folder(folder, config)
        disk = JournalDisk(journal, config.journal.deadline_s)
        try:
            disk.do(lambda: _require_folder(journal))
            is_same_disk = disk.do(
                lambda: journal.stat().st_dev == folder.stat().st_dev
            )
            if own_claim(folder) is not None or disk.do(lambda: newest_epoch(journal)):
                disk.do(lambda: require_own(journal, folder))
        except OSError as error:
            sentence = f"The journal's folder {journal} cannot be used ({error.strerror}); mount its disk, or make it."
            yield Finding("journal-missing", sentence)
        except RefereeError as error:
            yield Finding(error.code, error.sentence)
        else:
            if is_same_disk:
                sentence = f"The journal at {journal} is on the disk of the contest itself: both are lost with it."
                yield Finding("journal-same-disk", sentence, is_advice=True)


def look_whether_behind(contest: Contest) -> Iterator[Finding]:
    """Yield a finding while the journal lacks what was taken."""
    since = contest.store.database.journal_behind_since()
    if since is not None:
        journal = journal_folder(contest.folder, contest.config)
        words = (
            "its disk did not answer. The journal restarts, with a copy of the whole database, once that "
            "disk answers and no run is open."
        )
        yield Finding("journal-behind", f"{behind_text(journal, since)}: {words}")


def look_at_freeze(contest: Contest) -> Iterator[Finding]:
    """Check that the board is not frozen by the next start for a time that is over."""
    freeze_at = contest.config.freeze_at
    now = Clock().utc()
    if freeze_at is None or now < freeze_at:
        return
    words = "is past, so the board shows no run; write a time to come, or remove it"
    if contest.store.runs.find():
        freeze = Freeze(contest.store.published.get(), freeze_at)
        if freeze.is_on or not freeze.is_due(now):
            return
        words = "is over: the board freezes at the next start; write a time to come, or remove it"
    sentence = f"freeze_at = {freeze_at.isoformat()} {words}."
    yield Finding("frozen-already", sentence, is_advice=True)


def look_at_clock(store: Store) -> Iterator[Finding]:
    """Check that the clock is not behind the record, and that it is synchronized."""
    now = Clock().utc()
    newest = store.log.newest_after(0, 1)[1]
    last = datetime.fromisoformat(newest[0]["utc"]) if newest else now
    if now < last - SLACK:
        yield Finding(
            "clock-behind",
            f"The host's clock says {now:%Y-%m-%d %H:%M:%S} UTC, but the contest's last record is of "
            f"{last:%Y-%m-%d %H:%M:%S}; set the clock.",
        )
    with suppress(OSError, subprocess.TimeoutExpired):  # only systemd can answer
        asked = ["timedatectl", "show", "--property=NTPSynchronized", "--value"]
        answer = subprocess.run(  # noqa: S603
            asked, capture_output=True, text=True, timeout=2, check=False
        )
        if answer.stdout.strip() == "no":
            sentence = "The host's clock is not synchronized (NTP): recorded times may be wrong."
            yield Finding("clock-unsynchronized", sentence, is_advice=True)
