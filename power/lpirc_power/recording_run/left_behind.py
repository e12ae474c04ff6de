"""Processes that a measured program has started, and that go on after its end."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lpirc_power.listed import listed

_log: Final = logging.getLogger(__name__)

PROCESSES: Final = Path("/proc")
MOST_NAMED: Final = 3


@dataclass(frozen=True)
class Process:
    """A process by its number and the name of its program."""

    number: int
    name: str


def warn_of_those_left(variable: str, value: str) -> None:
    """Warn of processes that inherited an environment variable with this value, which no other program was given."""
    left = sorted(_with_variable(variable, value), key=lambda one: one.number)
    if not left:
        return
    named = [f"{one.number} {one.name}" for one in left]
    _log.warning(
        "COMMAND has ended, but what it started goes on (process %s): its work since then is not in this energy, and "
        "may disturb the next measurement. Let COMMAND wait for what it starts.",
        listed(named, MOST_NAMED),
    )


def _with_variable(variable: str, value: str) -> Iterator[Process]:
    """Yield the processes of this user with the variable; none where the system does not show them."""
    wanted = os.fsencode(f"{variable}={value}")
    with contextlib.suppress(OSError):
        for place in PROCESSES.iterdir():
            if not place.name.isdecimal():
                continue
            with contextlib.suppress(OSError):
                if wanted in (place / "environ").read_bytes().split(b"\0"):
                    name = (place / "comm").read_text(errors="replace").strip()
                    yield Process(int(place.name), name)
