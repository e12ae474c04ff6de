"""The figures of a series and of a group, against drawn errors and tables of Student's t."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.energy import Measurement
from lpirc_power.energy.budget import Distribution, Term
from lpirc_power.meter import Identity, Setup
from lpirc_power.record.document import GroupRecord, Member, SeriesRecord
from lpirc_power.report.group_report import Group, group_lines
from lpirc_power.report.recording_report import Recorded
from lpirc_power.report.series_report import Series

SERIES = SeriesRecord("", (), (), wanted=3)
LASTS_S = 600.0
DRAWS = 20_000


def series(*energies_wh: float) -> Series:
    attempts: Any = [SimpleNamespace(energy_wh=one) for one in energies_wh]
    return Series(SERIES, tuple(attempts), (), "run.json")


@pytest.mark.parametrize(
    ("energies_wh", "factor"),
    [
        ((1.0, 2.0), 13.968),
        ((1.0, 2.0, 3.0), 4.5266),
        ((1.0, 2.0, 3.0, 4.0, 5.0), 2.8693),
    ],
)
def test_the_interval_of_the_mean_is_that_of_students_t(
    energies_wh: tuple[float, ...], factor: float
) -> None:
    found = series(*energies_wh)
    count = len(energies_wh)
    deviation_wh = float(np.std(energies_wh, ddof=1))
    assert found.mean_wh == pytest.approx(np.mean(energies_wh))
    assert found.deviation_wh == pytest.approx(deviation_wh)
    half_wh = factor * deviation_wh / math.sqrt(count)
    assert found.half_wh == pytest.approx(half_wh, rel=1e-3)
    assert found.relative_half == pytest.approx(half_wh / found.mean_wh, rel=1e-3)


def test_one_attempt_shows_no_spread_and_none_has_no_mean() -> None:
    assert (series(1.0).half_wh, series(1.0).deviation_wh) == (None, None)
    assert math.isnan(series().mean_wh)


@pytest.fixture
def group(reading: Any) -> Group:
    """A supply of 36 W and a board of 30 W; their windows are 2 ms apart at either end."""

    def recorded(power_w: float, start_s: float) -> Recorded:
        readings = [
            reading(
                float(second), power_w=power_w, apparent_va=power_w, current_a=power_w / 120,
                energy_wh=power_w * second / 3600.0, current_range_a=0.5,
            )
            for second in range(1, 601)
        ]  # fmt: skip
        measured = Measurement(
            power_w * LASTS_S / 3600.0,
            LASTS_S,
            start_s,
            start_s + LASTS_S,
            Setup(150.0, 0.5, 1.0, 0),
            "WT310",
            limits_of("WT310"),
            start_stop_s=0.0,
        )
        identity = Identity("YOKOGAWA", "WT310", "S1", "F1")
        return Recorded(identity, measured, readings, None, (), "run.csv", 600)

    members = (Member("main", "run.main.json"), Member("board", "run.board.json"))
    found = {"main": recorded(36.0, 0.0), "board": recorded(30.0, 0.002)}
    return Group(GroupRecord("", members), found, "run.json")


def drawn_wh(terms: tuple[Term, ...], dice: np.random.Generator) -> Any:
    """Draw the sum of the errors of terms, which are all rectangles here."""
    total = np.zeros(DRAWS)
    for one in terms:
        assert one.distribution is Distribution.RECTANGULAR
        width = (one.half_width or 0.0) * one.sensitivity_wh
        total += dice.uniform(-1.0, 1.0, DRAWS) * width
    return total


def test_loss_and_efficiency_hold_the_truth_in_95_of_100_cases(group: Group) -> None:
    (loss,) = group.losses
    assert loss.budget is not None
    assert loss.ratio_half is not None
    assert loss.lost_wh == pytest.approx(6.0 * LASTS_S / 3600.0)
    assert loss.ratio == pytest.approx(30.0 / 36.0)
    assert loss.offset_s == pytest.approx(0.004)
    dice = np.random.default_rng(1)
    budgets = {name: one.budget for name, one in group.recordings.items()}
    errors_wh = {
        name: drawn_wh(budget.terms, dice) for name, budget in budgets.items() if budget
    }
    offset_wh = dice.uniform(-1.0, 1.0, DRAWS) * 0.004 * 30.0 / 3600.0
    supply_wh = 36.0 * LASTS_S / 3600.0 + errors_wh["main"]
    board_wh = 30.0 * LASTS_S / 3600.0 + errors_wh["board"] + offset_wh
    lost = np.abs(supply_wh - board_wh - loss.lost_wh) <= (loss.budget.coverage_wh or 0)
    ratios = np.abs(board_wh / supply_wh - loss.ratio) <= loss.ratio_half
    for held in (lost, ratios):
        assert 0.945 <= np.mean(held) <= 0.965


def test_a_meter_without_an_energy_has_no_loss_and_is_named(group: Group) -> None:
    failed = replace(group.record.members[1], failed="It did not answer.")
    record = replace(group.record, members=(group.record.members[0], failed))
    alone = Group(record, {"main": group.recordings["main"]}, "run.json")
    assert alone.losses == ()
    assert "board            failed: It did not answer." in group_lines(alone)


def test_without_the_supplys_energy_there_is_no_loss(group: Group) -> None:
    alone = Group(group.record, {"board": group.recordings["board"]}, "run.json")
    assert alone.losses == ()


def test_an_energy_without_limits_leaves_the_loss_without_uncertainty(
    group: Group,
) -> None:
    board = group.recordings["board"]
    unknown = replace(board, measured=replace(board.measured, limits=None))
    found = Group(group.record, {**group.recordings, "board": unknown}, "run.json")
    (loss,) = found.losses
    assert loss.ratio_half is None
    assert "the uncertainty is unknown" in "\n".join(group_lines(found))


def test_a_check_that_fails_in_one_recording_is_told_with_its_name(
    group: Group,
) -> None:
    assert group_lines(group)[-1] == "checks           all hold"
    board = group.recordings["board"]
    other = replace(board, measured=replace(board.measured, changes=("range 15 V",)))
    found = Group(group.record, {**group.recordings, "board": other}, "run.json")
    line = group_lines(found)[-1]
    assert line.startswith("error            range-changed (board): At the end")


def test_equal_energies_have_a_loss_of_0_without_a_percentage(group: Group) -> None:
    main = group.recordings["main"]
    # Differs in the last binary digit, as two sums of the same readings may.
    energy_wh = math.nextafter(main.measured.integrator_wh, math.inf)
    board = replace(main, measured=replace(main.measured, integrator_wh=energy_wh))
    found = Group(group.record, {"main": main, "board": board}, "run.json")
    assert found.losses[0].lost_wh == 0.0
    (line,) = [one for one in group_lines(found) if one.startswith("loss ")]
    assert line.startswith("loss             0 Wh from main to board, +-")
    assert "%" not in line.partition(", k = ")[0].replace("95.45 %", "")
