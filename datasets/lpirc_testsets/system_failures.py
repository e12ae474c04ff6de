"""What to do about a failure of the system, such as a folder that is missing or a disk that is full."""

from __future__ import annotations

import errno
import os
from pathlib import Path

OWNER = "run this as the user who owns it, or give this user access with chmod"
REMEDIES = {
    errno.ENOENT: "check the path; its folder must exist",
    errno.EEXIST: "a folder is needed here; choose another name",
    errno.ENOTDIR: "a part of this path is a file, not a folder; check the path",
    errno.EISDIR: "a file is needed here, and this is a folder",
    errno.EACCES: OWNER,
    errno.EPERM: OWNER,
    errno.EROFS: "choose a place on a disk that can be written to",
    errno.ENOSPC: "free some space, or choose another disk",
    errno.EDQUOT: "free some space, or choose another disk",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ELOOP: "the link leads back to itself; name another place",
    errno.EMFILE: "raise the limit of open files: ulimit -n",
}


def told(error: OSError) -> str:
    """Return the file, what the system says, and what to do, without a full stop."""
    place = "" if error.filename is None else f"{error.filename}: "
    if not place and error.errno in (errno.ENOSPC, errno.EDQUOT):
        place = "the output cannot be written: "
    return place + reason_of(error)


def reason_of(error: OSError) -> str:
    """Return what the system says and what to do, without the file and without a full stop."""
    reason = error.strerror or str(error)
    remedy = REMEDIES.get(error.errno or 0)
    if remedy is None:
        return reason
    folder = _closed_folder(error) if remedy is OWNER else None
    if folder is not None:
        return f"{reason}: its folder {folder} is closed to this user; {remedy}"
    return f"{reason}; {remedy}"


def _closed_folder(error: OSError) -> Path | None:
    """Return the first folder above a file that this user does not see, or None if the file is seen itself."""
    if not isinstance(error.filename, str):
        return None
    path = Path(error.filename).absolute()
    seen = path
    while not os.path.lexists(seen) and seen != seen.parent:
        seen = seen.parent
    return None if seen == path else seen
