"""Program messages taken apart: units, the path rule of headers, and patterns of headers (IM WT310E-17EN)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from power.simulator.refusals import RefusedError
from power.simulator.values import short_form

_HEADER: Final = re.compile(r"\*[A-Z]+|:?[A-Z][A-Z0-9]*(:[A-Z][A-Z0-9]*)*")


@dataclass(frozen=True)
class Unit:
    """One program message unit: header in capitals with a leading colon or star, query or not, data."""

    header: str
    query: bool
    data: tuple[str, ...]


def units(message: str) -> list[str]:
    """Return the units of a message, empty ones left out."""
    return [unit.strip() for unit in message.split(";") if unit.strip()]


def parse_unit(text: str, path: str) -> tuple[Unit, str]:
    """Return a unit and the path for the next one.

    A header with a leading colon starts at the root, one without starts at `path`, which is where the last
    header left off; a common command (`*IDN?`) leaves the path as it is. RefusedError 102 if there is no
    header.
    """
    head, *rest = text.split(None, 1)
    tail = rest[0] if rest else ""
    query = head.endswith("?")
    header = head.removesuffix("?").upper()
    if not head.isascii() or not _HEADER.fullmatch(header):
        raise RefusedError(102)
    data = tuple(part.strip() for part in tail.split(",")) if tail.strip() else ()
    if header.startswith("*"):
        return Unit(header, query, data), path
    full = header if header.startswith(":") else f"{path}:{header}"
    return Unit(full, query, data), full.rpartition(":")[0]


@dataclass(frozen=True)
class Pattern:
    """A header as manuals print it: `[:INPut]:VOLTage:RANGe`, `:NUMeric[:NORMal]:ITEM<n>`, `*IDN`."""

    text: str

    def compiled(self) -> re.Pattern[str]:
        """Return what matches a capital header in short and long forms; a group holds the number of `<n>`."""
        if self.text.startswith("*"):
            return re.compile(re.escape(self.text))
        return re.compile("".join(_node(*node) for node in self._nodes()))

    def spelled(self, verbose: bool, suffix: int | None) -> str:
        """Return the header of an answer, every node named."""
        nodes = []
        for name, numbered, _ in self._nodes():
            word = name.upper() if verbose else short_form(name)
            nodes.append(f":{word}{suffix if numbered else ''}")
        return "".join(nodes)

    def _nodes(self) -> list[tuple[str, bool, bool]]:
        found = re.findall(r"(\[?):([A-Za-z]+)(<n>)?", self.text)
        return [(name, bool(numbered), bool(optional)) for optional, name, numbered in found]


def _node(name: str, numbered: bool, optional: bool) -> str:
    words = f":(?:{name.upper()}|{short_form(name)})" + (r"(\d{1,9})" if numbered else "")
    return f"(?:{words})?" if optional else words
