"""Once the energy has been read, nothing that COMMAND did to its files or its socket costs it."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.cli.page_file import write_page
from lpirc_power.errors import MeterError
from lpirc_power.measurement_files.any_measurement import read_any
from lpirc_power.measurement_files.recorded_files import (
    Group,
    Series,
    read_measurement,
    read_recorded,
)
from lpirc_power.meter import Setup
from lpirc_power.page.measurement_page import measurement_page
from lpirc_power.recording_run.course import Course
from lpirc_power.recording_run.logbook import Logbook
from lpirc_power.recording_run.recorder import Order, Recorder
from lpirc_power.recording_run.series_run import SeriesOrder, SeriesRun
from lpirc_power.report.recording_report import Recorded
from tests.power.cli.conftest import went_well
from tests.power.recording_run.test_logbook import files_up_to
from tests.timeouts import TIMEOUT_S

FIXED = ("--voltage-range", "150", "--current-range", "0.5", "--update", "0.1")
LONG_ENOUGH = "sleep 1; {}; sleep 1"


@pytest.fixture
def record(simulate: Any, meter: Any) -> Any:
    """Record a shell command of two seconds that does something in its middle."""
    address = simulate("--load", "constant:36W").address

    def run(act: str) -> Any:
        command = ("sh", "-c", LONG_ENOUGH.format(act))
        return meter(
            "record", address, "-o", "run.csv", *FIXED, "--json", "--", *command
        )

    return run


def energy_wh(ended: Any) -> float:
    return float(json.loads(ended.stdout.splitlines()[-1])["energy_wh"])


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (": > run.csv", "Something else wrote to run.csv"),
        ("echo garbage >> run.csv", "Something else wrote to run.csv"),
        ("echo garbage > run.csv", "Something else wrote to run.csv"),
        ("mv run.csv a; echo other > run.csv", "took the place of run.csv"),
        ("mv run.csv a; mkdir run.csv", "took the place of run.csv"),
    ],
)
def test_a_command_that_spoils_the_file_does_not_cost_the_energy_and_is_told(
    record: Any, tmp_path: Path, act: str, words: str
) -> None:
    ended = record(act)
    found_wh = energy_wh(ended)
    # On a busy machine the command takes longer, and so it takes more.
    assert 0.01 < found_wh < 0.2
    assert ended.returncode == 1
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr
    if (tmp_path / "run.csv").is_file():
        for name in ("run.csv", "run.json"):
            found = read_any(tmp_path / name)
            assert isinstance(found, Recorded)
            assert found.energy_wh == found_wh
            assert words in " ".join(found.doubts)


def test_a_file_that_the_command_removed_is_written_again(
    record: Any, tmp_path: Path
) -> None:
    ended = record("rm run.csv")
    assert went_well(ended) or "written again" in ended.stderr
    assert "run.csv was removed while it was recorded" in ended.stderr
    found = read_recorded(tmp_path / "run.csv")
    assert found.energy_wh == energy_wh(ended)
    assert found.rows == len(found.readings) > 10
    assert found.doubts == ()


@pytest.mark.parametrize("act", ["rm $M; mkdir $M", "rm $M; mkdir -p $M/a", "rm $M"])
def test_a_command_that_puts_a_folder_in_the_place_of_its_socket_does_not_cost_the_energy(
    record: Any, tmp_path: Path, act: str
) -> None:
    ended = record(act.replace("$M", '"$LPIRC_METER_MARKS"'))
    assert 0.01 < energy_wh(ended) < 0.2
    assert went_well(ended)
    assert read_recorded(tmp_path / "run.csv").energy_wh == energy_wh(ended)


def test_the_energy_is_in_the_record_while_the_end_is_still_told(
    simulate: Any, clocks: Any, tmp_path: Path
) -> None:
    order = Order(
        simulate("--load", "constant:36W").address,
        Setup(150.0, 0.5, 0.1, 0),
        tmp_path / "run.csv",
    )
    recorder = Recorder(order, clocks)
    try:
        recorder.arm()
        with recorder.files():
            recorder.start()
            recorder.note_start()
            measured = recorder.stop()
            # Here the program may be killed: what follows closes files and sockets.
            found = read_recorded(tmp_path / "run.json")
            assert found.energy_wh == measured.integrator_wh
    finally:
        recorder.close()


def test_a_second_recording_to_the_same_file_is_refused_even_with_force(
    tmp_path: Path,
) -> None:
    first = Logbook(tmp_path / "run.csv", force=False)
    with first.opened():
        second = Logbook(tmp_path / "run.csv", force=True)
        with pytest.raises(MeterError, match="Another recording"), second.opened():
            pytest.fail("it began")
        assert (tmp_path / "run.csv").read_text().startswith("monotonic_s")


def test_a_recording_that_ctrl_c_cut_short_says_so_in_lines_check_and_page(
    simulate: Any, started: Any, meter: Any, tmp_path: Path, until: Any
) -> None:
    address = simulate("--load", "constant:36W").address
    process = started(
        "record", address, "-o", "run.csv", *FIXED, "--duration", "100"
    )  # fmt: skip
    csv = tmp_path / "run.csv"
    until(lambda: csv.exists() and csv.read_text().count("\n") > 15)
    process.send_signal(signal.SIGINT)
    told, _ = process.communicate(timeout=TIMEOUT_S)
    assert "the recording was interrupted" in told
    checked = meter("check", "run.csv").stdout
    assert checked.splitlines()[0].endswith("the recording was interrupted")
    assert "before its work or its time was over" in checked
    page = measurement_page(read_recorded(csv))
    verdict = page[page.index('class="verdict') :][:300]
    assert "the recording was interrupted" in verdict
    assert "No check of severity error fails" not in page


def test_a_recording_that_was_killed_says_so_at_once_in_check_and_page(
    simulate: Any, started: Any, meter: Any, tmp_path: Path, until: Any
) -> None:
    address = simulate("--load", "constant:36W").address
    process = started("record", address, "-o", "run.csv", *FIXED)
    csv = tmp_path / "run.csv"
    until(lambda: csv.exists() and csv.read_text().count("\n") > 15)
    process.kill()
    process.communicate(timeout=TIMEOUT_S)
    first, *others = meter("check", "run.csv").stdout.splitlines()
    assert first.endswith("up to its last row: the recording was cut off")
    assert not any("at its end" in one for one in others)
    page = measurement_page(read_recorded(csv))
    assert "the recording was cut off" in page[page.index('class="verdict') :][:300]
    assert "No check of severity error fails" not in page


def test_of_two_recordings_of_one_name_only_the_first_goes_on(
    simulate: Any, clocks: Any, tmp_path: Path
) -> None:
    address = simulate("--load", "constant:36W").address
    order = Order(address, Setup(150.0, 0.5, 0.1, 0), tmp_path / "run.csv")
    first = Recorder(order, clocks)
    second = Recorder(order, clocks)
    try:
        with first.files():
            record = (tmp_path / "run.json").read_bytes()
            with pytest.raises(MeterError, match="another recording"), second.files():
                pytest.fail("it began")
            assert (tmp_path / "run.json").read_bytes() == record
    finally:
        first.close()
        second.close()


def test_several_meters_that_were_killed_have_a_record_of_all(
    simulate: Any, started: Any, tmp_path: Path, until: Any
) -> None:
    addresses = [
        f"{name}={simulate('--load', 'constant:36W').address}" for name in ("a", "b")
    ]
    process = started("record", *addresses, "-o", "run.csv", *FIXED, "--duration", "60")
    files = [tmp_path / "run.a.csv", tmp_path / "run.b.csv"]
    until(lambda: all(one.exists() and one.stat().st_size > 2000 for one in files))
    process.kill()
    process.communicate(timeout=TIMEOUT_S)
    found = read_measurement(tmp_path / "run.json")
    assert isinstance(found, Group)
    assert [one.broken for one in found.recordings.values()] == [
        "up to its last row: the recording was cut off"
    ] * 2


def test_a_page_that_cannot_be_written_is_told_by_the_name_that_was_given(
    tmp_path: Path,
) -> None:
    page = tmp_path / "run.html"
    with files_up_to(1000), pytest.raises(MeterError) as caught:
        write_page(page, "x" * 5000, force=False)
    assert caught.value.sentence == f"{page} cannot be written: File too large."
    assert list(tmp_path.iterdir()) == []


def test_a_signal_between_two_attempts_costs_none_that_was_made(
    simulate: Any, clocks: Any, tmp_path: Path
) -> None:
    address = simulate("--load", "constant:36W").address
    order = Order(
        address, Setup(150.0, 0.5, 0.1, 0), tmp_path / "run.csv", duration_s=1
    )

    def told(*_: object) -> None:
        raise KeyboardInterrupt

    series = SeriesRun(
        SeriesOrder(order, 3),
        lambda: Course(1.0, (), clocks.monotonic),
        clocks,
        told,
    )
    found = series.run()
    assert len(found.recordings) == 1
    assert "interrupted between two attempts" in found.record.stopped
    again = read_measurement(tmp_path / "run.json")
    assert isinstance(again, Series)
    assert again.record == found.record
