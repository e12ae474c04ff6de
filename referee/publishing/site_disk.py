"""The disk of a site: a publication leaves the server its space, and says so when there is too little."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from referee.errors import RefereeError

SPARED_BYTES = 2**28
"""Space that a publication leaves on the disk of the contest, for readings, detections and the log."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
MB = 1e6


@dataclass(frozen=True)
class SiteDisk:
    """The disk on which the folder `site` is, or will be; `contest` is the folder of the contest."""

    contest: Path
    site: Path

    def require_space(self, needed_bytes: int = 0) -> None:
        """Raise RefereeError `site-disk-full` if so many more bytes would leave too little free."""
        folder = self._existing()
        is_shared = folder.stat().st_dev == self.contest.stat().st_dev
        spared_bytes = SPARED_BYTES if is_shared else 0
        free_bytes = shutil.disk_usage(folder).free
        if free_bytes >= needed_bytes + spared_bytes:
            return
        left = f"The disk of {self.site} has {free_bytes / MB:.0f} MB left"
        if is_shared:
            left += f", and {SPARED_BYTES / MB:.0f} MB of it are kept for the contest"
        raise _full(left)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Turn a full disk into RefereeError `site-disk-full`."""
        try:
            yield
        except OSError as error:
            if error.errno not in FULL:
                raise
            raise _full(f"The disk of {self.site} is full") from error

    def _existing(self) -> Path:
        """Return the nearest folder above the site that exists."""
        folder = self.site.absolute().parent
        while not folder.is_dir():
            folder = folder.parent
        return folder


def _full(what: str) -> RefereeError:
    words = "the site stays as it was; make room, or name a folder on another disk"
    return RefereeError("site-disk-full", f"{what}: {words}.")
