from __future__ import annotations

import json
import math
import tomllib
from dataclasses import replace

import pytest

from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.meter import Choices, Identity, Setup
from lpirc_power.meter_standing import Standing
from lpirc_power.report.ranging_report import (
    Ranged,
    ranged_facts,
    ranged_lines,
    station_lines,
)
from lpirc_power.wt300.range_fit import Drawn

LOAD = Drawn(40, 0, 120.0, 0.3, 169.7, 0.42, 36.0, 36.0)
AUTOMATIC = Setup(None, None, 0.25, 0)
CHOICES = Choices((75.0, 150.0, 300.0), (0.05, 0.25, 0.5), (0.25,), ("1",))
FOUND = Ranged(
    Identity("YOKOGAWA", "WT310E", "S1", "F1"),
    Standing.OFFICIAL,
    AUTOMATIC,
    CHOICES,
    LOAD,
    1.2,
    limits_of("WT310E"),
)


def test_the_lines_for_the_contest_are_toml_with_the_proposed_ranges() -> None:
    lines = ranged_lines(FOUND)
    assert tomllib.loads("\n".join(lines[lines.index("") + 2 :])) == {
        "voltage_range_v": 150.0, "current_range_a": 0.5
    }  # fmt: skip


def test_what_the_ranges_rest_on_is_among_the_lines_if_it_is_not_as_usual() -> None:
    setup = Setup(
        150.0,
        0.5,
        0.1,
        60,
        mode="dc",
        crest_factor=6,
        line_filter=True,
        element="2",
    )
    assert tomllib.loads("\n".join(station_lines(setup))) == {
        "voltage_range_v": 150.0, "current_range_a": 0.5, "mode": "dc", "crest_factor": 6, "line_filter": True,
        "element": "2",
    }  # fmt: skip


def test_the_accuracy_is_that_of_the_mean_load_in_the_proposed_ranges() -> None:
    # 0.1 % of 36 W and 0.05 % of 150 V x 0.5 A; crest factor 6 doubles that, the filter adds 0.3 %.
    assert FOUND.uncertainty == pytest.approx((0.036 + 0.0375) / 36)
    other = replace(FOUND, setup=replace(AUTOMATIC, crest_factor=6, line_filter=True))
    assert [fit.value for fit in other.fits] == [150.0, 0.5]
    assert other.uncertainty == pytest.approx((0.036 + 0.108 + 0.075) / 36)


def test_a_load_that_no_range_holds_has_no_lines_for_the_contest() -> None:
    large = replace(FOUND, load=replace(LOAD, current_a=3.0))
    assert large.uncertainty is None
    assert not any("contest.toml" in line for line in ranged_lines(large))
    assert "current range    none. No range of this meter holds 3 A rms" in "\n".join(
        ranged_lines(large)
    )
    assert ranged_facts(large)["current_range_a"] is None


def test_unmeasured_peaks_are_null_in_json() -> None:
    facts = ranged_facts(replace(FOUND, load=replace(LOAD, current_peak_a=math.nan)))
    current_peak_a = json.loads(json.dumps(facts, allow_nan=False))["load"][
        "current_peak_a"
    ]
    assert current_peak_a is None


def test_a_run_with_flagged_readings_is_to_be_made_again() -> None:
    assert FOUND.again is None
    again = replace(FOUND, load=replace(LOAD, flagged=3)).again
    assert again is not None
    assert again.startswith("3 of 40 readings were over range or clipped")
