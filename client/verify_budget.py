"""Computes the sums of an energy's uncertainty budget from its terms. Written from docs/bundle.md alone."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

from verify_formats import NotChecked, need

Fields = dict[str, Any]

WITH_BUDGET = 6
"""The first format whose results have a budget."""

BUDGET_VERSION = 1
"""The newest rules of a budget that this file knows."""

NEARLY = 1e-9
"""Largest difference between two figures, relative to them, that is rounding."""

SUMS = (
    "combined_wh",
    "shared_wh",
    "own_wh",
    "expanded_wh",
    "guaranteed_wh",
)

LEVEL = math.erf(math.sqrt(2))
"""The chance with which `coverage_wh` holds the energy."""

OF_AC_OR_DC = r"( power-factor|( zero-drift-voltage zero-drift-current)?)"
OF_METER = rf"reading( line-filter)? range( crest-factor)?{OF_AC_OR_DC}( \S+)*"
OTHERS = r"start-stop( age)? gaps resolution-wh resolution-time( ended)?"
ORDER = re.compile(rf"({OF_METER}|\S+) {OTHERS}")
"""The codes of the terms, in their order; one code alone stands for a meter whose limit is unknown."""

Kind = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_truth_value(value: Any) -> bool:
    return isinstance(value, bool)


def _is_version(value: Any) -> bool:
    return type(value) is int and value >= 1


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _is_number_or_null(value: Any) -> bool:
    return value is None or _is_number(value)


def _is_size_or_null(value: Any) -> bool:
    return value is None or (_is_number(value) and value >= 0)


def _is_profile(value: Any) -> bool:
    is_list = isinstance(value, list) and value != []
    return is_list and all(map(_is_number, value)) and min(value) >= 0 < max(value)


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


FIELDS: dict[str, Kind] = {
    "version": _is_version,
    "energy_wh": _is_number_or_null,
    "combined_wh": _is_size_or_null,
    "shared_wh": _is_size_or_null,
    "own_wh": _is_size_or_null,
    "expanded_wh": _is_size_or_null,
    "coverage_wh": _is_size_or_null,
    "coverage_factor": _is_size_or_null,
    "level": _is_number,
    "guaranteed_wh": _is_size_or_null,
    "unknown": lambda value: value is None or (_is_text(value) and value != ""),
    "terms": _is_list_of_objects,
}
"""Every field of a budget, and what its values are."""

TERM_FIELDS: dict[str, Kind] = {
    "code": _is_text,
    "name": _is_text,
    "half_width": _is_size_or_null,
    "unit": _is_text,
    "distribution": _is_text,
    "sensitivity_wh": _is_number_or_null,
    "source": _is_text,
    "freedom": _is_size_or_null,
    "is_shared": _is_truth_value,
    "profile": _is_profile,
    "group": _is_text,
    "is_guaranteed": _is_truth_value,
    "standard_wh": _is_size_or_null,
    "limit_wh": _is_size_or_null,
    "share": _is_size_or_null,
}
"""Every field of a term, and what its values are."""


def check_budget(result: Fields, version: int) -> None:
    """Check that the figures of a result's budget follow from its terms, and the interval's uncertainty from these.

    The terms themselves are taken as they are stated, and so is what they cover. Raises NotChecked for a budget by
    later rules.
    """
    budget = result.get("energy_budget")
    need(
        (budget is not None) == (version >= WITH_BUDGET),
        "result.json has no energy_budget, or has one in an earlier format",
    )
    if budget is None:
        return
    need(isinstance(budget, dict), "the energy_budget is not an object of JSON")
    rules = budget.get("version")
    if _is_version(rules) and rules > BUDGET_VERSION:
        raise NotChecked("its energy_budget is by later rules: use a newer verifier")
    _need_fields("the energy_budget", budget, FIELDS)
    need(
        budget["energy_wh"] == result["energy_wh"],
        "the energy_budget is not of the energy of the result",
    )
    terms = budget["terms"]
    for place, term in enumerate(terms, start=1):
        _need_fields(f"the term {term.get('code', place)}", term, TERM_FIELDS)
        _check_term(term)
    codes = " ".join(each["code"] for each in terms)
    need(
        ORDER.fullmatch(codes) is not None,
        f"the terms of the energy_budget are not those of the format, or not in its order: {codes}",
    )
    found = _sums(terms)
    for name in SUMS:
        _need_near(f"{name} of the energy_budget", budget[name], found[name])
    _check_cover(budget, found["combined_wh"])
    for term in terms:
        share = _share(term, terms, found["combined_wh"])
        _need_near(f"share of {term['code']}", term["share"], share)
    _check_uncertainty(result, found["combined_wh"])
    _check_guaranteed(result, found["guaranteed_wh"])


def _need_fields(whose: str, stated: Fields, known: dict[str, Kind]) -> None:
    """Raise Wrong unless the fields are those of the format, so that no note stands beside them, and their kinds."""
    other = ", ".join(sorted({*stated} ^ {*known}))
    need(not other, f"{whose} has too many or too few of the fields: {other}")
    for name, is_right in known.items():
        value = stated[name]
        need(is_right(value), f"{name} of {whose} cannot be {json.dumps(value):.60}")


def _check_term(term: Fields) -> None:
    """Check the standard uncertainty and the limit of a term."""
    code = term["code"]
    width = term["half_width"]
    need(
        (width is None) == (term["sensitivity_wh"] is None),
        f"of half_width and sensitivity_wh of {code} one alone is null",
    )
    need(
        (term["freedom"] is None) == (term["distribution"] != "student"),
        f"freedom of {code} does not go with its distribution",
    )
    standard = None
    limit = None
    if width is not None:
        size = abs(term["sensitivity_wh"]) * width
        kind = term["distribution"]
        squares = [each * each for each in term["profile"]]
        spread = math.sqrt(math.fsum(squares) / len(squares))
        divisors = {
            "rectangular": math.sqrt(3),
            "mixed": math.sqrt(3) / spread,
            "two-point": 1 / spread,
            "student": 1.0,
        }
        need(kind in divisors, f"{code} has the unknown distribution {kind!r}")
        standard = size / divisors[kind]
        limit = size
        if kind == "student":
            limit = 2 * size
        if kind in ("mixed", "two-point"):
            limit = size * max(1.0, *term["profile"])
    _need_near(f"standard_wh of {code}", term["standard_wh"], standard)
    _need_near(f"limit_wh of {code}", term["limit_wh"], limit)


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


def _share(term: Fields, terms: list[Fields], combined: float | None) -> float | None:
    """Return a term's part of the variance; a term of a group takes its part of what the group adds up to."""
    if not combined or term["standard_wh"] is None:
        return None
    fellows = [term]
    if term["group"]:
        fellows = [each for each in terms if each["group"] == term["group"]]
    added = math.fsum(each["standard_wh"] for each in fellows)
    return float(term["standard_wh"] * added / (combined * combined))


def _check_cover(budget: Fields, combined: float | None) -> None:
    """Check what goes with the stated interval, whose half-width itself is not computed here."""
    cover = budget["coverage_wh"]
    need(
        (cover is None) == (combined is None) == (budget["unknown"] is not None),
        "the energy_budget has a figure of an unknown uncertainty, or none of a known one",
    )
    factor = cover / combined if combined else None
    _need_near(
        "coverage_factor of the energy_budget", budget["coverage_factor"], factor
    )
    _need_near("level of the energy_budget", budget["level"], LEVEL)


def _check_guaranteed(result: Fields, guaranteed: float | None) -> None:
    """Check that the guaranteed limit is that of the energy, or above it.

    It is above where the power varied: start and stop are at the largest power, which the limit has at the mean one.
    """
    if guaranteed is None:
        return
    limit = result["energy_limit"]
    limit_wh = None if limit is None else limit * abs(result["energy_wh"])
    if limit_wh is None or guaranteed < limit_wh:
        _need_near("the guaranteed limit", guaranteed, limit_wh)


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
    need(
        is_near,
        f"{what} is stated as {json.dumps(stated)}, but it is {json.dumps(expected)}",
    )
