"""Arguments and options shared by several subcommands."""

from __future__ import annotations

import functools
import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import click

from lpirc_power.cli.given_units import as_plain
from lpirc_power.meter import CREST_FACTORS, ELEMENTS, MODES, SYNCHRONIZE, Setup

LONGEST_S: Final = 36_000_000.0
"""Longest time that the meter's integrator timer accepts, in seconds."""


class WholeNumber(click.IntRange):
    """Click type of a whole number within limits."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """Return the number. Fails for what is none, and for one beyond the limits."""
        try:
            int(value)
        except (TypeError, ValueError):
            port = re.fullmatch(r".*:(\d{1,5})/?", str(value))
            most = math.inf if self.max is None else self.max
            hint = f"; write {port[1]}" if port and int(port[1]) <= most else ""
            self.fail(f"{value!r} is not a whole number{hint}.", param, ctx)
        return super().convert(value, param, ctx)


class Figure(click.FloatRange):
    """Click type of a finite number above zero, or at least `least`; NaN and infinity are usage errors."""

    def __init__(
        self, unit: str, *, least: float | None = None, most: float | None = None
    ) -> None:
        super().__init__(min=least or 0.0, min_open=least is None, max=most)
        self.name = unit

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """Return the option's value as a number."""
        try:
            float(value)
        except (TypeError, ValueError):
            self.fail(
                f"{value!r} is not a number; its unit is {self.name}{as_plain(str(value), self.name)}.",
                param,
                ctx,
            )
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a usable number.", param, ctx)
        return number


class OutputFile(click.Path):
    """Click type of a file to write; a slash at the end means a folder, which a path would no longer show."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """Return the path. Fails for the name of a folder."""
        if str(value).endswith(("/", os.sep)):
            self.fail(
                f"{str(value)!r} ends as the name of a folder; name a file, in it or elsewhere.",
                param,
                ctx,
            )
        return super().convert(value, param, ctx)


def require_one(duration: float | None, command: Sequence[str]) -> None:
    """Raise a usage error if both a duration and a command are given."""
    if command and duration is not None:
        words = f"Give either --duration or a COMMAND, not both; {command[0]!r} was taken for a COMMAND"
        raise click.UsageError(f"{words}, since it is not the address of a meter.")


DURATION: Final = Figure("S", most=LONGEST_S)
address_argument: Final = click.argument("address")
json_option: Final = click.option(
    "--json", "as_json", is_flag=True, help="JSON on stdout."
)
element_option: Final = click.option(
    "--element",
    type=click.Choice(ELEMENTS),
    default="1",
    show_default=True,
    help="Input element, or the sum of all (WT332E, WT333E).",
)
_SETUP: Final = (
    click.option(
        "--voltage-range",
        "voltage_range_v",
        type=Figure("V"),
        help="Fixed voltage range in volts; default: automatic.",
    ),
    click.option(
        "--current-range",
        "current_range_a",
        type=Figure("A"),
        help="Fixed current range in amperes; default: automatic.",
    ),
    click.option(
        "--update",
        "update_interval_s",
        type=Figure("S"),
        default=0.25,
        show_default=True,
        help="Update interval in seconds: 0.1, 0.25, 0.5, 1, 2, 5; E models also 10 and 20.",
    ),
    click.option(
        "--mode",
        type=click.Choice(MODES),
        default="rms",
        show_default=True,
        help="How voltage and current are averaged; dc for a supply of direct current.",
    ),
    click.option(
        "--crest-factor",
        type=click.Choice([str(factor) for factor in CREST_FACTORS]),
        default="3",
        show_default=True,
        callback=lambda _ctx, _param, factor: int(factor),
        help="Crest factor: the largest peak that the meter measures, as a multiple of the range. "
        "With 6, all ranges are half as large.",
    ),
    click.option(
        "--line-filter",
        is_flag=True,
        help="Filter the measured signal to reduce noise; this changes the readings.",
    ),
    click.option(
        "--frequency-filter",
        is_flag=True,
        help="Filter only the signal whose zero crossings are detected.",
    ),
    click.option(
        "--sync",
        "synchronize",
        type=click.Choice(SYNCHRONIZE),
        default="voltage",
        show_default=True,
        help="Signal whose zero crossings delimit a period.",
    ),
    element_option,
    click.option(
        "--ambient-change",
        "ambient_change_c",
        type=Figure("C"),
        default=5.0,
        show_default=True,
        help="Largest change of the room temperature, in degrees C, since the zero level was compensated or a range "
        "was set. The stated drift of DC readings is computed from this change.",
    ),
)


def setup_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the measurement options to a command, which receives them as one argument `setup` without a timer."""

    @functools.wraps(command)
    def with_setup(*arguments: Any, **given: Any) -> None:
        values = {
            field.name: given.pop(field.name)
            for field in fields(Setup)
            if field.name in given
        }
        command(*arguments, setup=Setup(integrator_timer_s=0, **values), **given)

    for option in reversed(_SETUP):
        with_setup = option(with_setup)
    return with_setup
