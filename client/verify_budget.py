"""Computes the sums of an energy's uncertainty budget from its terms. Written from docs/bundle.md alone."""

from __future__ import annotations

import math
from typing import Any

from verify_formats import need

Fields = dict[str, Any]

NEARLY = 1e-9
"""Largest difference between two figures, relative to them, that is rounding."""

SUMS = (
    "combined_wh",
    "shared_wh",
    "own_wh",
    "expanded_wh",
    "guaranteed_wh",
)

FIELDS = {
    "energy_wh", "combined_wh", "shared_wh", "own_wh", "expanded_wh", "coverage_wh", "coverage_factor", "level",
    "guaranteed_wh", "unknown", "terms",
}  # fmt: skip
"""Every field of a budget."""

TERM_FIELDS = {
    "code", "name", "half_width", "unit", "distribution", "sensitivity_wh", "source", "freedom", "is_shared", "profile",
    "group", "is_guaranteed", "standard_wh", "limit_wh", "share",
}  # fmt: skip
"""Every field of a term."""

WORDS = ("code", "name", "unit", "source", "group")
"""The fields of a term that are text."""


def check_budget(result: Fields, version: int) -> None:
    """Check that the sums of a result's budget follow from its terms, and the interval's uncertainty from the sums.

    The terms themselves are taken as they are stated.
    """
    budget = result.get("energy_budget")
    need(
        (budget is not None) == (version >= 6),
        "result.json has no energy_budget, or has one in an earlier format",
    )
    if budget is None:
        return
    need(
        budget["energy_wh"] == result["energy_wh"],
        "the energy_budget is not of the energy of the result",
    )
    _need_fields("the energy_budget", budget, FIELDS)
    for term in budget["terms"]:
        _need_fields(f"the term {term['code']}", term, TERM_FIELDS)
        for name in WORDS:
            need(
                isinstance(term[name], str),
                f"{name} of the term {term['code']} is not text",
            )
        _check_term(term)
    found = _sums(budget["terms"])
    for name in SUMS:
        _need_near(f"{name} of the energy_budget", budget[name], found[name])
    _check_uncertainty(result, found["combined_wh"])
    if found["guaranteed_wh"] is not None:
        limit = result["energy_limit"]
        limit_wh = None if limit is None else limit * abs(result["energy_wh"])
        if limit_wh is None or found["guaranteed_wh"] < limit_wh:
            # It may be above: start and stop are at the largest power, which the limit has at the mean one.
            _need_near("the guaranteed limit", found["guaranteed_wh"], limit_wh)


def _need_fields(whose: str, stated: Fields, known: set[str]) -> None:
    """Raise Wrong unless the fields are those of the format, so that no note stands beside them."""
    other = ", ".join(sorted({*stated} ^ known))
    need(not other, f"{whose} has too many or too few of the fields: {other}")


def _check_term(term: Fields) -> None:
    """Check the standard uncertainty and the limit of a term."""
    width = term["half_width"]
    standard = None
    limit = None
    if width is not None:
        size = abs(term["sensitivity_wh"]) * width
        kind = term["distribution"]
        squares = [each * each for each in term["profile"]]
        spread = math.sqrt(math.fsum(squares) / len(squares))
        divisors = {
            "rectangular": math.sqrt(3),
            "triangular": math.sqrt(6),
            "mixed": math.sqrt(3) / spread,
            "two-point": 1 / spread,
            "normal": 1.0,
            "student": 1.0,
        }
        need(kind in divisors, f"a term has the unknown distribution {kind!r}")
        standard = size / divisors[kind]
        limit = size
        if kind in ("normal", "student"):
            limit = 2 * size
        if kind in ("mixed", "two-point"):
            limit = size * max(1.0, *term["profile"])
    _need_near(f"standard_wh of {term['code']}", term["standard_wh"], standard)
    _need_near(f"limit_wh of {term['code']}", term["limit_wh"], limit)


def _sums(terms: list[Fields]) -> dict[str, float | None]:
    """Return the sums over all terms; None if one of the terms is unknown."""
    is_known = terms != [] and all(each["half_width"] is not None for each in terms)
    if not is_known:
        return dict.fromkeys(SUMS)
    combined = _combined(terms)
    return {
        "combined_wh": combined,
        "shared_wh": _combined([each for each in terms if each["is_shared"]]),
        "own_wh": _combined([each for each in terms if not each["is_shared"]]),
        "expanded_wh": 2 * combined,
        "guaranteed_wh": math.fsum(
            each["limit_wh"] for each in terms if each["is_guaranteed"]
        ),
    }


def _combined(terms: list[Fields]) -> float:
    """Return the root of the sum of squares; terms of one group are added first."""
    groups: dict[str, float] = {}
    for place, term in enumerate(terms):
        name = term["group"] or f"term {place}"
        groups[name] = groups.get(name, 0.0) + term["standard_wh"]
    return math.sqrt(math.fsum(each * each for each in groups.values()))


def _check_uncertainty(result: Fields, combined: float | None) -> None:
    """Check the uncertainty of the energy that the interval of the score is made with."""
    interval = result["interval"]
    if interval is None:
        return
    expected = None
    limit = result["energy_limit"]
    if combined is not None and limit is not None and limit < 1:
        relative = math.sqrt(3) * combined / abs(result["energy_wh"])
        expected = relative if relative < 1 else None
    _need_near(
        "energy_uncertainty of the interval",
        interval["energy_uncertainty"],
        expected,
    )


def _need_near(what: str, stated: float | None, expected: float | None) -> None:
    """Raise Wrong unless two figures are the same but for rounding."""
    is_near = stated is expected
    if stated is not None and expected is not None:
        is_near = math.isclose(stated, expected, rel_tol=NEARLY)
    need(is_near, f"{what} is stated as {stated}, but it is {expected}")
