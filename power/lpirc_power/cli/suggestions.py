"""The commands and options that a misspelt one may mean."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

import click

LEAST_LIKENESS = 0.75
"""The likeness, from 0 to 1, of a slip to what was meant: one wrong letter of four. Below it, a guess misleads."""


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name of which this one may be a slip, or None; the dashes of an option do not count."""
    plain = {one.lstrip("-"): one for one in known}
    found = get_close_matches(name.lstrip("-"), plain, n=1, cutoff=LEAST_LIKENESS)
    return plain[found[0]] if found else None


def drop_misleading(error: click.UsageError) -> None:
    """Remove suggestions of which the given name cannot be a slip: click offers `--mode` for `--name`."""
    suggested = getattr(error, "possibilities", None) or []
    name = getattr(error, "option_name", None) or ""
    meant = [one for one in suggested if closest(name, [one]) is not None]
    if suggested:
        vars(error)["possibilities"] = meant
