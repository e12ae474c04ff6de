"""The folder of a socket for marks: this user's alone, and removed later if its recording was killed."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
import time
from pathlib import Path
from typing import Final

from lpirc_power.operating_system import is_of_this_user, unix_socket

PREFIX: Final = "lpirc-marks-"
NAME: Final = "marks"
LONGEST_PATH: Final = 100
"""Bytes of the longest path of a socket, on every system."""
YOUNG_S: Final = 60.0
"""Age up to which a folder may belong to a recording that is about to listen."""
_NO_ONE_LISTENS: Final = (errno.ECONNREFUSED, errno.ENOENT)


def socket_folder() -> Path:
    """Make a folder that only this user may enter, and remove those that recordings left when they were killed."""
    place = _short_folder()
    for one in place.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            _remove_if_abandoned(one)
    return Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))


def _short_folder() -> Path:
    """Return the folder for temporary files, or /tmp if its name is too long for a socket."""
    place = tempfile.gettempdir()
    longest = LONGEST_PATH - len(f"/{PREFIX}12345678/{NAME}")
    is_long = len(os.fsencode(place)) > longest
    return Path("/tmp" if is_long else place)  # noqa: S108  mkdtemp makes a folder of its own in it


def _remove_if_abandoned(folder: Path) -> None:
    """Remove a folder in which no recording listens. Raises OSError, also if it holds anything else."""
    found = folder.lstat()
    is_own = stat.S_ISDIR(found.st_mode) and is_of_this_user(found)
    if is_own and time.time() - found.st_mtime > YOUNG_S and _is_unheard(folder / NAME):
        (folder / NAME).unlink(missing_ok=True)
        folder.rmdir()


def _is_unheard(path: Path) -> bool:
    with contextlib.closing(unix_socket()) as probe:
        probe.setblocking(False)
        return probe.connect_ex(str(path)) in _NO_ONE_LISTENS
