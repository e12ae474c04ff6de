"""How many people a site can serve: the bytes of a first look and of a renewed one, and what a bandwidth allows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from referee.publishing.packed_pages import ENDING

HEADER_BYTES = 400
"""Of an answer, about; web servers differ."""
FIRST_LOOK = ("index.html", "style.css", "icon.svg", "times.js", "renew.js")
RENEWED = ("index.html",)
BITS = 8
MBIT = 10**6


@dataclass(frozen=True)
class Viewing:
    """Bytes that a browser loads for its first look, and each time that it renews the front page, packed by gzip."""

    first_bytes: int
    renewed_bytes: int

    def first_looks_a_second(self, mbit_s: float) -> int:
        """Return how many new viewers a second a bandwidth can serve."""
        bytes_s = mbit_s * MBIT / BITS
        return int(bytes_s / self.first_bytes)

    def viewers(self, mbit_s: float, every_s: float) -> int:
        """Return how many viewers, each renewing the page as often, a bandwidth can serve."""
        bytes_s = mbit_s * MBIT / BITS
        return int(bytes_s * every_s / self.renewed_bytes)


def viewing_of(folder: Path) -> Viewing:
    """Return what viewers load of the site in a folder."""
    first_bytes = _loaded(folder, FIRST_LOOK)
    renewed_bytes = _loaded(folder, RENEWED)
    return Viewing(first_bytes, renewed_bytes)


def _loaded(folder: Path, names: tuple[str, ...]) -> int:
    loaded = 0
    for name in names:
        file = folder / name
        packed = folder / f"{name}{ENDING}"
        for one in (packed, file):
            if one.is_file():
                loaded += one.stat().st_size + HEADER_BYTES
                break
    return loaded
