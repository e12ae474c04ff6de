"""Uploads that can be resumed: the bytes received so far, and the size of the whole file (tus 1.0.0).

An upload is `uploads/ID.part`, with a second file for the facts stated at its creation. Both survive a restart of the
server. An upload without new bytes for a day is removed.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lpirc_score.files.atomic_write import parts_of, write_atomically
from lpirc_tracks.submissions.open_track import configured_track
from lpirc_tracks.submissions.receiving import (
    ARRIVED,
    PART,
    Offer,
    append,
    receive_file,
    uploads_folder,
)
from referee.clock import Clock
from referee.contest import Contest
from referee.errors import RefereeError, StorageFailed
from referee.store.model_records import Submission

IDLE = timedelta(days=1)
MOST_OF_A_TEAM = 4


@dataclass(frozen=True)
class Stated:
    """Facts stated when an upload was created; `size` is in bytes, `sha256` is of the whole file."""

    team: str
    track: str
    file: str
    size: int
    sha256: str
    replaces: int | None = None


@dataclass(frozen=True)
class Resumable:
    """An upload in progress."""

    number: str
    path: Path
    stated: Stated

    @property
    def offset(self) -> int:
        """The number of bytes received."""
        return self.path.stat().st_size

    @property
    def expires(self) -> datetime:
        """The time at which the upload is removed unless more bytes arrive."""
        return datetime.fromtimestamp(self.path.stat().st_mtime, UTC) + IDLE


class ResumableUploads:
    """The uploads in progress of a contest; only one request at a time writes to each."""

    def __init__(self, contest: Contest, clock: Clock) -> None:
        self._contest = contest
        self._clock = clock
        self._lock = threading.Lock()
        self._busy: set[str] = set()
        self._sweep(clock.utc(), is_start=True)

    def create(self, stated: Stated) -> Resumable:
        """Create an upload. Raises RefereeError `too-many-uploads`, OSError."""
        self._sweep(self._clock.utc())
        folder = uploads_folder(self._contest)
        with self._lock:
            own = sum(one.stated.team == stated.team for one in self._all())
            if own >= MOST_OF_A_TEAM:
                sentence = f"The team {stated.team} has {own} uploads that are not complete; end or delete one first."
                raise RefereeError("too-many-uploads", sentence)
            number = secrets.token_hex(16)
            path = folder / f"{number}{PART}"
            path.touch(0o600, exist_ok=False)
            write_atomically(_beside(path), json.dumps(asdict(stated)).encode(), 0o600)
        return Resumable(number, path, stated)

    def find(self, number: str, team: str) -> Resumable:
        """Return an upload of a team. Raises RefereeError `upload-unknown`."""
        found = next((one for one in self._all() if one.number == number), None)
        if found is None or found.stated.team != team:
            raise _unknown(number)
        return found

    def add(
        self, one: Resumable, offset: int, body: Iterable[bytes]
    ) -> Submission | None:
        """Append received bytes; return the submission once the whole file has arrived, else None.

        Raises RefereeError `upload-unknown`, `offset-mismatch`, `upload-busy`, and what `body` and `receive_file`
        raise. Bytes received before `body` raises are kept. If the referee failed to store the complete file, the
        client sends the last byte again, and that makes the entry.
        """
        with self._alone(one):
            if not one.path.is_file():
                raise _unknown(one.number)
            if offset != (now := one.offset):
                sentence = f"The upload continues at byte {now}, not at {offset}; ask for its Upload-Offset with HEAD."
                raise RefereeError("offset-mismatch", sentence, offset=now)
            append(one.path, body)
            if one.offset < one.stated.size:
                return None
            stated = one.stated
            try:
                config = configured_track(self._contest, stated.track)
                offer = Offer(config, stated.team, stated.file, stated.replaces)
                made = receive_file(
                    self._contest, self._clock, offer, one.path, stated.sha256
                )
            except (OSError, StorageFailed):
                _ask_for_last_byte(one)
                raise
            except RefereeError:
                _remove(one.path)
                raise
            _remove(one.path)
            return made

    def remove(self, one: Resumable) -> None:
        """Delete an upload. Raises RefereeError `upload-busy`."""
        with self._alone(one):
            _remove(one.path)

    @contextmanager
    def _alone(self, one: Resumable) -> Iterator[None]:
        with self._lock:
            if one.number in self._busy:
                sentence = "Another request is sending to this upload; wait until it has ended."
                raise RefereeError("upload-busy", sentence)
            self._busy.add(one.number)
        try:
            yield
        finally:
            with self._lock:
                self._busy.discard(one.number)

    def _all(self) -> Iterator[Resumable]:
        for beside in uploads_folder(self._contest).glob("*.json"):
            path = beside.with_suffix(PART)
            try:
                stated = Stated(**json.loads(beside.read_bytes()))
            except (OSError, ValueError, TypeError):
                continue
            if path.is_file():
                yield Resumable(path.stem, path, stated)

    def _sweep(self, now: datetime, *, is_start: bool = False) -> None:
        """Remove uploads without progress for a day and, at start, files of uploads that a killed server did not store.

        If a file was complete but not stored when the server was killed, its upload resumes at the last byte. If it was
        stored and only the answer was lost, that byte is answered with `entry-repeated`, which names the entry.
        """
        if is_start:
            for path in uploads_folder(self._contest).glob(f"*{ARRIVED}"):
                if _beside(path).is_file():
                    path.replace(path.with_suffix(PART))
        for one in list(self._all()):
            with suppress(FileNotFoundError):  # another request has just ended it
                if now >= one.expires and one.number not in self._busy:
                    _remove(one.path)
                elif is_start and one.offset >= one.stated.size:
                    _ask_for_last_byte(one)
        if not is_start:
            return
        known = {one.number for one in self._all()}
        for path in uploads_folder(self._contest).iterdir():
            if path.stem not in known or path.suffix == ARRIVED:
                path.unlink(missing_ok=True)


def _unknown(number: str) -> RefereeError:
    sentence = f"There is no upload {number:.40}: it is complete, was removed, or is not the team's."
    return RefereeError("upload-unknown", sentence)


def _beside(path: Path) -> Path:
    return path.with_suffix(".json")


def _ask_for_last_byte(one: Resumable) -> None:
    """Cut the last byte of a complete file that was not stored, since its client would take a complete file as stored.

    If that is impossible, the upload is removed and its client starts again.
    """
    size = max(0, one.stated.size - 1)
    try:
        if (
            one.path.stat().st_nlink > 1
        ):  # it may be kept for an entry by now: only a copy is cut
            write_atomically(one.path, parts_of(one.path, size), 0o600)
        else:
            os.truncate(one.path, size)
    except OSError:
        _remove(one.path)


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    _beside(path).unlink(missing_ok=True)
