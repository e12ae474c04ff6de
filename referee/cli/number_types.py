"""Types of numbers on the command line; click calls a word that is none "not a valid integer range"."""

from __future__ import annotations

import os.path
import re
import shlex
from pathlib import Path
from typing import Any

import click

from lpirc_score.cli.number_type import Number
from referee.cli.usage_advice import CONTEST, is_test_set, needed_options
from referee.given_units import as_number, of_unit, too_high, unit_of
from referee.presence import is_file

ALL = "--all"
SECONDS = "any_s"
"""A key whose unit is seconds."""


class WholeNumber(click.IntRange):
    """A whole number within limits; an option that is called like a key, as window_s, has the unit of that."""

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Return the number. Fails for what is none, and for one beyond the limits."""
        try:
            int(value)
        except (TypeError, ValueError):
            self.fail(_not_a("whole number", value, _key(param)), param, ctx)
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            unit = unit_of(_key(param))
            self.fail(f"{value} {self._limits()}{unit and f' {unit}'}.", param, ctx)

    def _describe_range(self) -> str:
        """Return the limits as the help shows them; click writes "x<=None" where there are none."""
        has_limits = self.min is not None or self.max is not None
        return super()._describe_range() if has_limits else ""

    def _limits(self) -> str:
        """Return what a number must be, as the end of a sentence that begins with it."""
        if self.max is None:
            return f"must be {self.min} or more"
        return f"must lie between {self.min} and {self.max}"


def _key(param: click.Parameter | None) -> str:
    return (param and param.name) or ""


def _not_a(kind: str, value: Any, key: str) -> str:
    """Return the sentence for a value that is no number, with its unit and, if it is written with one, its number."""
    as_plain = as_number(key, value)
    if "whole" in kind and re.search(r"\.\d+$", as_plain):
        as_plain = ""
    return f"{value!r} is not a {kind}{of_unit(key)}{as_plain}."


class RealNumber(Number):
    """A number within limits, of seconds where the option is one of seconds, whatever it is called."""

    def __init__(
        self,
        least: float | None = None,
        most: float | None = None,
        *,
        is_seconds: bool = False,
    ) -> None:
        super().__init__(least, most)
        self._is_seconds = is_seconds

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Return the number. Fails for what is none, and for one beyond the limits."""
        try:
            float(value)
        except (TypeError, ValueError):
            key = SECONDS if self._is_seconds else _key(param)
            self.fail(_not_a("number", value, key), param, ctx)
        return super().convert(value, param, ctx)


class Accuracy(RealNumber):
    """The least accuracy of a ranked run: a share below 1, since by 1 no run would be ranked."""

    def __init__(self) -> None:
        super().__init__(0, 1)

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Return the share. Fails for 1, and for what is above it: per cent, perhaps."""
        try:
            share = super().convert(value, param, ctx)
        except click.BadParameter:
            advice = too_high(value)
            if not advice:
                raise
            self.fail(advice, param, ctx)
        if advice := too_high(share):
            self.fail(advice, param, ctx)
        return share


class ImageCount(WholeNumber):
    """The size of the synthetic set; a folder of images is given otherwise."""

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Return the number. Fails for what is none, with the option for a folder."""
        folder = str(value)
        is_number = re.fullmatch(r"\s*\d+\s*", folder) is not None
        if not is_number and os.path.isdir(folder):  # noqa: PTH112 - the same on every Python
            advice = "--testset takes the folder of a test set"
            if is_test_set(folder):
                own = f"referee rehearse --testset {shlex.quote(folder)}"
                advice = f"for a test set of your own, write: {own}"
            self.fail(f"{folder!r} is a folder, not a number; {advice}", param, ctx)
        return super().convert(value, param, ctx)


class RunNumber(WholeNumber):
    """The number of a run, or of something else that a command lists, as the database may have it."""

    def __init__(self, what: str = "run", listed_by: str = "referee run list") -> None:
        super().__init__(1, 2**63 - 1)
        self._what = what
        self._listed_by = listed_by

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Return the number. Fails with a hint at the list of runs, and at the option for all of them."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            # The settings need NumPy, which a command that is right may not need.
            from referee.config import CONFIG_NAME

            words = f"is not the number of a {self._what}, such as 1; see: {self._listed_by}"
            known = [] if ctx is None else ctx.command.params
            is_all = str(value).strip().casefold() in ("all", "*")
            takes = {name for one in known for name in one.opts}
            if ctx is not None and is_all and ALL in takes:
                words = f"is not the number of a run; for all: {ctx.command_path} {ALL}"
            elif (
                ctx is not None
                and CONTEST in takes
                and is_file(Path(value, CONFIG_NAME))
            ):
                numbers = [
                    one.make_metavar(ctx)
                    for one in known
                    if isinstance(one, click.Argument)
                ]
                which = [ALL] if ALL in takes else numbers
                form = " ".join([ctx.command_path, *which, *needed_options(ctx)])
                contest = f"{CONTEST} {shlex.quote(value)}"
                words = f"is a contest's folder; write: {form} {contest}"
            self.fail(f"{value!r} {words}", param, ctx)
