"""A bundle states the uncertainty budget of its energy: both verifiers name what was altered in it."""

from __future__ import annotations

import json
import math
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.energy.budget import BUDGET_VERSION, Budget, Distribution, Term
from referee.evidence import budget_verification
from referee.evidence.budget_verification import require_same_budget
from referee.evidence.bundle_verification import verify
from referee.evidence.given_facts import Given
from referee.evidence.verification_items import Failure
from tests.referee.evidence.proved import (
    SECOND,
    Proved,
    by_main,
    by_second,
    failed,
    lines,
    opened,
    sentences,
)

RESULT = "result.json"
Fields = dict[str, Any]


def sealed_with(judged: Proved, result: Fields) -> bytes:
    return judged.sealed(opened(judged.data) | {RESULT: lines([result])})


def result_of(judged: Proved) -> Fields:
    document: Fields = json.loads(opened(judged.data)[RESULT])
    return document


def second_says(data: bytes) -> str:
    found: dict[str, str] = SECOND.verify(data, key=None, receipts=None).wrong
    return found["score"]


@pytest.mark.parametrize(
    ("name", "value", "by_other"),
    [
        ("combined_wh", 1e-9, "combined_wh of the energy_budget is stated as"),
        ("shared_wh", 0.0, "shared_wh of the energy_budget is stated as"),
        ("expanded_wh", 1e-9, "expanded_wh of the energy_budget is stated as"),
        ("coverage_wh", 1e-9, "coverage_factor of the energy_budget is stated as"),
        ("coverage_factor", 1.0, "coverage_factor of the energy_budget is stated as"),
        ("guaranteed_wh", 1e-9, "guaranteed_wh of the energy_budget is stated as"),
        ("guaranteed_wh", None, "guaranteed_wh of the energy_budget is stated as"),
        ("coverage_wh", "small", "coverage_wh of the energy_budget cannot be"),
        ("level", 0.99, "level of the energy_budget is stated as"),
        ("unknown", "", "unknown of the energy_budget cannot be"),
        ("unknown", "calibrated", "a figure of an unknown uncertainty"),
        ("energy_wh", 1.0, "not of the energy of the result"),
        ("terms", [], "not those of the format, or not in its order"),
        ("terms", {}, "terms of the energy_budget cannot be {}"),
        ("terms", None, "terms of the energy_budget cannot be null"),
        ("terms", ["reading"], "terms of the energy_budget cannot be"),
        ("note", "calibrated", "too many or too few of the fields: note"),
        ("version", 0, "version of the energy_budget cannot be 0"),
        ("version", True, "version of the energy_budget cannot be true"),
        ("version", None, "version of the energy_budget cannot be null"),
    ],
)
def test_an_altered_figure_of_a_budget_is_named(
    proved: dict[str, Proved], name: str, value: object, by_other: str
) -> None:
    """The organiser who would rather state a smaller uncertainty, with the key to sign it."""
    result = result_of(proved["judged"])
    result["energy_budget"][name] = value
    data = sealed_with(proved["judged"], result)
    assert failed(by_main(data)) == failed(by_second(data)) == ["score"]
    assert "budget" in sentences(data)["score"]
    assert by_other in second_says(data)


@pytest.mark.parametrize(
    ("name", "value", "by_other"),
    [
        ("half_width", 1e-9, "standard_wh of reading is stated as"),
        ("half_width", 1e308, "standard_wh of reading is stated as"),
        ("half_width", -0.1, "half_width of the term reading cannot be -0.1"),
        ("half_width", True, "half_width of the term reading cannot be true"),
        ("half_width", None, "of half_width and sensitivity_wh of reading one alone"),
        ("share", 0.0, "share of reading is stated as 0.0"),
        ("limit_wh", 0.0, "limit_wh of reading is stated as 0.0"),
        ("distribution", "gauss", "reading has the unknown distribution"),
        ("distribution", "two-point", "standard_wh of reading is stated as"),
        ("profile", [], "profile of the term reading cannot be []"),
        ("profile", [0.0], "profile of the term reading cannot be [0.0]"),
        ("freedom", 3.0, "freedom of reading does not go with its distribution"),
        ("is_shared", "yes", 'is_shared of the term reading cannot be "yes"'),
        ("is_shared", False, "shared_wh of the energy_budget is stated as"),
        ("is_guaranteed", False, "guaranteed_wh of the energy_budget is stated as"),
        ("code", "gold", "not those of the format, or not in its order: gold range"),
        ("source", ["a", "list"], "source of the term reading cannot be"),
        ("note", "calibrated", "too many or too few of the fields: note"),
    ],
)
def test_an_altered_term_of_a_budget_is_named(
    proved: dict[str, Proved], name: str, value: object, by_other: str
) -> None:
    result = result_of(proved["judged"])
    result["energy_budget"]["terms"][0][name] = value
    data = sealed_with(proved["judged"], result)
    assert failed(by_main(data)) == failed(by_second(data)) == ["score"]
    assert "term" in sentences(data)["score"]
    assert by_other in second_says(data)


@pytest.mark.parametrize("name", ["name", "source"])
def test_better_words_put_into_a_budget_are_found_where_they_are_known(
    proved: dict[str, Proved], name: str
) -> None:
    """The stand-alone verifier takes the words as they are stated, and says so."""
    result = result_of(proved["judged"])
    result["energy_budget"]["terms"][0][name] = "calibrated by a laboratory"
    data = sealed_with(proved["judged"], result)
    assert failed(by_main(data)) == ["score"]
    assert f"{name} of the term reading" in sentences(data)["score"]
    assert failed(by_second(data)) == []


@pytest.mark.parametrize("change", ["reversed", "twice", "without the last"])
def test_terms_in_another_order_twice_or_left_out_are_found(
    proved: dict[str, Proved], change: str
) -> None:
    """The last term adds nothing, so no sum tells that it is missing."""
    result = result_of(proved["judged"])
    terms = result["energy_budget"]["terms"]
    assert terms[-1]["standard_wh"] == 0.0
    changed = {
        "reversed": terms[::-1],
        "twice": [*terms, deepcopy(terms[-1])],
        "without the last": terms[:-1],
    }
    result["energy_budget"]["terms"] = changed[change]
    data = sealed_with(proved["judged"], result)
    assert failed(by_main(data)) == failed(by_second(data)) == ["score"]
    assert "The list of terms of the budget" in sentences(data)["score"]
    assert "not in its order" in second_says(data)


@pytest.mark.parametrize("budget", [None, [], "none", {}])
def test_a_result_of_this_format_has_a_budget(
    proved: dict[str, Proved], budget: object
) -> None:
    result = result_of(proved["judged"])
    data = sealed_with(proved["judged"], result | {"energy_budget": budget})
    assert failed(by_main(data)) == failed(by_second(data)) == ["score"]
    del result["energy_budget"]
    data = sealed_with(proved["judged"], result)
    assert failed(by_main(data)) == failed(by_second(data)) == ["score"]


def test_a_budget_by_later_rules_is_not_called_altered(
    proved: dict[str, Proved],
) -> None:
    result = result_of(proved["judged"])
    result["energy_budget"] |= {"version": BUDGET_VERSION + 1, "combined_wh": 1e-9}
    data = sealed_with(proved["judged"], result)
    assert failed(by_main(data)) == failed(by_second(data)) == []
    assert "score" not in by_main(data)
    assert "by later rules (version 2)" in sentences(data)["score"]
    assert "by later rules" in SECOND.verify(data).unchecked["score"]
    found = {one.name: one for one in verify(data, Given(interval=True))}
    assert found["interval"].sentence == found["score"].sentence


def test_a_budget_by_earlier_rules_is_not_called_altered(
    proved: dict[str, Proved], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget_verification, "BUDGET_VERSION", 2)
    told = sentences(proved["judged"].data)["score"]
    assert "by earlier rules (version 1); this program computes version 2" in told


def test_what_is_not_computed_is_said_of_a_budget_that_is_there(
    proved: dict[str, Proved],
) -> None:
    assert SECOND.TERMS_NOT_COMPUTED in SECOND.verify(proved["judged"].data).notes
    without = (Path(__file__).parent / "format-5.zip").read_bytes()
    notes = SECOND.verify(without).notes
    assert SECOND.NOT_COMPUTED in notes
    assert SECOND.TERMS_NOT_COMPUTED not in notes


def test_the_last_digits_of_another_host_s_error_function_are_no_difference(
    proved: dict[str, Proved],
) -> None:
    result = result_of(proved["judged"])
    budget = result["energy_budget"]
    for name in ("level", "coverage_wh", "coverage_factor"):
        budget[name] = math.nextafter(budget[name], 2.0)
    data = sealed_with(proved["judged"], result)
    assert failed(by_main(data)) == failed(by_second(data)) == []


def test_another_version_may_word_a_budget_otherwise() -> None:
    stated = budget_of_words("the error of the reading")
    own = budget_of_words("what the reading is off by")
    require_same_budget(stated, own, has_own_words=False)
    with pytest.raises(Failure, match="name of the term reading"):
        require_same_budget(stated, own, has_own_words=True)


def budget_of_words(name: str) -> Fields:
    term = Term("reading", name, 0.1, "%", Distribution.RECTANGULAR, 0.01, "a manual")
    return Budget(1.0, (term,)).document()
