"""Recordings read back: whole, cut off, without their record, beside the wrong one, and from strangers."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.energy import Measurement
from lpirc_power.errors import MeterError
from lpirc_power.marks.mark_list import LONGEST_NAME, MOST_MARKS
from lpirc_power.measurement_files.any_measurement import read_any
from lpirc_power.measurement_files.recorded_files import (
    Group,
    Series,
    read_measurement,
    read_recorded,
)
from lpirc_power.meter import Identity, IntegratorState, Reading, Setup
from lpirc_power.meter_standing import Standing
from lpirc_power.page.measurement_page import measurement_page
from lpirc_power.record.document import (
    Ended,
    GroupRecord,
    Mark,
    Member,
    Moment,
    Record,
    SeriesRecord,
    Started,
)
from lpirc_power.record.record_file import LARGEST_BYTES, read_record, write_record
from lpirc_power.recording import header_line, row
from lpirc_power.report.check_report import check_lines, what_lacks
from lpirc_power.report.recording_report import Recorded
from lpirc_power.report.recording_words import recorded_lines
from lpirc_power.sampling.polling import Idle
from lpirc_power.sampling.sampling_thread import LinkEvent
from tests.power.made_recordings import Made

IDENTITY = Identity("YOKOGAWA", "WT310E", "S1", "F1.03")
SETUP = Setup(150.0, 0.1, 0.1, 0)
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
Stored = Callable[..., Recorded]


def at(monotonic_s: float) -> Moment:
    return Moment(monotonic_s, BEGAN + timedelta(seconds=monotonic_s))


@pytest.fixture
def stored(tmp_path: Path, reading: Callable[..., Reading]) -> Stored:
    """Store 10 s of 6 W as run.csv and run.json, and return the recording; what differs is given by name."""

    def store(
        name: str = "run", *, start_s: float = 0.0, ends: bool = True, **different: Any
    ) -> Recorded:
        times_s = [start_s + 0.1 * number for number in range(1, 101)]
        readings = [reading(one, utc=at(one).utc) for one in times_s]
        last_s = start_s + 10.1
        last = reading(last_s, utc=at(last_s).utc, state=IntegratorState.STOP)
        readings += [last] if ends else []
        csv = tmp_path / f"{name}.csv"
        csv.write_text("\n".join([header_line(), *map(row, readings)]) + "\n")
        measured = Measurement(
            last.energy_wh,
            last.integrator_s,
            start_s,
            start_s + 10.0,
            SETUP,
            "WT310E",
            limits_of("WT310E"),
            start_stop_s=0.02,
            standing=Standing.OFFICIAL,
        )
        idle = Idle(1.0, 2.0, 20)
        links = (LinkEvent("meter-lost", 1.0, at(1.0).utc, "It is lost."),)
        marks = (Mark("inference", start_s + 1.0, start_s + 2.0),)
        rows = len(readings)
        digest = hashlib.sha256(csv.read_bytes()).hexdigest()
        ended = Ended(
            measured, at(last_s), row(last), rows, rows, digest, links, 0, marks
        )
        started = Started(IDENTITY, Standing.OFFICIAL, at(start_s), idle)
        record = Record(
            "0.1.0", "TCPIP::1.2.3.4::INSTR", csv.name, "host", at(start_s).utc, SETUP, ("./detect",),
            started, replace(ended, **different) if ends else None,
        )  # fmt: skip
        write_record(csv.with_suffix(".json"), record)
        return Recorded(
            IDENTITY, measured, readings, idle, links, str(csv), rows, marks, record
        )

    return store


def refused(path: Path) -> MeterError:
    with pytest.raises(MeterError) as raised:
        read_measurement(path)
    return raised.value


@pytest.mark.parametrize("given", ["run.csv", "run.json"])
def test_a_recording_is_back_whole_from_either_file(
    stored: Stored, tmp_path: Path, given: str
) -> None:
    recorded = stored()
    found = read_recorded(tmp_path / given)
    listed = replace(found, readings=list(found.readings))
    assert repr(listed) == repr(recorded)
    assert found.energy.limit == recorded.energy.limit
    assert found.checks == recorded.checks


def test_a_pair_that_was_renamed_is_found_from_either_file(
    stored: Stored, tmp_path: Path
) -> None:
    stored()
    for suffix in (".csv", ".json"):
        (tmp_path / f"run{suffix}").rename(tmp_path / f"other{suffix}")
        # What took the name since is another one.
    stored(start_s=500.0)
    for suffix in (".csv", ".json"):
        assert read_recorded(tmp_path / f"other{suffix}").measured.start_s == 0.0


def test_a_csv_alone_has_an_energy_but_neither_meter_nor_limits(
    stored: Stored, tmp_path: Path
) -> None:
    whole = stored()
    (tmp_path / "run.json").unlink()
    found = read_recorded(tmp_path / "run.csv")
    assert found.measured.integrator_wh == whole.measured.integrator_wh
    assert found.measured.elapsed_s == pytest.approx(10.0, abs=0.2)
    assert (found.measured.setup.voltage_range_v, found.uncertainty) == (150.0, None)
    assert found.measured.setup.update_interval_s == pytest.approx(0.1)
    assert not found.standing.official
    assert "no uncertainty" in found.doubts[0]
    assert len(found.doubts) == 1


def test_a_json_file_of_somebody_else_beside_a_csv_is_not_its_record(
    stored: Stored, tmp_path: Path
) -> None:
    stored()
    for other in ("", "{", '{"energy_wh": 1}', "[1]", '{"kind": "contest"}'):
        (tmp_path / "run.json").write_text(other)
        assert read_recorded(tmp_path / "run.csv").record is None


@pytest.mark.parametrize("tail", ["10.1,2026-01-01T00:00:10.1", "10.", "\0" * 500, ""])
def test_a_recording_that_was_cut_off_has_the_energy_of_its_last_row_and_says_so(
    stored: Stored, tmp_path: Path, tail: str
) -> None:
    stored(ends=False)
    csv = tmp_path / "run.csv"
    with csv.open("a") as file:
        file.write(tail)  # cut by a power failure
    found = read_recorded(tmp_path / "run.json")
    assert found.rows == len(found.readings) == 100
    assert found.energy_wh == pytest.approx(6.0 * 10.0 / 3600.0)
    assert found.identity == IDENTITY
    assert found.uncertainty is not None
    assert found.doubts[0].startswith("The recording was cut off")
    assert found.unchecked == ("range-changed",)


def test_a_csv_alone_that_ends_while_the_meter_ran_says_that_it_may_be_cut_off(
    stored: Stored, tmp_path: Path
) -> None:
    stored(ends=False)
    (tmp_path / "run.json").unlink()
    assert "cut off" in read_recorded(tmp_path / "run.csv").doubts[1]


@pytest.mark.parametrize("rows", [0, 1, 60, 100])
@pytest.mark.parametrize("tail", ["", "10.", "\0" * 500])
def test_a_csv_that_a_power_failure_cut_behind_its_record_has_the_energy_of_the_record(
    stored: Stored, tmp_path: Path, rows: int, tail: str
) -> None:
    whole = stored()
    csv = tmp_path / "run.csv"
    lines = csv.read_text().splitlines(keepends=True)[: rows + 1]
    csv.write_text("".join(lines) + tail)
    for given in (csv, csv.with_suffix(".json")):
        found = read_recorded(given)
        assert found.energy_wh == whole.energy_wh
        assert found.rows == rows
        assert f"{101 - rows} of 101 readings are not in {csv}" in found.doubts[0]
        assert measurement_page(found)


def test_a_record_whose_csv_is_gone_has_the_energy_and_names_the_file(
    stored: Stored, tmp_path: Path
) -> None:
    whole = stored()
    (tmp_path / "run.csv").unlink()
    found = read_recorded(tmp_path / "run.json")
    assert found.energy_wh == whole.energy_wh
    assert "101 of 101 readings are not in" in found.doubts[0]
    assert "run.csv" in found.doubts[0]
    assert measurement_page(found)


def test_a_record_without_an_end_whose_csv_is_missing_names_it(
    stored: Stored, tmp_path: Path
) -> None:
    stored(ends=False)
    (tmp_path / "run.csv").unlink()
    error = refused(tmp_path / "run.json")
    assert error.code == "recording-unreadable"
    assert "run.csv" in error.sentence


@pytest.mark.parametrize("ends", [True, False])
def test_the_record_of_another_recording_is_refused(
    stored: Stored, tmp_path: Path, ends: bool
) -> None:
    stored(ends=ends)
    record = (tmp_path / "run.json").read_bytes()
    (tmp_path / "run.csv").unlink()
    stored(start_s=500.0, ends=ends)
    if not ends:  # the host was started again: its clock began anew
        text = record.decode().replace("2026-01-01", "2025-12-31")
        record = text.encode()
    (tmp_path / "run.json").write_bytes(record)
    error = refused(tmp_path / "run.csv")
    assert error.code == "recording-record"
    assert "move run.json away" in error.sentence


def test_a_reading_that_was_changed_afterwards_is_noticed(
    stored: Stored, tmp_path: Path
) -> None:
    stored()
    csv = tmp_path / "run.csv"
    csv.write_text(csv.read_text().replace(",6.0,", ",5.0,", 1))
    assert refused(csv).code == "recording-record"


def test_readings_that_a_full_disk_lost_are_counted_and_the_energy_is_kept(
    stored: Stored, tmp_path: Path
) -> None:
    whole = stored(readings=150)
    found = read_recorded(tmp_path / "run.csv")
    assert found.energy_wh == whole.energy_wh
    assert found.doubts[0].startswith("49 of 150 readings are not in ")


@pytest.mark.parametrize(("step_s", "is_said"), [(0.4, False), (-3600.0, True)])
def test_a_clock_that_was_set_during_a_recording_is_said(
    stored: Stored, tmp_path: Path, step_s: float, is_said: bool
) -> None:
    stored(end=Moment(10.1, at(10.1 + step_s).utc))
    doubts = read_recorded(tmp_path / "run.csv").doubts
    assert [one for one in doubts if "was set by -3600.0 s" in one] == list(doubts)
    assert bool(doubts) is is_said


@pytest.mark.parametrize("has_record", [False, True])
def test_a_clock_that_was_set_is_said_of_a_csv_alone_and_of_a_recording_cut_off(
    stored: Stored, tmp_path: Path, has_record: bool
) -> None:
    stored(ends=False)
    csv = tmp_path / "run.csv"
    if not has_record:
        (tmp_path / "run.json").unlink()
    assert not any("wall clock" in one for one in read_recorded(csv).doubts)
    lines = csv.read_text().splitlines()
    later = [line.replace("T00:00:", "T01:00:") for line in lines[51:]]
    assert later != lines[51:]
    csv.write_text("\n".join([*lines[:51], *later]) + "\n")
    doubts = read_recorded(csv).doubts
    assert any("wall clock was set by +3600.0 s" in one for one in doubts)


def test_a_clock_that_was_set_and_set_back_is_said(tmp_path: Path) -> None:
    made = Made(tmp_path)

    def later(one: Reading) -> Reading:
        is_set = 2.0 < one.monotonic_s < 3.0
        return replace(one, utc=one.utc + timedelta(hours=1)) if is_set else one

    (doubt,) = read_recorded(made.recording(change=later)).doubts
    assert "wall clock was set by +3600.0 s" in doubt
    assert read_recorded(made.recording()).doubts == ()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("format", 2), ("format", 0), ("format", "1"), ("format", 10**400), ("file", "../run.csv"),
        ("file", "/etc/passwd"), ("file", "a\\b.csv"), ("file", ""), ("setup", None),
        ("command", "./detect"), ("started", {}), ("ended", []), ("host", "\ud800"),
    ],
)  # fmt: skip
def test_a_hostile_record_is_refused_in_one_sentence(
    stored: Stored, tmp_path: Path, field: str, value: object
) -> None:
    stored()
    path = tmp_path / "run.json"
    document = json.loads(path.read_text()) | {field: value}
    path.write_text(json.dumps(document))
    error = refused(path)
    assert error.code == "recording-record"
    assert str(path) in error.sentence
    assert len(error.sentence) < 200 + len(str(path))


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        (("ended", "readings"), -5, "ended.readings is -5"),
        (("ended", "marks_lost"), -1, "ended.marks_lost is -1"),
        (("started", "idle", "standard_w"), -1.0, "started.idle.standard_w is -1"),
        (("started", "idle", "spread_w"), -0.1, "started.idle.spread_w is -0.1"),
        (("ended", "marks", 0, "doubt_s"), -5.0, "ended.marks.doubt_s is -5"),
    ],
)
def test_figures_that_cannot_be_below_0_are_refused(
    tmp_path: Path, place: tuple[str | int, ...], value: float, told: str
) -> None:
    idle = Idle(2.0, 5.0, 50, 0.01, 0.002, 9.0, 120.0, 2.0 / 120.0, 2.0)
    Made(tmp_path, idle=idle, marks=(Mark("x", 1.0, 2.0),)).recording()
    path = tmp_path / "run.json"
    assert read_recorded(path).above_idle_wh
    document = json.loads(path.read_text())
    changed: Any = document
    for name in place[:-1]:
        changed = changed[name]
    changed[place[-1]] = value
    path.write_text(json.dumps(document))
    assert told in refused(path).sentence


@pytest.mark.parametrize("end_s", [0.5, "NAN", "INF"])
def test_a_mark_that_ends_before_it_begins_is_refused(
    stored: Stored, tmp_path: Path, end_s: object
) -> None:
    stored()
    path = tmp_path / "run.json"
    document = json.loads(path.read_text())
    document["ended"]["marks"] = [{"name": "x", "begin_s": 1.0, "end_s": end_s}]
    path.write_text(json.dumps(document))
    assert "the mark 'x'" in refused(path).sentence


def test_json_that_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"a":' * 200_000)
    assert "not JSON" in refused(tmp_path / "run.json").sentence


HOSTILE = "A\nchecks all hold\x1b[2J\x1b[31m\u202e\u2028"


def texts(value: object) -> Iterator[str]:
    """Yield every text in a value, however deep."""
    if isinstance(value, str):
        yield value
    elif is_dataclass(value):
        for field in fields(value):
            yield from texts(getattr(value, field.name))
    elif isinstance(value, tuple):
        for one in value:
            yield from texts(one)


def test_no_text_of_a_strangers_record_acts_on_a_terminal(
    stored: Stored, tmp_path: Path
) -> None:
    stored()
    path = tmp_path / "run.json"
    document = json.loads(path.read_text())
    document["command"] = document["ended"]["measured"]["changes"] = [HOSTILE]
    document["host"] = document["program"] = document["ended"]["damage"] = HOSTILE
    document["started"]["identity"] = dict.fromkeys(
        ("maker", "model", "serial", "firmware"), HOSTILE
    )
    document["ended"]["marks"][0]["name"] = HOSTILE
    document["ended"]["links"][0]["sentence"] = HOSTILE
    path.write_text(json.dumps(document))
    found = read_recorded(path)
    shown = list(texts(found.record))
    assert sum("checks all hold" in one for one in shown) == 11
    assert all(one.isprintable() for one in shown)
    lines = [*check_lines(found), *recorded_lines(found)]
    assert all(line.isprintable() for line in lines)


def test_limits_and_standing_of_a_known_meter_are_those_of_its_driver_and_the_difference_is_said(
    stored: Stored, tmp_path: Path
) -> None:
    whole = stored()
    path = tmp_path / "run.json"
    document = json.loads(path.read_text())
    document["ended"]["measured"]["limits"]["reading_share"] = 1e-6
    document["address"] = "sim:"
    path.write_text(json.dumps(document))
    found = read_recorded(path)
    assert found.uncertainty == whole.uncertainty
    assert (found.standing, found.measured.official) == (Standing.SIMULATED, False)
    assert found.doubts[:2] == (
        "The record states other limits of error of this WT310E than the driver here: reading_share = 1e-06, not "
        "0.001. Those of the driver are used.",
        "The record states the standing official of this meter, and the driver here simulated, which is used.",
    )


def test_a_recording_that_a_series_names_twice_is_refused(
    stored: Stored, tmp_path: Path
) -> None:
    stored("run-1")
    names = ("run-1.json", "run-1.json")
    write_record(tmp_path / "run.json", SeriesRecord("0.1.0", (), names, wanted=2))
    assert "names run-1.json twice" in refused(tmp_path / "run.json").sentence


def test_a_series_that_lacks_attempts_without_a_reason_is_not_whole(
    stored: Stored, tmp_path: Path
) -> None:
    stored("run-1")
    path = tmp_path / "run.json"
    for wanted, is_said in ((5, True), (1, False)):
        write_record(path, SeriesRecord("0.1.0", (), ("run-1.json",), wanted=wanted))
        said = what_lacks(read_measurement(path))
        assert bool(said) is is_said
        assert all("names 1 of 5 attempts" in one for one in said)


def test_the_record_of_the_most_marks_with_the_longest_names_can_be_read(
    stored: Stored, tmp_path: Path
) -> None:
    some = 1000
    name = "\N{GRINNING FACE}" * LONGEST_NAME
    marks = tuple(Mark(name, 1.0 + one / 3e5, 2.0, 1 / 3) for one in range(some))
    whole = stored(marks=marks)
    path = tmp_path / "run.json"
    assert read_recorded(path).marks == marks
    assert whole.record is not None
    assert path.stat().st_size / some * MOST_MARKS < LARGEST_BYTES


def test_why_a_record_beside_a_csv_is_not_read_is_said(
    stored: Stored, tmp_path: Path
) -> None:
    stored()
    with (tmp_path / "run.json").open("r+b") as file:
        file.truncate(LARGEST_BYTES + 1)
    doubt = read_recorded(tmp_path / "run.csv").doubts[0]
    assert f"it has more than {LARGEST_BYTES} bytes" in doubt
    assert "There is no record" not in doubt


def test_a_name_that_is_no_text_does_not_make_a_record_unreadable(
    stored: Stored, tmp_path: Path
) -> None:
    whole = stored()
    assert whole.record is not None
    path = tmp_path / "run.json"
    write_record(path, replace(whole.record, file="\udcff.csv"))
    found = read_record(path)
    assert isinstance(found, Record)
    assert found.file == "?.csv"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name")
def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    for read in (read_any, read_measurement):
        with pytest.raises(MeterError, match="not a regular file"):
            read(path)


def test_a_series_is_read_with_its_warm_up(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        Made(tmp_path).recording(f"run-{number}", start_s=100.0 * number)
    names = ("run-1.json",), ("run-2.json", "run-3.json")
    write_record(tmp_path / "run.json", SeriesRecord("0.1.0", *names, wanted=2))
    found = read_measurement(tmp_path / "run.json")
    assert isinstance(found, Series)
    assert [one.measured.start_s for one in found.recordings] == [200.0, 300.0]
    assert [one.measured.start_s for one in found.warm_up] == [100.0]


def test_a_group_is_read_by_name_with_the_offsets_of_its_windows(
    stored: Stored, tmp_path: Path
) -> None:
    stored("run.main")
    stored("run.board", start_s=0.25)
    members = (
        Member("main", "run.main.json"),
        Member("board", "run.board.json"),
        Member("lost", "run.lost.json", "It did not answer."),
    )
    write_record(tmp_path / "run.json", GroupRecord("0.1.0", members))
    found = read_measurement(tmp_path / "run.json")
    assert isinstance(found, Group)
    assert found.start_offsets_s == {"main": 0.0, "board": 0.25}
    assert found.end_offsets_s == {"main": 0.0, "board": 0.25}


def test_who_needs_one_recording_and_is_given_a_series_is_told(
    stored: Stored, tmp_path: Path
) -> None:
    stored("run-1")
    record = SeriesRecord("0.1.0", (), ("run-1.json",), wanted=1)
    write_record(tmp_path / "run.json", record)
    with pytest.raises(MeterError, match="is the record of a series"):
        read_recorded(tmp_path / "run.json")


def test_a_record_that_cannot_be_written_leaves_the_former_one(
    stored: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored()
    path = tmp_path / "run.json"
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_record(path, SeriesRecord("0.1.0", (), (), wanted=1))
    assert path.read_bytes() == before
    assert sorted(one.name for one in tmp_path.iterdir()) == ["run.csv", "run.json"]


def test_a_folder_is_refused_with_what_to_name(tmp_path: Path) -> None:
    with pytest.raises(MeterError, match=r"but a folder; name a file in it\.$"):
        read_any(tmp_path)
