"""docs/meters.md: every model and every scheme has its place, and whatever it names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lpirc_power.addresses.driver_registry import BUILT_IN
from lpirc_power.simulator.simulated_models import MODELS
from lpirc_power.wt300.driver import Wt300Family

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "meters.md").read_text("utf-8")
WORDS = ("real", "others", "simulated", "read", "none to have", "no figure", "the same")
FAMILY = PAGE.partition("## The WT300 family")[2].partition("\n## ")[0]
ROWS = [line for line in FAMILY.splitlines() if line.startswith("| ")]


def test_every_model_of_the_family_is_in_the_table() -> None:
    head = ROWS[0]
    assert [model.name for model in MODELS if model.name not in head] == []
    named = re.findall(r"WT\d+\w*", Wt300Family.models)
    assert [name for name in named if name not in head] == []


@pytest.mark.parametrize("row", ROWS[1:])
def test_a_claim_of_the_table_begins_with_one_of_the_words(row: str) -> None:
    cells = [one.strip() for one in row.strip("|").split("|")]
    assert len(cells) == 6
    assert [one for one in cells[1:] if not one.startswith(WORDS)] == []


def test_every_built_in_scheme_has_its_place() -> None:
    schemes = set(BUILT_IN) - {"visa", "yokogawa-wt300"}
    assert {one for one in schemes if f"`{one}:`" not in PAGE} == set()


def test_every_file_that_it_names_is_there() -> None:
    named = re.findall(r"`(tests/[^`]+)`", PAGE)
    assert len(named) >= 4
    assert [one for one in named if not (ROOT / one).exists()] == []
