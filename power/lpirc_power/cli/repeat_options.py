"""Options of `meter record` for a measurement as laboratories make it: warm-up, attempts, cool-down."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import click

from lpirc_power.cli.options import LONGEST_S, Figure, WholeNumber
from lpirc_power.recording_run.recorder import Order
from lpirc_power.recording_run.series_run import LEAST_TO_END, MOST_STABLE, SeriesOrder

MOST_ATTEMPTS: Final = 1000
_ATTEMPTS: Final[click.ParamType[Any]] = WholeNumber(0, MOST_ATTEMPTS)
_PERCENT: Final = Figure("PERCENT", most=100.0)


@dataclass(frozen=True)
class WarmUp:
    """A warm-up: a number of attempts that do not count, or seconds between arming and start."""

    attempts: int = 0
    seconds: float = 0.0


class _WarmUp(click.ParamType[WarmUp]):
    name = "warm-up"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> WarmUp:
        """Return 3 as three attempts, and 60s as sixty seconds."""
        if isinstance(value, WarmUp):
            return value
        text = str(value).strip()
        if text.endswith("s"):
            return WarmUp(
                seconds=Figure("S", most=LONGEST_S).convert(text[:-1], param, ctx)
            )
        if not text.lstrip("+-").isdecimal():
            forms = (
                "a number of attempts, such as 2, nor a time in seconds, such as 60s"
            )
            self.fail(f"{text!r} is neither {forms}.", param, ctx)
        return WarmUp(attempts=_ATTEMPTS.convert(text, param, ctx))


class _Percent(click.ParamType[float]):
    name = "PERCENT%"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return 1% as 0.01."""
        text = str(value).strip()
        if not text.endswith("%"):
            self.fail(f"{text} has no %; write for example 1%.", param, ctx)
        percent: float = _PERCENT.convert(text[:-1], param, ctx)
        return percent / 100.0


@dataclass(frozen=True)
class Repeats:
    """What the options say; `attempts` is None if no number was given."""

    attempts: int | None
    warm_up: WarmUp
    cool_down_s: float
    stable: float | None

    @property
    def are_several(self) -> bool:
        """True for a series."""
        return bool(self.attempts or self.stable or self.warm_up.attempts)

    @property
    def warm_up_s(self) -> float:
        """The pause between arming and start."""
        return self.warm_up.seconds

    def require_end(self, duration_s: float | None, command: Sequence[str]) -> None:
        """Raise a usage error for attempts that do not end by themselves, or are too few for what is asked."""
        if self.are_several and not command and duration_s is None:
            raise click.UsageError(
                "Each attempt of a series needs an end: give a COMMAND or --duration."
            )
        if self.cool_down_s and not self.are_several:
            raise click.UsageError(
                "--cool-down is a pause between attempts: give --repeat or --until-stable."
            )

        if self.stable and self.attempts and self.attempts < LEAST_TO_END:
            raise click.UsageError(
                f"--until-stable takes {LEAST_TO_END} attempts or more, and --repeat {self.attempts} allows no more "
                f"than {self.attempts}: give --repeat {LEAST_TO_END} or a larger number, or leave it out."
            )

    def of(self, order: Order) -> SeriesOrder:
        """Return the series of an order."""
        attempts = self.attempts or (1 if self.stable is None else MOST_STABLE)
        return SeriesOrder(
            order, attempts, self.warm_up.attempts, self.stable, self.cool_down_s
        )


_OPTIONS: Final = (
    click.option(
        "--repeat",
        "attempts",
        type=WholeNumber(1, MOST_ATTEMPTS),
        help="Make this many attempts; their mean, deviation and interval are the result.",
        metavar="N",
    ),
    click.option(
        "--until-stable",
        "stable",
        type=_Percent(),
        help="Make attempts until the interval of their mean is within this part of it, such as 1%, three times in "
        f"a row: at least {LEAST_TO_END}, and at most those of --repeat, by default {MOST_STABLE}.",
    ),
    click.option(
        "--warm-up",
        "warm_up",
        type=_WarmUp(),
        default="0",
        metavar="N|SECONDSs",
        help="First make N attempts that do not count; or, with an s as in 60s, wait between arming and start.",
    ),
    click.option(
        "--cool-down",
        "cool_down_s",
        type=Figure("S", least=0.0, most=LONGEST_S),
        default=0.0,
        help="Pause between two attempts, in seconds.",
    ),
)


def repeat_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to a command, which receives them as one argument `repeats`."""

    @functools.wraps(command)
    def with_repeats(*arguments: Any, **given: Any) -> None:
        names = ("attempts", "warm_up", "cool_down_s", "stable")
        repeats = Repeats(**{name: given.pop(name) for name in names})
        command(*arguments, repeats=repeats, **given)

    for option in reversed(_OPTIONS):
        with_repeats = option(with_repeats)
    return with_repeats
