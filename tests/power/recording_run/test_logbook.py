"""The file of a recording, whatever happens to the recording or to the disk."""

from __future__ import annotations

import contextlib
import resource
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lpirc_power.errors import MeterError, MeterLost
from lpirc_power.meter import Reading
from lpirc_power.recording import header_line, read_recording, row
from lpirc_power.recording_run.course import ProgramMissing
from lpirc_power.recording_run.logbook import Logbook
from tests.forbidden import LOOP, loop_at

Make = Callable[..., Reading]
FIXED = ("--voltage-range", "150", "--current-range", "0.5", "--update", "0.1")
FULL_AT_BYTES = 1000


@contextlib.contextmanager
def files_up_to(most_bytes: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def fail(
    logbook: Logbook,
    error: BaseException,
    *readings: Reading,
) -> None:
    with logbook.opened():
        for reading in readings:
            logbook.take(reading)
        raise error


@pytest.mark.parametrize(
    "error",
    [MeterError("meter-setup-changed", "x"), OSError(5, "x"), KeyboardInterrupt()],
)
def test_a_new_file_without_a_reading_is_gone_after_any_failure(
    tmp_path: Path,
    error: BaseException,
) -> None:
    with pytest.raises(type(error)):
        fail(Logbook(tmp_path / "run.csv", force=False), error)
    assert list(tmp_path.iterdir()) == []


def test_a_recording_that_fails_keeps_its_readings(
    tmp_path: Path,
    reading: Make,
) -> None:
    with pytest.raises(MeterError):
        fail(Logbook(tmp_path / "run.csv", force=False), MeterLost("x"), reading(1.0))
    assert read_recording(tmp_path / "run.csv") == [reading(1.0)]


def test_what_the_meter_showed_before_a_program_that_cannot_be_run_is_no_recording(
    tmp_path: Path,
    reading: Make,
) -> None:
    with pytest.raises(MeterError):
        fail(
            Logbook(tmp_path / "run.csv", force=False),
            ProgramMissing("x"),
            reading(1.0),
        )
    assert list(tmp_path.iterdir()) == []


def test_a_former_file_lives_until_the_first_reading(
    tmp_path: Path,
    reading: Make,
) -> None:
    path = tmp_path / "run.csv"
    path.write_text("precious, and longer than what comes" * 99)
    with pytest.raises(KeyboardInterrupt):
        fail(Logbook(path, force=True), KeyboardInterrupt())
    assert path.read_text().startswith("precious")
    logbook = Logbook(path, force=True)
    with logbook.opened():
        assert path.read_text().startswith("precious")
        logbook.take(reading(1.0))
        assert path.read_text() == f"{header_line()}\n{row(reading(1.0))}\n"
    assert read_recording(path) == [reading(1.0)]


def test_every_row_is_on_its_way_before_the_next_one(
    tmp_path: Path,
    reading: Make,
) -> None:
    logbook = Logbook(tmp_path / "run.csv", force=False)
    with logbook.opened():
        assert logbook.path.read_text() == header_line() + "\n"
        for count in (1, 2):
            logbook.take(reading(float(count)))
            assert len(read_recording(logbook.path)) == count


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(MeterError, match="is a folder") as caught:
        Logbook(tmp_path, force=True)
    assert caught.value.code == "recording-file"


@pytest.mark.parametrize("existed", [False, True])
def test_a_disk_that_gets_full_leaves_whole_rows(
    tmp_path: Path,
    reading: Make,
    existed: bool,
) -> None:
    path = tmp_path / "run.csv"
    if existed:
        path.write_text("former")
    logbook = Logbook(path, force=existed)
    with files_up_to(FULL_AT_BYTES), logbook.opened():
        for second in range(50):
            logbook.take(reading(float(second)))
    assert logbook.error is not None
    assert logbook.error.strerror == "File too large"
    assert len(logbook.readings) == 50
    kept = read_recording(path)
    assert kept == list(logbook.readings[: logbook.written])
    assert FULL_AT_BYTES - 150 < path.stat().st_size <= FULL_AT_BYTES


def test_a_disk_that_is_full_already_is_told_before_anything_is_measured(
    tmp_path: Path,
) -> None:
    logbook = Logbook(tmp_path / "run.csv", force=False)
    with (
        files_up_to(20),
        pytest.raises(MeterError, match="cannot be written: File too large") as caught,
        logbook.opened(),
    ):
        pytest.fail("it began")
    assert caught.value.code == "recording-file"
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_may_not_be_looked_at_is_not_taken_for_free(
    tmp_path: Path,
) -> None:
    place = loop_at(tmp_path / "loop")
    for path in (place, place / "readings.csv"):
        with pytest.raises(OSError, match=LOOP):
            Logbook(path, force=False)


def test_a_folder_that_was_removed_meanwhile_is_said_and_costs_no_reading(
    tmp_path: Path,
    reading: Make,
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    logbook = Logbook(folder / "run.csv", force=False)
    with logbook.opened():
        logbook.take(reading(1.0))
        shutil.rmtree(folder)
        logbook.take(reading(2.0))
    assert [one.monotonic_s for one in logbook.readings] == [1.0, 2.0]
    assert logbook.damage == (
        f"{folder / 'run.csv'} was removed while it was recorded, and cannot be written again "
        "(No such file or directory): its rows are lost."
    )
