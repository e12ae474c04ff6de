"""Where the version of the project stands. All places say the same; `write` changes them together."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.release.refusal import Refused
from tests.wheels.building import FOLDERS

FORM = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")


def numbers(version: str) -> tuple[int, int, int] | None:
    """Return the three numbers of a version, which sort as versions do; None if it is not one."""
    found = FORM.fullmatch(version)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


@dataclass(frozen=True)
class Place:
    """A line of a file that names the version: what stands before it, and after it."""

    file: str
    before: str
    after: str

    def pattern(self) -> re.Pattern[str]:
        """The line's pattern, whose group is the version."""
        before = re.escape(self.before)
        after = re.escape(self.after)
        return re.compile(rf"(?<={before})(\d[^\"\s\],\[]*)(?={after})")


CONSTANT: Final = 'VERSION = "'
CONSTANTS: Final = (
    "scoring/lpirc_score/metrics/evaluation_result.py",
    "client/verify_bundle.py",
    "client/verify_entry.py",
    "client/lpirc_client/verify_site.py",
)
"""Files that run without a distribution's metadata, or are copied alone."""


def places(root: Path) -> list[Place]:
    """Return every place, those of our distributions that ask for each other included."""
    found = [Place(file, f"\n{CONSTANT}", '"') for file in CONSTANTS]
    found.append(Place("CITATION.cff", "\nversion: ", "\n"))
    for folder in FOLDERS.values():
        file = f"{folder}/pyproject.toml"
        found.append(Place(file, '\nversion = "', '"'))
        asked = re.findall(
            r'"(lpirc-[a-z]+(?:\[[^]]*\])?==)[^"]*"',
            (root / file).read_text(),
        )
        found += [Place(file, f'"{one}', '"') for one in dict.fromkeys(asked)]
    return found


def versions(root: Path) -> dict[str, str]:
    """Return the version at each place, by file and what stands before it.

    Raises:
        Refused: a place is gone.
    """
    found = {}
    for place in places(root):
        text = (root / place.file).read_text()
        here = place.pattern().findall(text)
        if not here:
            raise Refused(
                f"{place.file} has no version after {place.before.strip()!r}: "
                "put it back, or change tests/release/version.py"
            )
        name = f"{place.file}: {place.before.strip()}"
        found[name] = " and ".join(dict.fromkeys(here))
    return found


def write(root: Path, version: str) -> list[str]:
    """Write the version into every place; return the files.

    Raises:
        Refused: it is not three numbers with points between them, or a place is gone.
    """
    if not FORM.fullmatch(version):
        raise Refused(f"{version} is not a version: write three numbers, such as 1.0.0")
    versions(root)
    for place in places(root):
        path = root / place.file
        path.write_text(place.pattern().sub(version, path.read_text()))
    return sorted({place.file for place in places(root)})
