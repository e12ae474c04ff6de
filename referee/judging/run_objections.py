"""What speaks against deciding on a run together with others; whoever decides on it all the same does so on it alone.

Works on the run documents of the contest's status. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Document = Mapping[str, Any]
OF_EVERY_RUN = "official-meter"
"""A warning that says nothing about a single run: it is the same for all runs at that meter, and marked everywhere."""


def objection(run: Document) -> str | None:
    """Return, as a clause, what a person should look at before the jury decides on this run; None without any.

    A review that stands covers the checks that failed: a person has looked at them.
    """
    if run["judging"]:
        return "it is being judged"
    if run["judge_failed"] is not None:
        return f"it could not be judged again: {_clause(run['judge_failed'])}"
    if run["judged_utc"] is None:
        return "its judgement is not current"
    if run["energy_lost"] is not None:
        return _clause(run["energy_lost"])
    failed = [
        one["code"] for one in run["failed_checks"] if one["code"] != OF_EVERY_RUN
    ]
    if failed and run["review"] is None:
        return f"{'in review' if run['needs_review'] else 'a warning'}: {', '.join(failed)}"
    if run["not_ranked"] is not None:
        return _clause(run["not_ranked"])
    if run["score"] is None:
        return "it has no score"
    return None


def with_objection(run: Document, energy_lost: str | None) -> dict[str, Any]:
    """Return a run's document with its lost energy and, if it waits for a decision, its `objection`."""
    known = {**run, "energy_lost": energy_lost}
    return known | {"objection": objection(known) if run["waits_for"] else None}


def _clause(sentence: str) -> str:
    return sentence.rstrip(".")
