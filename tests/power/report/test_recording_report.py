from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Any

import pytest

from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.energy import Measurement
from lpirc_power.meter import Identity, IntegratorState, Setup
from lpirc_power.report.recording_report import Recorded, recorded_facts
from lpirc_power.report.recording_words import recorded_lines
from lpirc_power.sampling.sampler import Idle

IDENTITY = Identity("YOKOGAWA", "WT310E", "S1", "F1.03")
FIXED = Setup(150.0, 0.1, 0.1, 0)


@pytest.fixture
def recorded(reading: Any) -> Any:
    """Return a recording of 6 W and of `lasted_s`; what differs in its last reading is given by name."""

    def make(
        lasted_s: float,
        setup: Setup = FIXED,
        model: str = "WT310E",
        **final: Any,
    ) -> Recorded:
        last = {
            "energy_wh": lasted_s / 600.0, "integrator_s": float(int(lasted_s)), "state": IntegratorState.STOP, **final,
        }  # fmt: skip
        readings = [
            reading(
                at_s,
                energy_wh=at_s / 600.0,
                integrator_s=min(float(int(at_s)), last["integrator_s"]),
            )
            for at_s in (number * 0.1 for number in range(1, int(lasted_s * 10) + 1))
        ]
        readings.append(reading(lasted_s + 0.1, **last))
        measured = Measurement(
            last["energy_wh"],
            last["integrator_s"],
            0.0,
            lasted_s,
            setup,
            model,
            limits_of(model),
            start_stop_s=0.02,
        )
        return Recorded(
            IDENTITY,
            measured,
            readings,
            Idle(1.0, 2.0, 20),
            (),
            "run.csv",
            len(readings),
        )

    return make


def row(
    recorded: Recorded,
    name: str,
) -> str:
    lines = [line for line in recorded_lines(recorded) if line.startswith(name)]
    return lines[0].removeprefix(name).strip() if lines else ""


def test_a_reset_integrator_leaves_no_energy(recorded: Any) -> None:
    found = recorded(
        8.0,
        energy_wh=0.0,
        integrator_s=0.0,
        state=IntegratorState.RESET,
    )
    assert "was reset" in found.no_energy
    assert row(found, "energy") == "none"
    assert [row(found, name) for name in ("mean power", "accuracy", "above idle")] == [
        "",
        "",
        "",
    ]
    facts = json.loads(json.dumps(recorded_facts(found), allow_nan=False))
    for name in ("energy_wh", "energy_j", "mean_power_w", "energy_above_idle_wh"):
        assert facts[name] is None, name
    accuracy: Any = facts["accuracy"]
    assert {name for name, value in accuracy.items() if value is not None} <= {
        "known_by"
    }
    assert facts["needs_review"] is True
    assert facts["no_energy"] == found.no_energy


def test_a_failed_check_marks_the_energy(recorded: Any) -> None:
    good = recorded(8.0)
    assert good.failed == ()
    assert recorded_facts(good)["needs_review"] is False
    assert "review" not in row(good, "energy")
    bad = recorded(8.0, integrator_s=4.0, state=IntegratorState.TIMEUP)
    assert row(bad, "energy").endswith(
        ", needs review: integrator-time, integrator-steps"
    )
    assert recorded_facts(bad)["needs_review"] is True


def test_a_stop_by_somebody_else_needs_review(
    recorded: Any,
    reading: Any,
) -> None:
    found = recorded(8.0)
    stopped = reading(
        7.95,
        energy_wh=0.01325,
        integrator_s=7.0,
        state=IntegratorState.STOP,
    )
    found.readings.insert(-2, stopped)
    assert found.failed == ("integrator-stopped",)


def test_the_integrators_own_time_counts_where_it_tells(recorded: Any) -> None:
    timer = replace(FIXED, integrator_timer_s=8)
    by_timer = recorded(
        8.3,
        timer,
        energy_wh=8.0 / 600,
        integrator_s=8.0,
        state=IntegratorState.TIMEUP,
    )
    at_home = recorded(0.3, energy_wh=0.31 / 600, integrator_s=0.31)
    by_us = recorded(8.3)
    assert [found.measured.energy_s for found in (by_timer, at_home, by_us)] == [
        8.0,
        0.31,
        8.3,
    ]
    assert by_timer.power_w == pytest.approx(6.0)
    assert at_home.power_w == pytest.approx(6.0)
    assert by_timer.energy.start_stop_share == 0.0
    assert "start and stop" not in row(by_timer, "accuracy")


def test_start_and_stop_are_in_the_accuracy(recorded: Any) -> None:
    found = recorded(8.0)
    # An update and the 0.02 s between orders and confirmations, of 8 s; and 0.1 % P + 0.05 % of 15 W.
    assert found.uncertainty == pytest.approx(0.12 / 8 + 0.0135 / 6)
    assert "including 1.5 % for start and stop" in row(found, "accuracy")
    accuracy: Any = recorded_facts(found)["accuracy"]
    assert accuracy["start_stop_percent"] == pytest.approx(1.5)


def test_too_short_a_window_tells_no_mean_power(recorded: Any) -> None:
    short = recorded(0.9)
    assert math.isnan(short.power_w)
    assert row(short, "mean power").startswith(
        "unknown: 0.900 s is less than 10 updates of 0.1 s"
    )
    assert recorded_facts(short)["mean_power_w"] is None
    # It ran for up to 0.12 s longer than the window.
    assert 6.0 * 1.1 / 1.22 < recorded(1.1).power_w < 6.0
    assert row(recorded(1.1), "mean power").endswith(" over 1.160 s +-0.060 s")


def test_an_unknown_accuracy_is_just_unknown(recorded: Any) -> None:
    automatic = Setup(None, None, 0.1, 0)
    assert row(recorded(8.0, automatic, "replay"), "accuracy") == "unknown"
    assert row(recorded(8.0, automatic), "accuracy").endswith(
        ", at worst: ranges were automatic"
    )


def test_a_signal_that_may_be_dc_is_told(recorded: Any) -> None:
    found = recorded(8.0)
    assert "AC and DC" not in row(found, "accuracy")
    found = replace(
        found,
        readings=[
            replace(one, voltage_v=12.0, current_a=0.5) for one in found.readings
        ],
    )
    # 0.1 % P + 0.2 % of 15 W, start and stop, and drift: 5 x 0.02 % of 150 V x 0.5 A, and 5 x 5 uA x 12 V.
    drift_w = 0.15 * 0.5 + 25e-6 * 12.0
    assert found.uncertainty == pytest.approx(0.12 / 8 + (0.036 + drift_w) / 6)
    told: Any = recorded_facts(found)["accuracy"]
    assert told["drift_percent"] == pytest.approx(100 * drift_w / 6)
    assert (
        told["known_by"]
        == "IM WT310E-02EN, pages 7-7 and 7-8, the larger limit of AC and DC"
    )
    assert ", 1.3 % for 5 degrees C of drift" in row(found, "accuracy")
    assert row(found, "accuracy").endswith(", the larger limit of AC and DC")


def test_rows_that_the_disk_did_not_take_are_told(recorded: Any) -> None:
    found = replace(recorded(8.0), rows=3)
    assert f"3 of {len(found.readings)} readings in run.csv" in "\n".join(
        recorded_lines(found)
    )
    assert recorded_facts(found)["rows"] == 3


def test_the_budget_stands_beside_the_limit_in_lines_and_json(recorded: Any) -> None:
    found = recorded(8.0)
    budget = found.budget
    assert budget.guaranteed_wh == pytest.approx(found.uncertainty * found.energy_wh)
    assert budget.coverage_wh < budget.guaranteed_wh
    # Start and stop, 1.5 %, beside 0.225 % of the meter: one rectangle, k = 1.65 nearly.
    assert row(found, "uncertainty") == "+-0.00019 Wh (+-1.4 %) with 95.45 %, k = 1.66"
    assert row(found, "expanded").endswith(", k = 2")
    assert row(found, "terms").startswith(
        "99% start and stop, 1% the error of the range"
    )
    facts: Any = recorded_facts(found)
    assert facts["budget"] == budget.document()
    json.dumps(facts, allow_nan=False)


def test_an_unknown_budget_says_why_in_one_line(recorded: Any) -> None:
    found = recorded(8.0, model="replay")
    assert row(found, "uncertainty").startswith(
        "One term of the uncertainty is unknown: the error of the reading. No driver states"
    )
    assert row(found, "expanded") == ""
    facts: Any = recorded_facts(found)
    assert facts["budget"]["coverage_wh"] is None
    json.dumps(facts, allow_nan=False)


def test_without_an_energy_there_is_no_budget(recorded: Any) -> None:
    lost = {"energy_wh": 0.0, "integrator_s": 0.0, "state": IntegratorState.RESET}
    found = recorded(8.0, **lost)
    assert found.budget is None
    assert recorded_facts(found)["budget"] is None
    assert row(found, "uncertainty") == ""


def test_joules_that_are_beyond_all_numbers_are_left_out(recorded: Any) -> None:
    found = recorded(8.0, energy_wh=1e306)
    assert row(found, "energy").startswith("1e+306 Wh, needs review")
    facts = recorded_facts(found)
    assert facts["energy_j"] is None
    said = "\n".join(recorded_lines(found))
    assert not re.search(r"\b(inf|nan)\b|over range", said)
    json.dumps(facts, allow_nan=False)
