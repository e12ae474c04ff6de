"""The folder of a site: each version is a folder of its own beside it, and the site is a link to one of them.

The link is replaced in one step, so a reader finds one whole version, also after a power cut between two files.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from lpirc_score.files.atomic_write import sync_folder
from referee.errors import RefereeError
from referee.publishing.site_manifest import MANIFEST, SiteManifest, digests_of

PARTIAL = "partial"
LINK = "link"
_DIGITS = 16


class SiteFolder:
    """The site at a path. Write into the `staged` folder, `place` pages there, `replace`; all of it while `locked`."""

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self._versions = self._path.with_name(f".{self._path.name}.versions")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other publications of this site out. Raises RefereeError `site-busy`, `site-target`; OSError."""
        self._require_own()
        self._versions.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._versions, os.O_RDONLY)
        try:
            self._lock(descriptor)
            yield
        finally:
            os.close(descriptor)

    def clean(self) -> None:
        """Remove what a publication that was interrupted has left, and all versions but the present one."""
        present = self._present()
        for version in self._versions.iterdir():
            if version.is_symlink():
                version.unlink()
            elif version != present:
                shutil.rmtree(version)

    @contextmanager
    def staged(self) -> Iterator[Path]:
        """Give an empty folder for the next version; what is left of it at the end is removed."""
        folder = self._versions / PARTIAL
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def place(self, staged: Path, contents: Mapping[str, bytes]) -> int:
        """Put files into the staged folder, and return the bytes written.

        A file that the present site has with the same content is a link to it: it is not written again, and web servers
        state the same time for it.
        """
        written = 0
        present = self._present()
        for name, content in contents.items():
            target = staged / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if present is None or not _linked(present / name, target, content):
                target.write_bytes(content)
                written += len(content)
        return written

    def has(self, manifest: SiteManifest) -> bool:
        """Return True if the present site has these files, unaltered."""
        present = self._present()
        if present is None:
            return False
        with suppress(OSError):
            is_same = (present / MANIFEST).read_bytes() == manifest.text
            return is_same and digests_of(present) == manifest.files
        return False

    def replace(self, staged: Path) -> None:
        """Make the staged folder the site."""
        _sync(staged)
        version = self._versions / secrets.token_hex(_DIGITS // 2)
        staged.rename(version)
        sync_folder(self._versions)
        link = self._versions / LINK
        link.symlink_to(Path(self._versions.name) / version.name)
        if self._path.is_dir() and not self._path.is_symlink():
            self._path.rmdir()  # empty, as `_require_own` has seen
        link.replace(self._path)
        sync_folder(self._path.parent)

    def _lock(self, descriptor: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RefereeError(
                "site-busy",
                f"{self._path} is being published by another command; let that one do it, or stop it.",
            ) from error

    def _present(self) -> Path | None:
        """Return the folder that the site is now."""
        with suppress(OSError):
            return self._versions / self._path.readlink().name
        return None

    def _require_own(self) -> None:
        """Raise RefereeError `site-target` if something else is at the path."""
        path = self._path
        if path.is_symlink():
            is_own = path.readlink().parent == Path(self._versions.name)
        elif path.is_dir():
            is_own = not any(path.iterdir())
        else:
            is_own = not path.exists()
        if not is_own:
            raise RefereeError(
                "site-target",
                f"{path} exists and is not a site that this command has published; name another folder.",
            )


def _linked(present: Path, target: Path, content: bytes) -> bool:
    """Link a file of the present site if it has this content. Return False if it has not, or cannot be linked."""
    with suppress(OSError):
        if not present.is_symlink() and present.read_bytes() == content:
            target.hardlink_to(present)
            return True
    return False


def _sync(folder: Path) -> None:
    """Wait until all files of a folder are on disk; those that are links have been there before."""
    for path in folder.rglob("*"):
        if path.is_dir():
            sync_folder(path)
            continue
        if path.stat().st_nlink > 1:
            continue
        with path.open("rb") as file:
            os.fsync(file.fileno())
    sync_folder(folder)
