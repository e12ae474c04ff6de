"""Types of numbers on the command line; click calls a word that is none "not a valid integer range"."""

from __future__ import annotations

from typing import Any

import click


class WholeNumber(click.IntRange):
    """A whole number within limits."""

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
            self.fail(f"{value!r} is not a whole number.", param, ctx)
        return super().convert(value, param, ctx)


class RunNumber(WholeNumber):
    """The number of a run, as the database may have it."""

    def __init__(self) -> None:
        super().__init__(1, 2**63 - 1)

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        """Return the number. Fails with a hint at the list of runs."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            words = "is not the number of a run, such as 1; see: referee run list"
            self.fail(f"{value!r} {words}", param, ctx)
