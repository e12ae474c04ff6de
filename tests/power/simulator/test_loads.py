from __future__ import annotations

import csv
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from power.errors import MeterError
from power.simulator.loads import parse_load


def test_constant_load_draws_its_power_by_its_wave() -> None:
    load = parse_load("constant:36W,volts=230V,pf=0.5,crest=3", time.monotonic)
    seen = load.mean(0.0, 1.0)
    assert (seen.voltage_v, seen.power_w, seen.crest) == (230.0, 36.0, 3.0)
    assert seen.current_a == pytest.approx(36 / 115)


def test_steps_repeat_from_the_start() -> None:
    load = parse_load("steps:2W@5s,9W@10s", time.monotonic)
    means = [load.mean(start, start + 1).power_w for start in (0, 4, 5, 9, 10, 15)]
    assert means == pytest.approx([2, 2, 9, 9, 2, 9])
    assert load.mean(4.0, 6.0).power_w == pytest.approx(5.5)
    assert load.mean(0.0, 100.0).power_w == pytest.approx(5.5)


def test_a_recording_is_replayed_a_row_a_second_without_its_empty_rows(recordings: Path) -> None:
    path = recordings / "wt310_readings_user_330.csv"
    load = parse_load(f"csv:{path}", time.monotonic)
    with path.open(newline="") as lines:
        rows = [[float(cell) for cell in row] for row in csv.reader(lines)][1:]
    for second in (0, 10, len(rows) - 1, len(rows)):
        seen = load.mean(second, second + 1.0)
        row = rows[second % len(rows)]
        assert (seen.voltage_v, seen.current_a, seen.power_w) == pytest.approx(tuple(row[:3]))


def test_a_table_of_seconds_and_powers_holds_each_power_until_the_next(tmp_path: Path) -> None:
    path = tmp_path / "load.csv"
    path.write_text("seconds,power_w\n0,1\n2,4\n")
    load = parse_load(f"csv:{path}", time.monotonic)
    assert [load.mean(at, at + 1.0).power_w for at in (0, 1, 2, 3, 4)] == pytest.approx([1, 1, 4, 4, 1])


def test_cpu_load_follows_a_process_until_it_is_gone(until: Any) -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        load = parse_load(f"cpu:{busy.pid},idle=2W,busy=9W", time.monotonic)
        assert load.mean(0.0, 1.0).power_w == 2.0
        until(lambda: load.mean(0.0, 1.0).power_w > 2.5)
        busy.kill()
    until(lambda: load.mean(0.0, 1.0).power_w == 2.0)


def test_an_idle_process_draws_idle_power(until: Any) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as idle:
        load = parse_load(f"cpu:{idle.pid},idle=3W,busy=9W,volts=230V", time.monotonic)
        until(lambda: load.mean(0.0, 1.0).power_w < 3.5)
        assert load.mean(0.0, 1.0).voltage_v == 230.0
        assert idle.stdin is not None
        idle.stdin.close()


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "constant",
        "constant:",
        "constant:-1W",
        "constant:nanW",
        "constant:1W,colour=red",
        "constant:1W,pf=0",
        "steps:2W",
        "steps:2W@5s,9W@5s",
        "steps:2W@x",
        "csv:/does/not/exist",
        f"csv:{os.devnull}",
        "cpu:abc",
        "cpu:0",
        "cpu:1,busy=lots",
        "wind:3",
    ],
)
def test_a_wrong_load_is_named_with_the_forms_that_exist(spec: str) -> None:
    with pytest.raises(MeterError) as caught:
        parse_load(spec, time.monotonic)
    assert caught.value.code == "simulator-load"
    assert repr(spec) in caught.value.sentence
    assert "constant:36W" in caught.value.sentence
