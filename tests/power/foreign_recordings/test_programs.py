"""Files as well-known programs write them: the energy is right, or the file is refused in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from lpirc_power.errors import MeterError
from lpirc_power.foreign.foreign_recording import (
    ForeignRecording,
    Reader,
    read_foreign,
)

PERF = "power/energy-pkg/,2002406532,100.00,,"
JETSON = "RAM 2448/7846MB (lfb 1x4MB) SWAP 0/3923MB (cached 0MB) CPU [1%@729,off] GR3D_FREQ 0%"
WTVIEWER = (
    "Store No.,Date,Time,Millisecond,U-E1(V),I-E1(A),P-E1(W),LAMBDA-E1(),WH-E1(Wh)\n"
)
MONSOON = "Time (s),Main Avg Current (mA),Main Avg Power (mW),Main Avg Voltage (V)\n"
FILES = {
    "perf stat -I 100": (
        "# started on Sun Aug 24 12:00:00 2026\n\n"
        + "".join(f"  {n / 10:.9f},1.95,Joules,{PERF}\n" for n in range(1, 101)),
        Reader(),
        100 * 1.95 / 3600,
    ),
    "perf stat with a decimal comma": (
        "".join(f"  {n},000000000;1,95;Joules;{PERF}\n" for n in range(1, 11)),
        Reader(),
        10 * 1.95 / 3600,
    ),
    "tegrastats": (
        "".join(
            f"03-01-2026 12:00:{n:02d} {JETSON} VDD_IN 5000mW/4900mW VDD_SOC 900mW/900mW\n"
            for n in range(11)
        ),
        Reader(),
        5.0 * 10 / 3600,
    ),
    "tegrastats without dates": (
        f"{JETSON} POM_5V_IN 2080/2080 POM_5V_GPU 0/0\n" * 11,
        Reader(interval_s=0.5),
        2.08 * 5 / 3600,
    ),
    "WTViewer": (
        WTVIEWER
        + "".join(
            f"{n},2026/03/01,12:00:{n // 2:02d},{500 * (n % 2)},120,0.3,36,1,{n * 0.005}\n"
            for n in range(11)
        ),
        Reader(),
        36.0 * 5 / 3600,
    ),
    "Monsoon": (
        MONSOON + "".join(f"{n * 0.2:.4f},100,400,4\n" for n in range(51)),
        Reader(),
        0.4 * 10 / 3600,
    ),
    "Joulescope": (
        "#time (s),current (A),voltage (V)\n"
        + "".join(f"{n / 2:.6f},0.1,5.0\n" for n in range(21)),
        Reader(is_dc=True),
        0.5 * 10 / 3600,
    ),
    "Home Assistant": (
        "entity_id,state,last_changed\n"
        + "".join(
            f"sensor.plug,{state},2026-04-24T10:00:{n:02d}.000Z\n"
            for n, state in enumerate([36, 36, 36, "unavailable", *[36] * 7])
        ),
        Reader(columns="power:W=state"),
        36.0 * 10 / 3600,
    ),
    "nvidia-smi": (
        "timestamp, index, power.draw [W]\n"
        + "".join(f"2026/03/01 12:00:{n:02d}.123, 0, 36.00 W\n" for n in range(11)),
        Reader(),
        36.0 * 10 / 3600,
    ),
    "an offset that changes with summer time": (
        "time,W\n2026-10-25T02:59:59+02:00,36\n2026-10-25T02:00:00+01:00,36\n",
        Reader(),
        36.0 / 3600,
    ),
}


def read(folder: Path, text: str, reader: Reader = Reader()) -> ForeignRecording:  # noqa: B008 - it is frozen
    path = folder / "old.csv"
    path.write_text(text, encoding="utf-8")
    return read_foreign(path, reader)


@pytest.mark.parametrize(("text", "reader", "energy_wh"), FILES.values(), ids=FILES)
def test_the_energy_is_that_of_the_file(
    tmp_path: Path, text: str, reader: Reader, energy_wh: float
) -> None:
    found = read(tmp_path, text, reader)
    assert found.readings[-1].energy_wh == pytest.approx(energy_wh, rel=1e-6)


SEVERAL_GPUS = "timestamp, index, power.draw [W]\n" + "".join(
    f"2026/03/01 12:00:{n:02d}.{gpu}23, {gpu}, {36 + gpu}.00 W\n"
    for n in range(3)
    for gpu in (0, 1)
)
HOME = "entity_id,state,last_changed\n" + "".join(
    f"sensor.{state},2026-04-24T10:00:{n:02d}.000Z\n"
    for n, state in enumerate(["power,36", "voltage,230"] * 3)
)
REFUSED = {
    "several GPUs": (
        SEVERAL_GPUS,
        Reader(),
        "holds several devices: 'index' is '0' in line 2 and '1' in line 3",
    ),
    "several sensors": (
        HOME,
        Reader(columns="power:W=state"),
        "holds several devices: 'entity_id' is 'sensor.power' in line 2",
    ),
    "several counters": (
        f"1.0,2.0,Joules,{PERF}\n1.0,1.0,Joules,power/energy-ram/,1,100.00,,\n",
        Reader(),
        "several counters of perf stat, 'energy-pkg', 'energy-ram'",
    ),
    "several sockets": (
        f"1.0,S0,1,2.0,Joules,{PERF}\n1.0,S1,1,1.0,Joules,{PERF}\n",
        Reader(),
        "several counters of perf stat, 'S0', 'S1'",
    ),
    "a whole run": (
        f"893.33,Joules,{PERF}\n",
        Reader(),
        "perf stat counted 893.33 J of a whole run",
    ),
    "not counted": (
        f"1.0,2.0,Joules,{PERF}\n2.0,<not counted>,Joules,{PERF}\n",
        Reader(),
        "line 2: perf stat has '<not counted>' at 2 s, after 1 s",
    ),
    "milliwatts that are not stated": (
        "s,U (V),I (A),Power\n0,5,0.1,500\n1,5,0.1,500\n",
        Reader(),
        "'Power', taken as W, is 1000 times voltage x current",
    ),
    "rails that change": (
        f"{JETSON} VDD_IN 5000mW/4900mW\n{JETSON} VDD_SOC 500mW/490mW\n",
        Reader(interval_s=1.0),
        "line 2, has the rails 'VDD_SOC' where those of line 1 should be, 'VDD_IN'",
    ),
    "a clock that is set back": (
        "time,W\n2026-10-25 02:59:59,36\n2026-10-25 02:00:00,36\n",
        Reader(),
        "if the clock was set back from summer time there, give the times with their offsets",
    ),
}


@pytest.mark.parametrize(("text", "reader", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_right_is_refused_in_one_sentence(
    tmp_path: Path, text: str, reader: Reader, said: str
) -> None:
    with pytest.raises(MeterError) as raised:
        read(tmp_path, text, reader)
    assert said in raised.value.sentence


def test_a_file_of_changes_holds_each_power_until_the_next(tmp_path: Path) -> None:
    rows = "".join(
        f"sensor.plug,{power},2026-04-24T{time}:00.000Z\n"
        for power, time in ((5, "10:00"), (100, "11:00"), (5, "11:06"), (5, "12:00"))
    )
    reader = Reader(columns="power:W=state")
    found = read(tmp_path, f"entity_id,state,last_changed\n{rows}", reader)
    assert found.holds
    energy_wh = 5.0 + 100 * 0.1 + 5 * 0.9
    assert found.readings[-1].energy_wh == pytest.approx(energy_wh)


def test_an_hour_that_a_clock_may_have_skipped_is_told(tmp_path: Path) -> None:
    before = "".join(f"2026-03-29 01:59:{second},36\n" for second in range(50, 60))
    after = "".join(f"2026-03-29 03:00:0{second},36\n" for second in range(5))
    notes = " ".join(read(tmp_path, f"time,W\n{before}{after}").notes)
    assert "if the clock was set to summer time there" in notes


def test_a_column_that_counts_the_rows_is_no_device(tmp_path: Path) -> None:
    rows = "".join(f"{n},{n},36\n" for n in range(11))
    found = read(tmp_path, f"index,time_s,power_w\n{rows}")
    assert found.readings[-1].energy_wh == pytest.approx(0.1)
