"""Receives uploads: each is on disk, dated and in the queue of checks before it is acknowledged.

A file arrives in `uploads/`. On its last byte it is renamed to `*.arrived`, so that no process sees the track's queue
as empty. Then it is synced to disk, moved to `models/` under its SHA-256, and stored.
"""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from lpirc_score.files.atomic_write import parts_of, sync_folder, write_atomically
from lpirc_tracks.submissions.entries import require_open
from lpirc_tracks.submissions.results_files import PUBLIC, kept_upload
from lpirc_tracks.submissions.second_copies import copy_aside, remove_copy
from referee.clock import Clock
from referee.config.tracks import ModelTrack
from referee.contest import Contest
from referee.errors import RefereeError, StorageFailed
from referee.judging.contest_status import program_version
from referee.store.hash_links import entry_text
from referee.store.model_records import Submission, Upload

UPLOADS = "uploads"
PART = ".part"
ARRIVED = ".arrived"

logger = logging.getLogger(__name__)
_moving = threading.Lock()
"""Lock held while a file gets its row in the database, and while a file without a row is removed."""


@dataclass(frozen=True)
class Offer:
    """A file that a team hands in: its track, its name, and the refused upload that it replaces, or None."""

    config: ModelTrack
    team: str
    file: str
    replaces: int | None = None


def require_takes(contest: Contest, offer: Offer, now: datetime) -> str | None:
    """Raise RefereeError unless the offer may be made now: `not-replaceable`, or an error of `require_open`.

    Returns the day whose limit the offer counts towards, or None for the day of `now`.
    """
    replaced = (
        None
        if offer.replaces is None
        else _replaceable(contest, offer, offer.replaces, now)
    )
    until = now if replaced is None else datetime.fromisoformat(replaced.received_utc)
    require_open(contest, offer.config, offer.team, offer.file, until)
    return None if replaced is None else until.date().isoformat()


def receive_body(
    contest: Contest, clock: Clock, offer: Offer, body: Iterable[bytes]
) -> Submission:
    """Receive a file that arrives in one piece. A refused file leaves nothing behind.

    Raises what `require_takes`, `SubmissionTables.receive_upload` and `body` raise, and OSError.
    """
    folder = uploads_folder(contest)
    path = folder / f"{secrets.token_hex(8)}{PART}"
    try:
        append(path, body)
        return receive_file(contest, clock, offer, path)
    finally:
        path.unlink(missing_ok=True)


def receive_file(
    contest: Contest, clock: Clock, offer: Offer, path: Path, sha256: str | None = None
) -> Submission:
    """Receive a file whose last byte has arrived at `path`, and move it away. Raises as `receive_body`.

    OSError and StorageFailed are the referee's fault: the file is then at `path` again, and can be received once more.

    If `sha256` is given and differs, raises RefereeError `upload-mismatch`.
    """
    arrived = path.with_suffix(ARRIVED)
    path.rename(arrived)
    # From here on `count_arrived` counts it, so that the queue does not look empty.
    received = clock.utc()
    try:
        limit_day = require_takes(contest, offer, received)
        with arrived.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.seek(0, os.SEEK_END)
            os.fsync(file.fileno())
        if sha256 not in (None, found):
            raise RefereeError(
                "upload-mismatch",
                f"The file of {size} bytes has the SHA-256 {found}, but {sha256} was stated: "
                "parts of another file were sent. Nothing was accepted; start the upload again.",
            )
        who = offer.config.name, offer.team, PUBLIC, program_version()
        given = Submission(
            0, "", *who, offer.file, found, "", counts=True, limit_day=limit_day
        )
        upload = Upload(0, received.isoformat(), size, offer.replaces)
        kept = kept_upload(contest, given)
        copy_aside(contest, arrived, kept.name)
        with _moving:
            copy_aside(
                contest, arrived, kept.name
            )  # again: another team may have had it removed
            kept.parent.mkdir(mode=0o700, exist_ok=True)
            _keep(arrived, kept)
            sync_folder(kept.parent)
            limit = offer.config.submissions_per_day
            try:
                return contest.store.uploads.receive(
                    given, upload, limit, offer.config.holdout_until
                )
            except RefereeError:
                _remove_unneeded(contest, given)
                raise
    except (OSError, StorageFailed):
        arrived.replace(path)
        raise
    finally:
        arrived.unlink(missing_ok=True)


def remove_unneeded(contest: Contest, refused: Submission) -> None:
    """Remove the file of a refused upload, unless another entry has the same file."""
    with _moving:
        _remove_unneeded(contest, refused)


def _remove_unneeded(contest: Contest, refused: Submission) -> None:
    if not contest.store.uploads.is_file_needed(refused.model_sha256):
        kept = kept_upload(contest, refused)
        try:
            kept.unlink(missing_ok=True)
            remove_copy(contest, kept.name)
        except OSError as error:
            logger.warning(
                "the file %s, which no entry needs, could not be removed: %s",
                kept.name,
                error,
            )


def _keep(file: Path, kept: Path) -> None:
    """Give a file a second name, replacing any file of that name."""
    partial = file.with_suffix(".link")
    try:
        os.link(file, partial)
    except OSError:  # a file system without links, as of a USB stick
        write_atomically(kept, parts_of(file), 0o600)
        return
    partial.replace(kept)
    partial.unlink(missing_ok=True)  # of two names of one file POSIX leaves both


def append(path: Path, body: Iterable[bytes]) -> None:
    """Append a body to a file. If the body breaks off, the part received stays.

    Raises OSError, and the body's errors.
    """
    with path.open("ab") as file:
        file.writelines(body)


def uploads_folder(contest: Contest) -> Path:
    """Return the folder of uploads that have not fully arrived, creating it if necessary."""
    folder = contest.folder / UPLOADS
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def count_arrived(contest: Contest) -> int:
    """Count the files that have fully arrived but are not stored yet."""
    return len(list((contest.folder / UPLOADS).glob(f"*{ARRIVED}")))


def replaceable_until(config: ModelTrack, upload: Upload) -> datetime | None:
    """Return until when a refused upload may be replaced, or None if it may not."""
    if (
        upload.problem is None
        or upload.checked_utc is None
        or upload.replaces is not None
    ):
        return None
    return datetime.fromisoformat(upload.checked_utc) + timedelta(
        minutes=config.replacement_minutes
    )


def upload_document(contest: Contest, one: Submission) -> dict[str, Any]:
    """Return the facts about an upload that its team sees besides the state: its `receipt`, and any problem found.

    The receipt is signed by the contest's key over `entry_text`: it proves what was received, and when.
    """
    upload = contest.store.uploads.of_submission(one.id)
    if upload is None:  # of an earlier version
        return {}
    what = (
        one.team,
        one.track,
        one.model_file,
        upload.size,
        one.model_sha256,
        upload.received_utc,
    )
    names = ("team", "track", "file", "size", "sha256", "received_utc")
    receipt: dict[str, Any] = {"contest": contest.id, "entry": one.id} | dict(
        zip(names, what, strict=True)
    )
    receipt["signature"] = contest.key.sign(entry_text(contest.id, one.id, *what))
    receipt["public_key"] = contest.key.public
    found: dict[str, Any] = {"receipt": receipt, "replaces": upload.replaces}
    if upload.problem is None:
        return found
    found |= {"since_utc": upload.checked_utc, "problem": upload.problem}
    config = next(
        (config for config in contest.config.tracks if config.name == one.track), None
    )
    until = None if config is None else replaceable_until(config, upload)
    return found | {
        "replaceable_until_utc": None if until is None else until.isoformat()
    }


def _replaceable(contest: Contest, offer: Offer, number: int, now: datetime) -> Upload:
    """Return the refused upload that an offer replaces. Raises RefereeError `not-replaceable`."""
    upload = contest.store.uploads.of_submission(number)
    one = None if upload is None else contest.store.submissions.get(number)
    if (
        upload is None
        or one is None
        or (one.team, one.track) != (offer.team, offer.config.name)
    ):
        sentence = f"The team {offer.team} has no upload {number} to the track {offer.config.name}."
        raise RefereeError("not-replaceable", sentence)
    until = replaceable_until(offer.config, upload)
    if until is None:
        which = (
            "is a replacement itself"
            if upload.replaces is not None
            else "was not found broken"
        )
        raise RefereeError(
            "not-replaceable", f"The entry {number} cannot be replaced: it {which}."
        )
    if now >= until:
        sentence = (
            f"The entry {number} could be replaced only until {until.isoformat()[:19]}."
        )
        raise RefereeError("not-replaceable", sentence)
    return upload
