"""A recording that a signal cut short: each part of the program says it, and none counts it."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from lpirc_power import DoubtfulEnergy, MeterError, mean_of
from lpirc_power import read_recorded as read_in_python
from lpirc_power.measurement_files.recorded_files import read_recorded
from lpirc_power.meter import Setup
from lpirc_power.page.measurement_page import measurement_page
from lpirc_power.recording_run.course import Course
from lpirc_power.recording_run.recorder import Order, Recorder
from tests.power.made_recordings import Made
from tests.timeouts import TIMEOUT_S

FIXED = ("--voltage-range", "150", "--current-range", "0.5", "--update", "0.1")
POLITE = """
import pathlib, signal, sys, time
for one in (signal.SIGINT, signal.SIGTERM):
    signal.signal(one, lambda *_: sys.exit(0))
pathlib.Path("ready").touch()
time.sleep(1000)
"""
"""A COMMAND that catches the signal and ends with exit code 0."""
TIMED = ("--duration", "100")
WITH_COMMAND = ("--", sys.executable, "-c", POLITE)


@pytest.fixture
def interrupt(simulate: Any, started: Any, tmp_path: Path, until: Any) -> Any:
    """Record, send a signal after some readings, and return what was told."""

    def run(ending: signal.Signals, *words: str) -> str:
        address = simulate("--load", "constant:36W").address
        process = started("record", address, "-o", "run.csv", *FIXED, *words)
        csv = tmp_path / "run.csv"
        until(lambda: csv.exists() and csv.read_text().count("\n") > 15)
        until(lambda: words != WITH_COMMAND or (tmp_path / "ready").exists())
        process.send_signal(ending)
        told, complaint = process.communicate(timeout=TIMEOUT_S)
        return str(told + complaint)

    return run


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("words", [TIMED, WITH_COMMAND], ids=["time", "command"])
def test_what_a_signal_cut_short_is_said_everywhere_and_counts_nowhere(
    interrupt: Any, meter: Any, tmp_path: Path, ending: signal.Signals, words: Any
) -> None:
    assert "the recording was interrupted" in interrupt(ending, *words)
    document = json.loads((tmp_path / "run.json").read_text())
    assert (document["ended"]["interrupted"], document["ended"]["exit_code"]) == (
        True,
        0,
    )
    assert "the recording was interrupted" in meter("check", "run.csv").stdout
    page = measurement_page(read_recorded(tmp_path / "run.csv"))
    assert "the recording was interrupted" in page[page.index('class="verdict') :][:300]
    with (
        pytest.warns(DoubtfulEnergy, match="was interrupted"),
        pytest.raises(MeterError, match="No recording counts"),
    ):
        mean_of([read_in_python(tmp_path / "run.csv")])
    Made(tmp_path).recording("other")
    compared = meter("compare", "run.csv", "other.csv")
    assert "A has no attempt that counts: run.csv was interrupted" in compared.stderr


def test_a_recording_until_ctrl_c_has_its_end_and_counts(
    interrupt: Any, tmp_path: Path
) -> None:
    assert "interrupted" not in interrupt(signal.SIGINT)
    assert read_recorded(tmp_path / "run.csv").broken == ""


def test_the_record_says_it_as_soon_as_it_has_the_energy(
    simulate: Any, clocks: Any, tmp_path: Path, until: Any
) -> None:
    address = simulate("--load", "constant:36W").address
    order = Order(address, Setup(150.0, 0.5, 0.1, 0), tmp_path / "run.csv")
    recorder = Recorder(order, clocks)
    try:
        recorder.arm()
        with recorder.files():
            recorder.start()
            recorder.note_start()
            until(lambda: recorder.logbook.written > 3)
            recorder.note_outcome(3, interrupted=True)
            recorder.stop()
            # Here the program may be killed: what follows restores the settings.
            found = read_recorded(tmp_path / "run.json").record
    finally:
        recorder.close()
    assert found is not None
    assert found.ended is not None
    assert (found.ended.exit_code, found.ended.interrupted) == (3, True)


def test_a_signal_after_the_end_cuts_nothing_short() -> None:
    now_s = [0.0]
    course = Course(1.0, (), lambda: now_s[0])
    with course.interruptible(), course.running():
        now_s[0] = 2.0
        assert course.wait()
        signal.raise_signal(signal.SIGINT)
    assert course.is_interrupted
    assert not course.is_cut_short
    other = Course(1.0, (), lambda: 0.0)
    with other.interruptible(), other.running():
        signal.raise_signal(signal.SIGINT)
        assert other.wait()
    assert other.is_cut_short
