"""What is asked of git: the commit of a checkout, its time, what is not in it, and its tree."""

from __future__ import annotations

import subprocess
import tarfile
from io import BytesIO
from pathlib import Path

from tests.release.refusal import Refused


def asked(root: Path, *words: str) -> str:
    """Return what git says. Raises Refused where it fails."""
    return _run(root, *words).decode().strip()


def _run(root: Path, *words: str) -> bytes:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *words], capture_output=True, check=False
        )
    except FileNotFoundError as error:
        raise Refused("git is not installed: run `apt-get install git`") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise Refused(f"`git {words[0]}` failed in {root}: {said}")
    return done.stdout


def commit(root: Path) -> str:
    """Return the name of the commit of a checkout, 40 hexadecimal digits."""
    return asked(root, "rev-parse", "HEAD")


def committed_s(root: Path) -> int:
    """Return when it was committed, in seconds since 1970."""
    return int(asked(root, "log", "-1", "--format=%ct"))


def not_committed(root: Path) -> list[str]:
    """Return the files that differ from the commit, new ones too."""
    said = asked(root, "status", "--porcelain", "--untracked-files=all")
    return [line.split(maxsplit=1)[1] for line in said.splitlines()]


def tagged(root: Path, tag: str) -> str:
    """Return the commit of a tag, or "" without it."""
    known = asked(root, "tag", "--list", tag)
    return asked(root, "rev-list", "-n", "1", tag) if known else ""


def tags(root: Path, pattern: str) -> list[str]:
    """Return the tags that fit a pattern of git's."""
    return asked(root, "tag", "--list", pattern).splitlines()


def export(root: Path, folder: Path) -> None:
    """Write the tree of the commit into a folder, without git's own files."""
    folder.mkdir(parents=True)
    packed = BytesIO(_run(root, "archive", "--format=tar", "HEAD"))
    with tarfile.open(fileobj=packed) as archive:
        archive.extractall(folder, filter="tar")
