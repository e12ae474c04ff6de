"""Epochs of a journal that several hosts can reach: they decide which host may write, and how another takes over.

Epoch 2 of a journal has the files `000002.log` (its records), `000002.host` (its owner, and whether the epoch has
ended) and `000002.beat` (signs of life of its server). Creating the `.host` with O_EXCL decides who owns an epoch. The
end of an epoch is written *into* that file, in place: a network file system asks its server whenever a file is opened,
but may remember for a minute that a name did not exist.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

from referee.errors import EpochTaken, RefereeError, Superseded
from referee.operating_system import machine_name
from referee.presence import entries, not_accessible

CLAIM_NAME = "epoch"
"""File in a contest folder with the claim of the journal epoch that this folder owns, if any."""

FIRST = 1
_CELL_BYTES = 16
_CLAIM_BYTES = (
    8192  # a path has 4096 at most, some of which take two in JSON; blanks up to it
)
_OPEN = b"open".ljust(_CELL_BYTES - 1) + b"\n"
_OVER = b"over".ljust(_CELL_BYTES - 1) + b"\n"
_HOST_NAME = re.compile(r"(\d{6})\.host")


@dataclass(frozen=True)
class Claim:
    """An epoch and its owner: a folder on a host, the contest's id, and the version of the program that serves it.

    `token` is a random value, stored in both the folder and the journal.
    """

    epoch: int
    contest: str
    version: str
    host: str
    folder: str
    token: str
    utc: str

    def __str__(self) -> str:
        return f"epoch {self.epoch} of {self.folder} on {self.host} since {self.utc[:19]} UTC"


def host_path(journal: Path, epoch: int) -> Path:
    """Return the path of the file that names the owner of an epoch."""
    return journal / f"{epoch:06}.host"


def newest_epoch(journal: Path) -> int:
    """Return the newest epoch that any host has claimed, or 0. Raises RefereeError `not-accessible`."""
    found = (_HOST_NAME.fullmatch(one.name) for one in entries(journal))
    return max((int(one[1]) for one in found if one), default=0)


def claim_of(journal: Path, epoch: int) -> Claim | None:
    """Return the claim of an epoch; None if no host has claimed it, or if a host died while claiming it."""
    try:
        content = host_path(journal, epoch).read_bytes()
    except FileNotFoundError:
        return None
    return _read_claim(content[_CELL_BYTES:])


def own_claim(folder: Path) -> Claim | None:
    """Return the claim of the epoch that a contest folder owns, or None. Raises RefereeError `not-accessible`."""
    try:
        return _read_claim((folder / CLAIM_NAME).read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise not_accessible(folder / CLAIM_NAME, error) from error


def has_epoch(journal: Path, folder: Path) -> bool:
    """Return True if this contest folder owns the journal's newest epoch."""
    own = own_claim(folder)
    owner = claim_of(journal, newest_epoch(journal))
    return own is not None and owner is not None and own.token == owner.token


def claim_epoch(
    journal: Path,
    folder: Path,
    epoch: int,
    *,
    contest: str,
    version: str,
    utc: datetime,
) -> Claim:
    """Claim an epoch for a contest folder on this host, and end all earlier ones.

    Once this returns, the owner of an earlier epoch will see the end of that epoch before acknowledging anything.
    Raises RefereeError `epoch-taken` if another host claimed it first.
    """
    host = machine_name()
    real = os.path.realpath(folder)
    token = secrets.token_hex(8)
    claim = Claim(epoch, contest, version, host, real, token, utc.isoformat())
    path = host_path(journal, epoch)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        other = claim_of(journal, epoch)
        words = f"{other} has it" if other else "another host is claiming it"
        sentence = f"Epoch {epoch} of the journal {journal} cannot be claimed: {words}. Only one host can take over."
        raise EpochTaken(sentence) from None
    _write(descriptor, _OPEN + _text(claim))
    _sync_folder(journal)
    for earlier in range(FIRST, epoch):
        with suppress(FileNotFoundError):
            descriptor = os.open(host_path(journal, earlier), os.O_WRONLY)
            _write(descriptor, _OVER)
    _keep(folder, claim)
    return claim


def require_current(journal: Path, claim: Claim) -> None:
    """Raise Superseded unless the epoch of `claim` is still the newest one.

    Call it after a record is on disk and before the record is acknowledged. A successor first ends the epoch and then
    reads its records, so it reads every acknowledged record. Raises OSError if the journal's disk is not mounted, which
    does not mean that another host has taken over.
    """
    try:
        descriptor = os.open(host_path(journal, claim.epoch), os.O_RDONLY)
    except FileNotFoundError:
        if newest_epoch(journal) > claim.epoch:
            raise superseded(journal, claim) from None
        raise
    try:
        cell = os.read(descriptor, _CELL_BYTES)
    finally:
        os.close(descriptor)
    if cell != _OPEN:
        raise superseded(journal, claim)


def superseded(journal: Path, claim: Claim) -> Superseded:
    """Return the error for a host whose epoch has ended."""
    newest = newest_epoch(journal)
    successor = claim_of(journal, newest) if newest > claim.epoch else None
    by = f"{successor} has" if successor else "another host has"
    return Superseded(
        f"This host had epoch {claim.epoch} of the contest, but {by} taken over. This host accepts no more "
        "requests: send them to the host that took over. For the operator: this host can now be the standby host "
        "(referee standby --help).",
        epoch=claim.epoch,
        newest_epoch=newest,
    )


def own_epoch(
    journal: Path, folder: Path, *, contest: str, version: str, utc: datetime
) -> Claim:
    """Return the claim with which a contest folder may write; for a new journal, claim the first epoch.

    Raises RefereeError `journal-missing` if the journal's disk is not mounted, and the errors of `require_own` and
    `claim_epoch`.
    """
    if newest_epoch(journal) == 0:
        own = own_claim(folder)
        if own is not None:
            raise RefereeError(
                "journal-missing",
                f"The journal of {folder} is not at {journal}: no epoch was found there, but this contest folder has "
                f"had epoch {own.epoch}. Mount the journal's disk. If the journal is lost, delete "
                f"{folder / CLAIM_NAME} to begin a new journal.",
            )
        journal.mkdir(mode=0o700, exist_ok=True)
        return claim_epoch(
            journal, folder, FIRST, contest=contest, version=version, utc=utc
        )
    return require_own(journal, folder)


def require_own(journal: Path, folder: Path) -> Claim:
    """Return the claim of a contest folder that may write to the journal.

    Raises Superseded if another host owns a later epoch than this folder. Raises RefereeError `journal-elsewhere` if
    the newest epoch is not this folder's because the folder is a copy, on this host or another.
    """
    newest = newest_epoch(journal)
    owner = claim_of(journal, newest)
    own = own_claim(folder)
    refusal = _elsewhere(journal, folder, owner)
    if own is None:
        raise refusal
    if owner is None or own.token != owner.token:
        if own.epoch < newest:
            raise superseded(journal, own)
        raise refusal
    require_current(journal, owner)
    if owner.host != machine_name():
        raise refusal
    real = os.path.realpath(folder)
    if owner.folder == real:
        return owner
    named = own_claim(Path(owner.folder))
    if named is not None and named.token == owner.token:
        raise refusal
    moved = replace(owner, folder=real)
    descriptor = os.open(host_path(journal, newest), os.O_WRONLY)
    _write(descriptor, _text(moved), _CELL_BYTES)
    _keep(folder, moved)
    return moved


def _elsewhere(journal: Path, folder: Path, owner: Claim | None) -> RefereeError:
    words = (
        f"it has {owner}" if owner else "the claim of its newest epoch is unreadable"
    )
    return RefereeError(
        "journal-elsewhere",
        f"{folder} may not write to the journal {journal}: {words}. Two hosts cannot serve one contest; when the other "
        f"host is dead or stopped, take over: referee standby {shlex.quote(str(folder))} --now",
    )


def _read_claim(content: bytes) -> Claim | None:
    try:
        return Claim(**json.loads(content))
    except (ValueError, TypeError):
        return None


def _text(claim: Claim) -> bytes:
    text = json.dumps(asdict(claim))
    return text.encode().ljust(_CLAIM_BYTES - 1) + b"\n"


def _keep(folder: Path, claim: Claim) -> None:
    """Write the claim into the contest folder, atomically."""
    path = folder / CLAIM_NAME
    partial = path.with_name(f".{CLAIM_NAME}.partial")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    descriptor = os.open(partial, flags, 0o600)
    _write(descriptor, _text(claim))
    partial.replace(path)
    _sync_folder(folder)


def _write(descriptor: int, content: bytes, offset: int = 0) -> None:
    """Write bytes to a file descriptor at `offset`, sync them to disk, and close it."""
    try:
        os.pwrite(descriptor, content, offset)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
