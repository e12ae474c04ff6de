"""The version of a budget's rules: it counts up when the same recording gets other figures, and a reader says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lpirc_power.energy.budget import BUDGET_VERSION, Budget
from lpirc_power.errors import MeterError
from lpirc_power.measurement_files import recorded_files
from lpirc_power.measurement_files.recorded_files import read_recorded
from tests.power.made_recordings import Made

COMBINED_WH = 0.00012741595636424032
COVERAGE_WH = 0.00021640515080202427
TERMS = {
    "reading": 1.0424379860368258e-05,
    "range": 1.2028130608117202e-05,
    "power-factor": 0.0,
    "start-stop": 0.00012641788434189795,
    "gaps": 0.0,
    "resolution-wh": 2.886751345948129e-08,
    "resolution-time": 0.0,
}


def rewritten(path: Path, version: int | None) -> None:
    """Let the record of a recording state another version; None: as a program before there was one."""
    record = path.with_suffix(".json")
    document = json.loads(record.read_text())
    del document["budget_version"]
    if version is not None:
        document["budget_version"] = version
    record.write_text(json.dumps(document))


def test_these_rules_give_these_figures(tmp_path: Path) -> None:
    """Where this fails and should, BUDGET_VERSION counts up, and the figures here are the new ones."""
    made = Made(tmp_path, load=lambda since_s: 6.0 + (since_s > 5.0))
    budget = read_recorded(made.recording()).budget
    assert budget is not None
    assert BUDGET_VERSION == 1
    found = {one.code: one.standard_wh for one in budget.terms}
    assert found == pytest.approx(TERMS, rel=1e-9)
    assert budget.combined_wh == pytest.approx(COMBINED_WH, rel=1e-9)
    assert budget.coverage_wh == pytest.approx(COVERAGE_WH, rel=1e-6)


def test_a_document_keeps_its_version_and_one_without_is_of_the_first() -> None:
    document = Budget(1.0, (), 7).document()
    assert Budget.from_document(document).version == 7
    del document["version"]
    assert Budget.from_document(document).version == 1


@pytest.mark.parametrize("version", [BUDGET_VERSION, None])
def test_a_recording_by_the_same_rules_has_no_note(
    tmp_path: Path, version: int | None
) -> None:
    path = Made(tmp_path).recording()
    rewritten(path, version)
    assert read_recorded(path).doubts == ()


def test_a_recording_by_later_rules_says_so(tmp_path: Path) -> None:
    path = Made(tmp_path).recording()
    rewritten(path, BUDGET_VERSION + 1)
    (note,) = read_recorded(path).doubts
    assert "computes uncertainties by later rules (budget version 2)" in note


def test_a_recording_by_earlier_rules_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Made(tmp_path).recording()
    monkeypatch.setattr(recorded_files, "BUDGET_VERSION", 3)
    (note,) = read_recorded(path).doubts
    assert "by earlier rules (budget version 1); those here are by version 3" in note


@pytest.mark.parametrize("version", [0, -1])
def test_a_version_that_cannot_be_is_refused(tmp_path: Path, version: int) -> None:
    path = Made(tmp_path).recording()
    rewritten(path, version)
    with pytest.raises(MeterError, match="budget_version is"):
        read_recorded(path)
