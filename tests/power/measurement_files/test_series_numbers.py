"""A series' record is held against what its recordings say of their places in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lpirc_power.measurement_files.recorded_files import Series, read_measurement
from lpirc_power.record.document import LeftOut, Part, SeriesRecord
from lpirc_power.record.record_file import write_record
from lpirc_power.report.series_report import series_lines
from tests.power.made_recordings import Made

NAMES = ("warm-up 1", "attempt 1", "attempt 2", "attempt 3")


@pytest.fixture
def made(tmp_path: Path) -> Made:
    made = Made(tmp_path)
    for place, name in enumerate(NAMES):
        part = Part("series", "run.json", name)
        made.recording(name.replace(" ", "-"), start_s=60.0 * place, part=part)
    return made


def series(
    made: Made,
    attempts: tuple[str, ...],
    warm_up: tuple[str, ...] = (),
    left_out: tuple[LeftOut, ...] = (),
) -> Series:
    record = SeriesRecord(
        "test",
        _files(warm_up),
        _files(attempts),
        len(attempts),
        left_out=left_out,
    )
    path = made.folder / "run.json"
    write_record(path, record)
    found = read_measurement(path)
    assert isinstance(found, Series)
    return found


def _files(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{one.replace(' ', '-')}.json" for one in names)


def test_a_whole_series_lacks_nothing(made: Made) -> None:
    found = series(made, NAMES[1:], NAMES[:1])
    assert (found.shortfall, found.left_out) == ("", ())


def test_an_attempt_that_was_dropped_is_missed(made: Made) -> None:
    found = series(made, ("attempt 1", "attempt 3"))
    assert "its record lacks attempt 2, though later ones were made" in found.shortfall
    assert found.shortfall in "\n".join(series_lines(found))


def test_a_dropped_last_attempt_is_missed_though_the_series_says_it_wanted_fewer(
    made: Made,
) -> None:
    for place, name in enumerate(NAMES[1:], start=1):
        part = Part("series", "run.json", name, 3)
        made.recording(name.replace(" ", "-"), start_s=60.0 * place, part=part)
    assert series(made, NAMES[1:]).shortfall == ""
    found = series(made, ("attempt 1", "attempt 2"))
    assert found.record.wanted == 2
    assert "its record names 2 of 3 attempts, and not why" in found.shortfall


def test_an_attempt_that_is_left_out_with_its_reason_is_not_missed(made: Made) -> None:
    why = LeftOut("attempt 2", "It failed.", "attempt-2.json")
    found = series(made, ("attempt 1", "attempt 3"), (), (why,))
    assert found.shortfall == ""


def test_a_warm_up_that_is_listed_as_an_attempt_does_not_count(made: Made) -> None:
    found = series(made, ("warm-up 1", "attempt 1"))
    assert list(found.by_name) == ["attempt 1"]
    (left,) = found.left_out
    assert left.name == "warm-up 1"
    assert "was recorded as warm-up 1, and is listed as an attempt" in left.why


def test_an_attempt_that_is_listed_as_a_warm_up_is_missed(made: Made) -> None:
    found = series(made, ("attempt 2", "attempt 3"), ("attempt 1",))
    assert "its record lacks attempt 1" in found.shortfall


def test_a_number_beyond_all_reason_is_missed_at_once(made: Made) -> None:
    part = Part("series", "run.json", f"attempt {10**8 - 1}")
    made.recording("attempt-4", start_s=600.0, part=part)
    found = series(made, ("attempt 1", "attempt 4"))
    assert "lacks attempt 2, attempt 3, attempt 4, attempt 5, though" in found.shortfall
