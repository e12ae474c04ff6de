"""Recordings compared in Python, as `meter compare` compares their files."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from lpirc_power import MeterError, OpenMeter, Recording, compare, read_recorded
from tests import warm_programs


@pytest.fixture
def attempts(
    simulate: Any,
    opened: Any,
    until_measured: Any,
) -> dict[str, list[Recording]]:
    """Two recordings of each of two loads."""
    found: dict[str, list[Recording]] = {}
    for name, watts in (("light", 12), ("heavy", 48)):
        meter: OpenMeter = opened(simulate("--load", f"constant:{watts}W").address)
        found[name] = []
        for number in (1, 2):
            with meter.recording(f"{name}-{number}.csv") as made, made.mark("work"):
                until_measured(made, 6)
            found[name].append(made)
    return found


def test_it_says_what_the_command_says_of_the_same_files(
    attempts: dict[str, list[Recording]],
) -> None:
    with pytest.raises(MeterError, match="'ratio' begins another line"):
        compare(attempts["light"], attempts["heavy"], names=("light", "ratio"))
    found = compare(attempts["light"], attempts["heavy"], names=("light", "heavy"))
    light = [str(one.path) for one in attempts["light"]]
    heavy = [str(one.path) for one in attempts["heavy"]]
    command = ["meter", "compare", *light, "--with", *heavy]
    told = warm_programs.run([*command, "--names", "light", "heavy"])
    assert told.stdout.splitlines() == str(found).splitlines()
    told = warm_programs.run([*command, "--names", "light", "heavy", "--json"])
    assert json.loads(told.stdout) == found.document()
    assert found.ratio > 1
    low, high = found.ratio_interval
    assert low < found.ratio < high
    assert found.difference_uncertainty_wh > 0
    assert found.difference_wh > 0
    assert found.sentence == str(found).splitlines()[0]
    assert found.is_shown in (True, False)
    assert found.sentence in found._repr_html_()


def test_single_recordings_cannot_tell(
    attempts: dict[str, list[Recording]],
) -> None:
    light, heavy = (side[0] for side in attempts.values())
    assert compare(light, heavy).is_shown is None


def test_the_energies_of_a_mark_are_compared(
    attempts: dict[str, list[Recording]],
) -> None:
    light, heavy = attempts.values()
    found = compare(light, heavy, mark="work")
    first = sum(one.marks["work"].energy_wh for one in light)
    second = sum(one.marks["work"].energy_wh for one in heavy)
    assert found.ratio == pytest.approx(second / first)
    with pytest.raises(MeterError, match="no stretch that is marked 'play'"):
        compare(light, heavy, mark="play")


def test_sides_that_do_not_fit_are_refused(
    attempts: dict[str, list[Recording]],
) -> None:
    light, heavy = attempts.values()
    with pytest.raises(MeterError, match="A has no recording; give at least one"):
        compare([], heavy)
    with pytest.raises(MeterError, match="A has 1, B has 2"):
        compare(light[:1], heavy, paired=True)
    with pytest.raises(MeterError, match="has no idle power"):
        compare(light, heavy, above_idle=True)
    with pytest.raises(MeterError) as repeated:
        compare(light, [read_recorded(Path("light-1.csv"))])
    assert repeated.value.code == "comparison-repeated"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"names": ("x",)}, r"names is \('x',\); give one for each of the two"),
        ({"names": "AB"}, "names is 'AB'; give one for each"),
        ({"names": ("a", 1)}, "names is .* are texts"),
        ({"least": 2}, "least is 2; give a part of 1, above 0, such as 0.02"),
        ({"least": math.nan}, "least is nan"),
        ({"first": "a.csv"}, r"'a\.csv' is a name and no recording; read it first"),
        ({"first": None}, "None is no recording"),
        ({"second": [["x"]]}, "A list stands in place of a recording"),
        ({"second": {"main": 1}}, r"several meters \(main\) are given"),
    ],
)
def test_an_argument_of_another_kind_is_named(
    attempts: dict[str, list[Recording]], given: Any, said: str
) -> None:
    first, second = attempts.values()
    with pytest.raises(MeterError, match=said) as refused:
        compare(**({"first": first, "second": second} | given))
    assert refused.value.code == "comparison-sides"
