"""`python docs/make/systems.py`: writes the tables of docs/systems.md from the locks and from what the index offers.

The index is the one that pip asks. Asked are locked packages alone, each once; a file counts if the lock has its hash.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Final

import requests
from packaging.markers import Marker
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "systems.md"
FIRST: Final = "<!-- tables: python docs/make/systems.py -->\n"
LAST: Final = "<!-- end of tables -->\n"
GLIBC_MINOR: Final = 36
"""Of Debian 12 and of Raspberry Pi OS from the same year."""
TARGETS: Final = {
    "x86-64": "x86_64",
    "aarch64": "aarch64",
    "32-bit ARM": "armv7l",
}
PYTHONS: Final = (
    (3, 11),
    (3, 12),
    (3, 13),
    (3, 14),
)
OLDER: Final = (
    (3, 8),
    (3, 9),
    (3, 10),
)
LOCKS: Final = {
    "requirements.lock": ("To run (`make setup`)", PYTHONS),
    "extras.lock": ("Extras (`make extras`)", PYTHONS),
    "client/oldest.lock": ("The client on older Pythons", OLDER),
}
ENTRY = re.compile(r"^([a-z0-9-]+)==(\S+)(?: ; ([^\\\n]+))?(.*\n(?:[ ].*\n)*)", re.M)
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
JSON: Final = "application/vnd.pypi.simple.v1+json"
TIMEOUT_S: Final = 60.0


@dataclass(frozen=True)
class Package:
    """An entry of a lock: where it is wanted, and the SHA-256 of its files."""

    name: str
    version: str
    marker: str
    hashes: frozenset[str]

    def is_wanted(self, python: tuple[int, int], machine: str) -> bool:
        """Return whether the lock installs it on that Python and machine, under Linux."""
        version = ".".join(map(str, python))
        there = {
            "python_version": version,
            "python_full_version": f"{version}.0",
            "platform_machine": machine,
            "platform_system": "Linux",
            "sys_platform": "linux",
            "platform_python_implementation": "CPython",
            "implementation_name": "cpython",
        }
        return not self.marker or Marker(self.marker).evaluate(there)


def packages(lock: str) -> list[Package]:
    """Return the entries of a lock of this project."""
    found = ENTRY.findall((ROOT / lock).read_text())
    listed = []
    for name, version, marker, rest in found:
        hashes = frozenset(HASH.findall(rest))
        listed.append(Package(name, version, marker.strip(), hashes))
    return listed


def tags(python: tuple[int, int], machine: str) -> frozenset[Tag]:
    """Return the tags of wheels that CPython takes there, on a system with glibc."""
    oldest = 17 if machine != "x86_64" else 5
    minors = range(GLIBC_MINOR, oldest - 1, -1)
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in minors]
    platforms.append(f"manylinux2014_{machine}")
    platforms.append(f"linux_{machine}")
    if machine == "x86_64":
        platforms.append("manylinux2010_x86_64")
        platforms.append("manylinux1_x86_64")
    major, minor = python
    interpreter = f"cp{major}{minor}"
    own = cpython_tags(python, abis=[interpreter], platforms=platforms)
    others = compatible_tags(python, interpreter, platforms)
    return frozenset(chain(own, others))


def wheels_for(
    package: Package, files: Iterable[str], pythons: Sequence[tuple[int, int]]
) -> dict[str, str]:
    """Return, by machine, the Pythons for which there is a wheel: "all", "3.11, 3.12", "none", or "" if unwanted."""
    held = [parse_wheel_filename(one)[3] for one in files if one.endswith(".whl")]
    told = {}
    for title, machine in TARGETS.items():
        wanted = [one for one in pythons if package.is_wanted(one, machine)]
        taken = {one: tags(one, machine) for one in wanted}
        having = [one for one in wanted if _fits(taken[one], held)]
        told[title] = _told(wanted, having)
    return told


def _fits(taken: frozenset[Tag], held: Iterable[frozenset[Tag]]) -> bool:
    return not all(map(taken.isdisjoint, held))


def _told(wanted: list[tuple[int, int]], having: list[tuple[int, int]]) -> str:
    if not wanted:
        return ""
    if not having:
        return "none"
    if having == wanted:
        return "all"
    named = [f"{major}.{minor}" for major, minor in having]
    return ", ".join(named)


def is_pure(files: Iterable[str]) -> bool:
    """Return whether one wheel fits every machine."""
    return any(one.endswith("-none-any.whl") for one in files)


def rows(
    listed: Iterable[Package],
    files: Mapping[Package, Sequence[str]],
    pythons: Sequence[tuple[int, int]],
) -> Iterator[str]:
    """Yield a row for each package with machine code."""
    for package in listed:
        held = files[package]
        if is_pure(held):
            continue
        told = wheels_for(package, held, pythons)
        if any(told.values()):
            cells = " | ".join(told[title] for title in TARGETS)
            yield f"| {package.name} {package.version} | {cells} |"


def _offered(package: Package, index: str, session: requests.Session) -> list[str]:
    """Ask the index for the names of the files whose hashes are in the lock."""
    answer = session.get(
        f"{index.rstrip('/')}/{package.name}/",
        headers={"Accept": JSON},
        timeout=TIMEOUT_S,
    )
    answer.raise_for_status()
    names = []
    for file in answer.json()["files"]:
        digest = file["hashes"].get("sha256")
        if digest in package.hashes:
            names.append(file["filename"])
    return names


def _index() -> str:
    """The index that pip asks here."""
    if set_here := os.environ.get("PIP_INDEX_URL"):
        return set_here
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own pip
    if said.returncode == 0:
        return said.stdout.strip()
    from pip._internal.models.index import PyPI

    return str(PyPI.simple_url)


def _table(lock: str, index: str, session: requests.Session) -> str:
    title, pythons = LOCKS[lock]
    listed = packages(lock)
    files = {one: _offered(one, index, session) for one in listed}
    pure = sum(map(is_pure, files.values()))
    if pure == len(listed):
        said = f"All {pure} packages of `{lock}` are pure Python and run everywhere."
        return f"### {title}\n\n{said}\n"
    said = f"{pure} of {len(listed)} packages of `{lock}` are pure Python and run everywhere. The others:"
    lines = [
        f"### {title}",
        "",
        said,
        "",
        f"| package | {' | '.join(TARGETS)} |",
        "|---|" + "---|" * len(TARGETS),
        *sorted(rows(listed, files, pythons)),
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Write the tables anew."""
    index = _index()
    with requests.Session() as session:
        tables = [_table(lock, index, session) for lock in LOCKS]
    day = datetime.now(UTC).date().isoformat()
    before, _, rest = PAGE.read_text().partition(FIRST)
    after = rest.partition(LAST)[2]
    dated = f"As the index had it on {day}.\n\n"
    PAGE.write_text(before + FIRST + "\n" + dated + "\n".join(tables) + LAST + after)


if __name__ == "__main__":
    main()
