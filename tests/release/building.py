"""The wheels and sdists of a commit, built twice where everything around them differs; the bytes must be equal."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.release import git
from tests.release.refusal import Refused
from tests.wheels.building import FOLDERS

TARGETS: Final = ("wheel", "sdist")


@dataclass(frozen=True)
class Surroundings:
    """What must leave no trace in a file."""

    folder: str
    umask: int
    settings: Mapping[str, str]


FIRST: Final = Surroundings(
    "first", 0o022, {"TZ": "UTC", "LC_ALL": "C", "PYTHONHASHSEED": "1"}
)
SECOND: Final = Surroundings(
    "another folder/deep",
    0o077,
    {"TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "2"},
)


def built_twice(root: Path, work: Path) -> list[Path]:
    """Build all files of the commit of `root` twice below `work`; return those of the first time.

    Raises:
        Refused: a build fails, or two builds differ.
    """
    first, second = (_built(root, work, each) for each in (FIRST, SECOND))
    differing = _sums(first).items() ^ _sums(second).items()
    differ = sorted({name for name, _ in differing})
    if differ:
        raise Refused(
            f"two builds of {', '.join(differ)} differ: compare them below {work}"
        )
    return first


def _sums(files: Iterable[Path]) -> dict[str, str]:
    return {one.name: sha256_of(one) for one in files}


def _built(root: Path, work: Path, around: Surroundings) -> list[Path]:
    tree = work / around.folder / "tree"
    dist = work / around.folder / "dist"
    dist.parent.mkdir(parents=True)
    before = os.umask(around.umask)
    try:
        git.export(root, tree)
        dist.mkdir()
        environment = os.environ | dict(around.settings)
        environment["SOURCE_DATE_EPOCH"] = str(git.committed_s(root))
        for folder in FOLDERS.values():
            for target in TARGETS:
                _build(tree / folder, dist, target, environment)
    finally:
        os.umask(before)
    return sorted(dist.iterdir())


def _build(
    folder: Path, dist: Path, target: str, environment: Mapping[str, str]
) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", target]
    done = subprocess.run(
        [*command, "--directory", str(dist)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip() or done.stdout.strip() or "it said nothing"
        raise Refused(
            f"{folder.name} cannot be built: hatchling ended with the code "
            f"{done.returncode}: {said}"
        )


def sha256_of(file: Path) -> str:
    """Return the SHA-256 of a file, hexadecimal."""
    return hashlib.sha256(file.read_bytes()).hexdigest()
