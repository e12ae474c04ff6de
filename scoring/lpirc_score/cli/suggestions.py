"""The names that click suggests for a misspelt command or option."""

from __future__ import annotations

import click

from lpirc_testsets.close_names import closest


def drop_misleading(error: click.UsageError) -> None:
    """Remove suggestions of which the given name cannot be a slip: click offers `--mode` for `--name`."""
    suggested = getattr(error, "possibilities", None) or []
    name = getattr(error, "option_name", "") or getattr(error, "command_name", "")
    meant = [one for one in suggested if closest(name, [one]) is not None]
    if suggested:
        vars(error)["possibilities"] = meant
