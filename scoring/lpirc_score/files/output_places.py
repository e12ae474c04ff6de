"""Where the command may write: never over or into what it reads, into a test set, or over a file of another kind."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from lpirc_score.errors import CodedError
from lpirc_testsets.folder import no_place
from lpirc_testsets.presence import is_file, is_folder, is_there

_FIRST_BYTES = 64
_PAGE = (b"<!doctype html",)
_STARTS = {
    ".csv": (b"category,name,", b"of,category,name,"),
    ".png": (b"\x89png",),
    ".svg": (b"<?xml", b"<svg"),
    ".html": _PAGE,
    ".htm": _PAGE,
}
"""How the files begin that are written here, by the endings of their names, in small letters."""


def require_place(
    option: str,
    out: Path,
    read: Iterable[tuple[str, Path]],
) -> None:
    """Raise `CodedError` `bad-place` if writing the file of this option would damage anything.

    `read` has each file or folder that is read, after what the command calls it. An existing file is overwritten only
    if it begins as those do that are written here. Raises OSError.
    """
    for what, place in read:
        if problem := _clash(out, what, place):
            raise _refusal(option, out, problem)
    if problem := no_place(out):
        raise _refusal(option, out, f"{problem}; name another place")
    if is_file(out) and not _begins_well(out):
        problem = f"exists, and is no {out.suffix} of {option}; name another file"
        raise _refusal(option, out, problem)


def _clash(out: Path, what: str, place: Path) -> str:
    if not is_there(place):  # reading it says so
        return ""
    if is_there(out) and out.samefile(place):
        return f"is {what}, which is read, and would be lost; name another file"
    real = Path(os.path.realpath(out))
    if is_folder(place) and Path(os.path.realpath(place)) in real.parents:
        return f"is in {place}, which is {what} and is read; name another place"
    return ""


def _begins_well(out: Path) -> bool:
    with out.open("rb") as file:
        begin = file.read(_FIRST_BYTES).lower()
    starts = _STARTS.get(out.suffix.lower(), (b"",))
    return not begin or begin.startswith(starts)


def _refusal(option: str, out: Path, problem: str) -> CodedError:
    return CodedError("bad-place", f"{option} {out} {problem}", file=str(out))
