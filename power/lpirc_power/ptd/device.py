"""What the harness's configuration says of an analyzer: its device type, channels, and how it is connected. Pure.

The numbers are those of the harness (mlcommons/power-dev: server.py and compliance/check.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from lpirc_power.channels import joined
from lpirc_power.errors import MeterError
from lpirc_power.meter import ALL_ELEMENTS

SINGLE: Final = ("49", "52")
COUNTED: Final = "48"
"""Multichannel type whose one number is how many channels there are, counted from the first."""
MULTICHANNEL: Final = (COUNTED, "59", "61", "77")
DC: Final = ("549", "586")
TYPES: Final = (*SINGLE, *MULTICHANNEL, *DC)


@dataclass(frozen=True)
class Device:
    """The input elements to serve: all of `elements` as channels, or a single one; `is_dc` for direct current.

    `numbers` has the channel's number of each element: an element's place among those of its meter, from 1.
    """

    elements: tuple[str, ...]
    numbers: tuple[int, ...]
    is_multichannel: bool = False
    is_dc: bool = False

    @property
    def element(self) -> str:
        """The element of a setup that measures all channels."""
        return joined(self.elements)

    def name(self, maker: str, model: str) -> str:
        """Return the name under which the harness knows the meter: a WT333E is a YokogawaWT330E."""
        family = re.sub(r"(WT3[13])\d(E?).*", r"\g<1>0\2", model)
        if self.is_multichannel:
            family = f"{family.removesuffix('E')}_multichannel"
        elif self.is_dc:
            family = f"{family.removesuffix('E')}_DC"
        return maker.title() + family


@dataclass(frozen=True)
class Wanted:
    """The channels that were asked for, before the meter is known; `first` counts from 1, `count` None: one alone."""

    element: str | None = None
    first: int = 1
    count: int | None = None
    is_dc: bool = False

    def of_meter(self, model: str, elements: Sequence[str]) -> Device:
        """Return the device for a meter with these elements; MeterError `ptd-channels` if it has fewer channels."""
        if self.element is not None:
            return Device((self.element,), (1,), is_dc=self.is_dc)
        known = [one for one in elements if one != ALL_ELEMENTS] or ["1"]
        last = self.first + (self.count or 1) - 1
        if last > len(known):
            channels = (
                "channel 1 only" if len(known) == 1 else f"channels 1 to {len(known)}"
            )
            raise MeterError(
                "ptd-channels",
                f"-c asks for channel {last}, but a {model} has {channels}; change `channel` in server.conf.",
            )
        numbers = tuple(range(self.first, last + 1))
        chosen = tuple(known[number - 1] for number in numbers)
        return Device(chosen, numbers, self.count is not None, self.is_dc)


def wanted(
    kind: str | None, channels: str | None, element: str | None, *, is_dc: bool
) -> Wanted:
    """Return the channels that a device type and the option -c ask for.

    As in the harness, -c has two numbers for a multichannel type, the first channel and how many; one number for type
    48, how many; and one number, the channel, for any other type. MeterError `ptd-channels` for anything else.
    """
    is_dc = is_dc or kind in DC
    if channels is None:
        if kind in MULTICHANNEL:
            raise _wrong(
                f"Type {kind} is a multichannel device: -c must say which channels, as in `-c 1,2`."
            )
        return Wanted(element or "1", is_dc=is_dc)
    if element is not None:
        raise _wrong("-c and --element both choose the input; give one of them.")
    numbers = _numbers(channels)
    if kind == COUNTED and len(numbers) == 1:
        return Wanted(None, 1, numbers[0], is_dc)
    if len(numbers) == 2 and kind not in (COUNTED, *SINGLE):
        return Wanted(None, numbers[0], numbers[1], is_dc)
    if len(numbers) == 1 and kind not in MULTICHANNEL:
        return Wanted(None, numbers[0], None, is_dc)
    right = "two numbers, the first channel and how many"
    if kind == COUNTED:
        right = "one number, how many channels"
    elif kind in SINGLE:
        right = "one number, the channel, or type 77 for several"
    raise _wrong(f"-c {channels} does not suit device type {kind}: it takes {right}.")


def address_of(port: str, interface: str | None, board: int | None) -> str:
    """Return the VISA address of a `devicePort`: -n is a network host, -g a GPIB address, none a whole address."""
    if interface == "n":
        return f"TCPIP::{port}::INSTR"
    if interface == "g":
        return f"GPIB{board or 0}::{port}::INSTR"
    return port


def _numbers(channels: str) -> list[int]:
    parts = [part.strip() for part in channels.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise _wrong(
            f"-c {channels!r} must be one or two whole numbers from 1, as in `-c 1,2`."
        )
    return [int(part) for part in parts]


def _wrong(sentence: str) -> MeterError:
    return MeterError("ptd-channels", sentence)
