from __future__ import annotations

import csv
import itertools
import math
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_power.errors import MeterError
from lpirc_power.meter import IntegratorState, Reading
from lpirc_power.recording import header_line, row
from lpirc_power.simulator.loads import Drawn, Wave, noise, parse_load

NOISE = noise(36.0, 2.0, 7)


def test_constant_load_draws_its_power_by_its_wave() -> None:
    load = parse_load("constant:36W,volts=230V,pf=0.5,crest=3", time.monotonic)
    seen = load.mean(0.0, 1.0)
    assert seen.voltage_v == 230.0
    assert seen.power_w == 36.0
    assert seen.crest == 3.0
    assert seen.current_a == pytest.approx(36 / 115)


def test_steps_repeat_from_the_start() -> None:
    load = parse_load("steps:2W@5s,9W@10s", time.monotonic)
    means = [load.mean(start, start + 1).power_w for start in (0, 4, 5, 9, 10, 15)]
    assert means == pytest.approx([2, 2, 9, 9, 2, 9])
    assert load.mean(4.0, 6.0).power_w == pytest.approx(5.5)
    assert load.mean(0.0, 100.0).power_w == pytest.approx(5.5)


def test_a_load_works_while_its_file_is_there(tmp_path: Path) -> None:
    file = tmp_path / "working"
    load = parse_load(f"while:{file},idle=20W,busy=36W,volts=230V", time.monotonic)
    seen = []
    for act in (file.touch, file.unlink, file.touch):
        seen.append(load.mean(0.0, 0.1).power_w)
        act()
    assert [*seen, load.mean(0.0, 0.1).power_w] == [20.0, 36.0, 20.0, 36.0]
    assert load.mean(0.0, 0.1).voltage_v == 230.0


def test_a_load_without_a_file_or_of_unknown_words_is_refused() -> None:
    for spec in ("while:", "while:,idle=2W", "while:f,idle=x", "while:f,often=2"):
        with pytest.raises(MeterError, match="cannot be used") as refused:
            parse_load(spec, time.monotonic)
        assert refused.value.code == "simulator-load"


@pytest.mark.parametrize(
    "name",
    ["wt310_readings_user_330.csv", "wt310_readings_lpirc.csv"],
)
def test_a_recording_of_2015_is_played_at_its_own_seconds_and_again(
    recordings: Path,
    name: str,
) -> None:
    load = parse_load(f"csv:{recordings / name}", time.monotonic)
    with (recordings / name).open(newline="") as lines:
        rows = [[float(cell) for cell in line] for line in csv.reader(lines)]
    length_s = rows[-1][4]
    for (*_, before_s), cells in itertools.pairwise(
        rows[: 1 + next(n for n, r in enumerate(rows) if r[4] == length_s)]
    ):
        for round_s in (0.0, length_s):
            seen = load.mean(round_s + before_s, round_s + cells[4])
            assert (seen.voltage_v, seen.current_a, seen.power_w) == pytest.approx(
                tuple(cells[:3]),
                rel=1e-6,
                abs=1e-12,
            )


def test_a_recorded_run_of_a_real_meter_is_a_load_of_the_energy_that_the_meter_integrated(
    recordings: Path,
) -> None:
    load = parse_load(
        f"csv:{recordings / 'wt310_readings_user_330.csv'}",
        time.monotonic,
    )
    assert load.mean(0.0, 30.0).power_w * 30 / 3600 == pytest.approx(
        0.000729776,
        rel=0.002,
    )


def write(
    path: Path,
    *readings: Reading,
) -> None:
    path.write_text("\n".join((header_line(), *map(row, readings))))


@pytest.mark.parametrize("state", [IntegratorState.STOP, IntegratorState.TIMEUP])
def test_what_was_read_after_the_end_of_the_integral_is_not_load(
    tmp_path: Path,
    reading: Any,
    state: IntegratorState,
) -> None:
    path = tmp_path / "rec.csv"
    inside = [
        reading(at_s, power_w=power_w)
        for at_s, power_w in ((0.0, 5.0), (1.0, 6.0), (2.0, 7.0))
    ]
    write(
        path,
        *inside,
        *(reading(at_s, power_w=100.0, state=state) for at_s in (5.0, 6.0)),
    )
    load = parse_load(f"csv:{path}", time.monotonic)
    assert [load.mean(at_s, at_s + 1.0).power_w for at_s in (0, 1, 2)] == pytest.approx(
        [6.0, 7.0, 6.0]
    )


def test_a_table_of_seconds_and_powers_holds_each_power_until_the_next(
    tmp_path: Path,
) -> None:
    path = tmp_path / "load.csv"
    path.write_text("seconds,power_w\n10,1\n10.25,4\n12.25,2\n")
    load = parse_load(f"csv:{path}", time.monotonic)
    times_s = [0.0, 0.25, 2.25, 4.25, 4.5]
    assert [
        load.mean(a, b).power_w for a, b in itertools.pairwise(times_s)
    ] == pytest.approx([1, 4, 2, 1])


def test_cpu_load_follows_a_process_until_it_is_gone(until: Any) -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        load = parse_load(f"cpu:{busy.pid},idle=2W,busy=9W", time.monotonic)
        assert load.mean(0.0, 1.0).power_w == 2.0
        until(lambda: load.mean(0.0, 1.0).power_w > 2.5)
        busy.kill()
    until(lambda: load.mean(0.0, 1.0).power_w == 2.0)


def test_what_a_shell_runs_counts_as_its_own(until: Any) -> None:
    with subprocess.Popen(
        ["sh", "-c", "while :; do :; done & read line; kill $!"],
        stdin=subprocess.PIPE,
    ) as shell:
        load = parse_load(f"cpu:{shell.pid},idle=2W,busy=9W", time.monotonic)
        until(lambda: load.mean(0.0, 1.0).power_w > 2.5)
        shell.communicate(b"\n")


def test_an_idle_process_draws_idle_power(until: Any) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "input()"],
        stdin=subprocess.PIPE,
    ) as idle:
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
        "cpu:1,idle=-1W",
        "noise:36W,sd=-1W",
        "noise:36W,seed=x",
        "noise:sd=1W",
        "constant:nanW",
        "constant:1W,colour=red",
        "constant:1W,pf=0",
        "steps:2W",
        "steps:2W@5s,9W@5s",
        "steps:2W@x",
        "csv:",
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


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("/does/not/exist", "/does/not/exist: No such file or directory."),
        (os.devnull, "not a regular file"),
    ],
)
def test_a_recording_that_cannot_be_read_is_named_with_the_reason(
    file: str, said: str
) -> None:
    with pytest.raises(MeterError) as caught:
        parse_load(f"csv:{file}", time.monotonic)
    assert caught.value.code == "simulator-load"
    assert said in caught.value.sentence
    assert "constant:36W" not in caught.value.sentence


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("steps:2W", "the step '2W' has no end, such as @5s. Did you"),
        ("steps:2W@x", "'x' is not a number of s"),
        ("constat:3W", "There is no load 'constat:3W'. Did you mean constant:3W?"),
        ("constant:W", "'W' is not a number of W"),
        (
            "constant:36,5W",
            "'5W' in '36,5W' is not known; did you mean 36.5W (the decimal sign is a point)?",
        ),
        ("constant:36W,9W", "'9W' in '36W,9W' is not known"),
        ("noise:36W,5W", "or sd=5W? Loads are"),
        ("noise:36W,sd=0,5W", "did you mean sd=0.5W (the decimal sign is a point)"),
        ("constant:36W,volts=230,5V", "did you mean volts=230.5V"),
        ("constant:36W,off", "'off' in '36W,off' is not known. Loads"),
        ("constant:36W,pf=1,pf=0.5", "pf is given twice"),
        ("cpu:1,2W", "did you mean idle=2W or busy=2W?"),
        ("while:f,busy=9,5W", "did you mean busy=9.5W"),
        (
            "steps:2,5W@5s",
            "'2' has no end, such as @5s. Did you mean steps:2.5W@5s?",
        ),
    ],
)
def test_what_is_wrong_in_a_load_is_said_in_words(
    spec: str,
    said: str,
) -> None:
    with pytest.raises(MeterError, match=re.escape(said)):
        parse_load(spec, time.monotonic)


@pytest.mark.parametrize(
    ("spec", "meant"),
    [
        ("step:2W,9W", "steps:2W@5s,9W@10s"),
        ("steps:2W@5s,9W", "steps:2W@5s,9W@10s"),
        ("steps:2W@5s;9W@10s", "steps:2W@5s,9W@10s"),
        ("2W@5s,9W@10s", "steps:2W@5s,9W@10s"),
        ("constant:36W;volts=230V", "constant:36W,volts=230V"),
        ("load=constant:36W", "constant:36W"),
        ("constant=36W", "constant:36W"),
        ("sim:constant:36W", "constant:36W"),
        ("Const 36W", "constant:36W"),
        ("36W", "constant:36W"),
        ("nois:36W,sd=1", "noise:36W,sd=1"),
    ],
)
def test_a_load_that_is_proposed_is_taken(spec: str, meant: str) -> None:
    with pytest.raises(MeterError, match=re.escape(f" Did you mean {meant}? Loads")):
        parse_load(spec, time.monotonic)
    parse_load(meant, time.monotonic)


@pytest.mark.parametrize("spec", ["constat:", "step:2W@x", "csvv:nowhere", "load=abc"])
def test_no_load_is_proposed_that_would_be_refused(spec: str) -> None:
    with pytest.raises(MeterError) as caught:
        parse_load(spec, time.monotonic)
    assert "Did you mean" not in caught.value.sentence


def test_a_load_may_feed_back() -> None:
    seen = parse_load("constant:-6W,pf=0.5", time.monotonic).mean(0.0, 1.0)
    assert seen.power_w == -6.0
    assert seen.current_a == 0.1


def test_noise_is_the_same_for_every_seed_and_different_for_another() -> None:
    first, again, other = (
        parse_load(f"noise:36W,sd=0.5W,seed={seed}", time.monotonic)
        for seed in (1, 1, 2)
    )
    means = [
        [load.mean(at / 10, (at + 1) / 10).power_w for at in range(1000)]
        for load in (first, again, other)
    ]
    assert means[0] == means[1] != means[2]
    assert statistics.mean(means[0]) == pytest.approx(36.0, abs=0.1)
    assert statistics.stdev(means[0]) == pytest.approx(0.5, abs=0.05)
    assert first.mean(0.0, 3600.0).power_w == pytest.approx(36.0, abs=1e-9)


@given(
    st.lists(
        st.floats(0.001, 5000.0),
        min_size=2,
        max_size=20,
        unique=True,
    )
)
def test_noise_has_one_integral_however_it_is_divided(times: list[float]) -> None:
    times.sort()
    parts = [NOISE.mean(a, b).power_w * (b - a) for a, b in itertools.pairwise(times)]
    whole = NOISE.mean(times[0], times[-1]).power_w * (times[-1] - times[0])
    assert sum(parts) == pytest.approx(whole, rel=1e-9, abs=1e-6)


def test_a_callable_is_a_load() -> None:
    load = Drawn(
        lambda start_s, end_s: 5.0 + (start_s + end_s) / 2,
        Wave(voltage_v=230.0),
    )
    assert load.mean(2.0, 4.0).power_w == 8.0
    assert load.mean(2.0, 4.0).current_a == pytest.approx(8 / 230)


def test_a_file_of_meter_record_is_a_load_with_the_energy_that_it_tells(
    tmp_path: Path,
    reading: Any,
) -> None:
    # Each reading is the mean since the one before it, whose power the third one does not know.
    powers_w = [50.0, 2.0, math.nan, 9.0, 4.0, 4.0]
    times_s = [10.0, 10.25, 10.5, 10.75, 11.0, 11.0]
    path = tmp_path / "rec.csv"
    taken = zip(times_s, powers_w, strict=True)
    write(
        path,
        *(
            reading(
                at_s,
                power_w=watts,
                voltage_v=230.0,
                current_a=watts / 230.0,
            )
            for at_s, watts in taken
        ),
    )
    load = parse_load(f"csv:{path}", time.monotonic)
    assert [
        load.mean(at_s, at_s + 0.25).power_w for at_s in (0.0, 0.25, 0.5, 0.75, 1.0)
    ] == pytest.approx([2.0, 9.0, 9.0, 4.0, 2.0])
    assert load.mean(0.0, 0.25).voltage_v == pytest.approx(230.0)


def test_a_recording_at_home_that_knows_only_the_power_is_drawn_at_mains_voltage(
    tmp_path: Path,
    reading: Any,
) -> None:
    path = tmp_path / "rec.csv"
    unknown = {"voltage_v": math.nan, "current_a": math.nan}
    write(path, *(reading(at_s, power_w=12.0, **unknown) for at_s in (0.0, 1.0)))
    seen = parse_load(f"csv:{path}", time.monotonic).mean(0.0, 1.0)
    assert (seen.voltage_v, seen.current_a, seen.power_w) == pytest.approx(
        (120.0, 0.1, 12.0)
    )


@pytest.mark.parametrize(
    ("powers_w", "told"),
    [
        ([6.0], "no power after"),
        ([6.0, math.nan], "no power after"),
    ],
)
def test_a_file_of_meter_record_without_any_power_is_no_load(
    tmp_path: Path,
    reading: Any,
    powers_w: list[float],
    told: str,
) -> None:
    path = tmp_path / "rec.csv"
    write(
        path,
        *(
            reading(float(at_s), power_w=power_w)
            for at_s, power_w in enumerate(powers_w)
        ),
    )
    with pytest.raises(MeterError, match=told) as caught:
        parse_load(f"csv:{path}", time.monotonic)
    assert caught.value.code == "simulator-load"
