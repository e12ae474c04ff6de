"""A meter's limits of error as a bundle states them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from lpirc_power.meter import Drift, Limits
from lpirc_power.own_term import OwnTerm


def stated_limits(limits: Limits | None, *, has_budget: bool) -> dict[str, Any] | None:
    """Return limits for a bundle; own terms and an age, unknown to earlier programs, only beside a budget."""
    if limits is None:
        return None
    stated = asdict(limits)
    if not (has_budget and limits.own):
        del stated["own"]
    if not has_budget or limits.age_s is None:
        del stated["age_s"]
    return stated


def read_limits(row: Mapping[str, Any] | None) -> Limits | None:
    """Return the limits of a bundle; a format before 2 states no drift, and most drivers no terms of their own."""
    if not row:
        return None
    drift = row.get("drift")
    read = {
        "drift": Drift(**drift) if drift else None,
        "own": tuple(OwnTerm(**one) for one in row.get("own", ())),
    }
    return Limits(**(dict(row) | read))
