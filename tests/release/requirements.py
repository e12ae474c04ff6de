"""The requirements of a release: what pip installs by hash, ours beside the file and all others as locked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name, parse_wheel_filename

from tests.release.building import sha256_of

NAME = "requirements.txt"
LOCKS = ("requirements.lock", "extras.lock")
ENTRY = re.compile(r"^([a-z0-9-]+)==(\S+)(.*\n(?:[ ].*\n)*)", re.MULTILINE)
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
HEAD = """\
# Installs the release with everything it needs, each file by its hash. In the folder of the release:
#   python3 -m venv ~/lpirc && ~/lpirc/bin/pip install --require-hashes -r requirements.txt
"""


@dataclass(frozen=True)
class Locked:
    """A package of a lock, with the SHA-256 of each of its files."""

    name: str
    version: str
    hashes: tuple[str, ...]
    is_optional: bool


def locked(root: Path) -> list[Locked]:
    """Return the packages that running needs, then those of the extras, each once."""
    found: dict[tuple[str, str], Locked] = {}
    for lock in LOCKS:
        for name, version, rest in ENTRY.findall((root / lock).read_text()):
            hashes = tuple(HASH.findall(rest))
            one = Locked(name, version, hashes, lock != LOCKS[0])
            found.setdefault((name, version), one)
    return [*found.values()]


def requirements_text(root: Path, files: Sequence[Path]) -> str:
    """Return the text of the file for these wheels of ours."""
    wheels = [one for one in files if one.suffix == ".whl"]
    ours = [f"./{one.name} --hash=sha256:{sha256_of(one)}\n" for one in wheels]
    return HEAD + "".join(ours) + (root / LOCKS[0]).read_text()


def name_and_version(wheel: Path) -> tuple[str, str]:
    """Return what the name of a wheel says."""
    name, version, *_ = parse_wheel_filename(wheel.name)
    return canonicalize_name(name), str(version)
