"""The examples of the page on the meter in Python say what happens, and the page names all that the package offers."""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path

import pytest

import lpirc_power

PAGE = Path(__file__).parents[2] / "docs" / "meter-api.md"


def rows() -> dict[str, str]:
    """The table of names: what stands beside each."""
    table = PAGE.read_text().partition("## What there is")[2]
    return dict(re.findall(r"^\| `(\w+)[^`]*` \|(.*)\|$", table, re.MULTILINE))


def test_every_example_gives_what_the_page_says(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert failed == 0
    assert tried > 30


def test_the_page_names_everything_that_is_offered() -> None:
    assert {*rows()} == {*lpirc_power.__all__}


@pytest.mark.parametrize(
    "name",
    [
        "OpenMeter",
        "Recording",
        "MarkEnergy",
        "MeanEnergy",
        "EnergyComparison",
        "Plot",
        "Idle",
    ],
)
def test_the_table_has_every_public_part(name: str) -> None:
    kind = getattr(lpirc_power, name)
    parts = {part for part in dir(kind) if not part.startswith("_")}
    parts |= {
        part for part in inspect.get_annotations(kind) if not part.startswith("_")
    }
    if name == "OpenMeter":
        parts |= {"address", "identity", "setup"}  # of its instances
    told = {*re.findall(r"`(\w+)", rows()[name])}
    assert told == parts


def test_each_name_is_explained_and_typed() -> None:
    for name in lpirc_power.__all__:
        value = getattr(lpirc_power, name)
        assert inspect.getdoc(value)
        if inspect.isfunction(value):
            assert (
                inspect.signature(value).return_annotation
                is not inspect.Signature.empty
            )
