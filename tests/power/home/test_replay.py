from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from power.energy import trapezoid_wh
from power.errors import MeterError
from power.home.meter import Box, HomeMeter
from power.home.replay import Replay
from power.meter import UNOFFICIAL, Identity, IntegratorState, Reading, Setup
from power.recording import RecordingWriter, read_recording

Make = Callable[..., Reading]
SECOND = Setup(300.0, 0.5, 1.0, 600)


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[[list[Reading]], Path]:
    def record(readings: list[Reading]) -> Path:
        path = tmp_path / "run.csv"
        with path.open("w") as stream:
            writer = RecordingWriter(stream)
            for reading in readings:
                writer.write(reading)
        return path

    return record


@pytest.fixture
def steps(recorded: Callable[[list[Reading]], Path], reading: Make) -> Path:
    """No data, then 1, 2, 3 W at 50, 51, 52, 53 s; the integrator has 7 Wh and 100 s at the first."""
    return recorded(
        [
            reading(
                50.0 + second,
                power_w=float(second) if second else math.nan,
                energy_wh=7.0 + second * second,
                integrator_s=100.0 + second,
                current_peak_over=second == 2,
            )
            for second in range(4)
        ]
    )


def test_it_says_that_it_is_unofficial_and_which_file_it_plays(steps: Path, recordings: Path) -> None:
    ours = Replay(steps).identity
    assert (ours.maker, ours.model, ours.serial, ours.firmware) == (
        UNOFFICIAL,
        "replay",
        "run.csv",
        "recording",
    )
    assert Replay(recordings / "wt310_readings_lpirc.csv").identity.firmware == "recording-2015"


def test_an_identity_can_be_read_from_what_is_written_of_it(steps: Path) -> None:
    identity = Replay(steps.rename(steps.with_name("my run.csv"))).identity
    assert identity.serial == "my_run.csv"
    assert Identity.parse(str(identity)) == identity


def test_the_newest_row_is_shown_and_the_counters_run_between_rows(steps: Path) -> None:
    replay = Replay(steps)
    first = replay.look(10.0)
    assert math.isnan(first.power_w)
    assert replay.look(10.99).voltage_v == 120.0
    second = replay.look(11.5)
    assert second.power_w == 1.0
    assert second.energy_wh - first.energy_wh == pytest.approx(2.5)
    assert second.running_s - first.running_s == pytest.approx(1.5)
    assert not second.current_peak_over
    assert replay.look(12.0).current_peak_over


def test_its_time_begins_anew_with_an_integral(steps: Path) -> None:
    replay = Replay(steps)
    replay.look(10.0)
    assert replay.look(12.0).power_w == 2.0
    replay.begin(12.0)
    assert math.isnan(replay.look(12.5).power_w)


def test_at_its_last_row_it_has_ended_and_later_there_is_no_data(steps: Path) -> None:
    replay = Replay(steps)
    first = replay.look(0.0)
    last = replay.look(3.0)
    assert (last.power_w, last.ended) == (3.0, True)
    after = replay.look(4.0)
    assert math.isnan(after.power_w)
    assert after.energy_wh - first.energy_wh == 9.0
    assert after.running_s - first.running_s == 3.0


def test_a_recording_of_one_row_holds_a_second(recorded: Any, reading: Make) -> None:
    replay = Replay(recorded([reading(5.0)]))
    assert (replay.look(0.0).power_w, replay.look(0.9).power_w) == (6.0, 6.0)
    assert math.isnan(replay.look(1.0).power_w)


def test_two_last_rows_of_one_moment_are_shown_as_long_as_others(recorded: Any, reading: Make) -> None:
    replay = Replay(recorded([reading(t, power_w=w) for t, w in ((0.0, 1.0), (2.0, 2.0), (2.0, 3.0))]))
    replay.look(0.0)
    assert (replay.look(2.0).power_w, replay.look(3.9).power_w) == (3.0, 3.0)
    assert math.isnan(replay.look(4.0).power_w)


def test_energy_without_data_stays_what_it_was(recorded: Any, reading: Make) -> None:
    rows = [reading(float(t), energy_wh=wh) for t, wh in enumerate([math.nan, 4.0, math.inf, 6.0])]
    replay = Replay(recorded(rows))
    first = replay.look(0.0).energy_wh
    assert [replay.look(float(t)).energy_wh - first for t in (1, 2, 3)] == [0.0, 0.0, 2.0]


def test_what_was_recorded_is_read_again(steps: Path, hand: Any) -> None:
    meter = HomeMeter(Box(Replay(steps)), hand.clocks())
    meter.configure(SECOND)
    meter.start()
    began_s = hand.now_s
    again: list[Reading] = [meter.read()]
    for _ in range(3):
        hand.passes(1.0)
        reading, is_new = meter.read_update()
        assert is_new
        again.append(reading)
    for row, reading in zip(read_recording(steps), again, strict=True):
        shifted = replace(
            row,
            monotonic_s=row.monotonic_s - 50.0 + began_s,
            utc=reading.utc,
            energy_wh=row.energy_wh - 7.0,
            integrator_s=row.integrator_s - 100.0,
            state=reading.state,
            voltage_range_v=math.nan,  # a replay has no ranges that a setup could fix
            current_range_a=math.nan,
        )
        assert str(reading) == str(shifted)
    assert meter.state() is IntegratorState.TIMEUP


def test_the_end_of_the_recording_is_the_end_of_the_integral(steps: Path, hand: Any) -> None:
    meter = HomeMeter(Box(Replay(steps)), hand.clocks())
    meter.configure(SECOND)
    meter.start()
    hand.passes(60.0)
    meter.stop()
    final = meter.read_final()
    assert (final.state, final.energy_wh, final.integrator_s) == (IntegratorState.TIMEUP, 9.0, 3.0)


@pytest.mark.parametrize("interval_s", [1.0, 0.25, 0.1])
@pytest.mark.parametrize(
    ("name", "length_s"), [("wt310_readings_user_330", 30), ("wt310_readings_lpirc", 300)]
)
def test_a_real_wt310_replays_with_its_energy(
    recordings: Path, hand: Any, name: str, length_s: int, interval_s: float
) -> None:
    path = recordings / f"{name}.csv"
    meter = HomeMeter(Box(Replay(path)), hand.clocks())
    meter.configure(replace(SECOND, update_interval_s=interval_s))
    meter.start()
    began_s, readings = hand.now_s, [meter.read()]
    for step in range(1, round(length_s / interval_s) + 1):
        hand.now_s = began_s + step * interval_s + 0.003
        reading, is_new = meter.read_update()
        assert is_new
        readings.append(reading)
    meter.stop()
    final = meter.read_final()
    assert final.energy_wh == pytest.approx(read_recording(path)[-1].energy_wh, rel=1e-9)
    assert final.integrator_s == length_s
    times, powers = zip(*((reading.monotonic_s, reading.power_w) for reading in readings), strict=True)
    sum_wh = trapezoid_wh(times, powers, began_s, began_s + length_s)
    assert sum_wh == pytest.approx(final.energy_wh, rel=0.002, abs=1e-9)


def test_a_file_that_is_none_is_said_by_the_reader(tmp_path: Path) -> None:
    with pytest.raises(MeterError) as caught:
        Replay(tmp_path / "none.csv")
    assert caught.value.code == "recording-unreadable"


def test_a_recording_of_2015_has_no_date_of_its_own(recordings: Path, hand: Any) -> None:
    meter = HomeMeter(Box(Replay(recordings / "wt310_readings_user_330.csv")), hand.clocks())
    assert meter.read().utc.year == 2026
    hand.passes(1.0)
    assert meter.read().utc - hand.clocks().utcnow() == timedelta(0)


@pytest.mark.parametrize("rows", ["1,1,1,1,1e30", "1,1,1,1,-1e12", "1,1,1,1,0\n1,1,1,1,1e30"])
def test_a_time_that_no_calendar_holds_is_told_with_file_and_line(tmp_path: Path, rows: str) -> None:
    (tmp_path / "old.csv").write_text(f"{rows}\n")
    with pytest.raises(MeterError, match=r"old.csv, line \d: integrator_s") as caught:
        Replay(tmp_path / "old.csv")
    assert caught.value.code == "recording-value"
