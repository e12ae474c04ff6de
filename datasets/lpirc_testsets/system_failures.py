"""What to do about a failure of the system, such as a folder that is missing or a disk that is full."""

from __future__ import annotations

import errno

REMEDIES = {
    errno.ENOENT: "check the path; its folder must exist",
    errno.EEXIST: "a folder is needed here; choose another name",
    errno.ENOTDIR: "a part of this path is a file, not a folder; check the path",
    errno.EISDIR: "a file is needed here, and this is a folder",
    errno.EACCES: "run this as the user who owns it, or give this user access with chmod",
    errno.EPERM: "run this as the user who owns it, or give this user access with chmod",
    errno.EROFS: "choose a place on a disk that can be written to",
    errno.ENOSPC: "free some space, or choose another disk",
    errno.EDQUOT: "free some space, or choose another disk",
    errno.ENAMETOOLONG: "choose a shorter name",
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
    return reason if remedy is None else f"{reason}; {remedy}"
