"""The type of a number on the command line; click calls a word that is none "not a valid float range"."""

from __future__ import annotations

import math
import re
from typing import Any

import click

from lpirc_testsets.values import as_plain

_RANGE = re.compile(
    r"[\d.,]+\s*[:-][\d.:,\s]+|\d*\.\d+\s*,\s*\d*\.\d[\d.:,\s]*", re.ASCII
)
"""A comma may be that of 0,5: it parts two numbers if both have a point."""


class Number(click.FloatRange):
    """A number within limits. NaN is within none; click.FloatRange alone would accept it."""

    name = "float"

    unit = ""
    """What the number is in, for the sentence that refuses a word."""

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Return the number. Fails for what is none, and for one beyond the limits."""
        try:
            number = float(value)
        except (TypeError, ValueError):
            unit = self.unit and f"; its unit is {self.unit}"
            hint = f"{unit}{as_plain(str(value), self.unit)}"
            self.fail(f"{value!r} is not a number{hint}.", param, ctx)
        has_limits = self.min is not None or self.max is not None
        if has_limits and math.isnan(number):
            self.fail(
                f"{value} is not in the range {self._describe_range()}.", param, ctx
            )
        return super().convert(value, param, ctx)

    def _describe_range(self) -> str:
        """Return the limits as the help shows them; click writes "x<=None" where there are none."""
        has_limits = self.min is not None or self.max is not None
        return super()._describe_range() if has_limits else ""


class Threshold(Number):
    """An IoU threshold: one, where COCO's metric has ten."""

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Return the number. Fails for what is none, with the metric that a range means."""
        if _RANGE.fullmatch(str(value)):
            self.fail(
                f"{value!r} is not one threshold; for the mean over 0.5 to 0.95, write: --metric coco",
                param,
                ctx,
            )
        return super().convert(value, param, ctx)


class WattHours(Number):
    """An energy in Wh."""

    unit = "Wh"
