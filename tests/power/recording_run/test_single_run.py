"""Marks of a recording that may be killed are in its record now and then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lpirc_power.clocks import Clocks
from lpirc_power.marks.mark_list import MarkList
from lpirc_power.measurement_files.recorded_files import read_recorded
from lpirc_power.meter import Setup
from lpirc_power.record.document import Mark
from lpirc_power.record.record_file import read_record
from lpirc_power.recording_run.recorder import Order, Recorder
from lpirc_power.recording_run.single_run import keep_marks


class Course:
    """A course that ends after some looks; `between` is called at each."""

    def __init__(self, *between: Any) -> None:
        self.between = list(between)
        self.waited_s: list[float] = []

    def wait(self, longest_s: float) -> bool:
        self.waited_s.append(longest_s)
        if not self.between:
            return True
        self.between.pop(0)()
        return False


class Records:
    """Takes what a recorder would write."""

    def __init__(self) -> None:
        self.written: list[int] = []

    def note_marks(self, marks: Any) -> None:
        self.written.append(len(marks))


def test_new_marks_are_written_and_many_marks_less_often() -> None:
    marks = MarkList()
    records = Records()

    def more(count: int) -> Any:
        return lambda: [marks.add("a", 1.0, 2.0) for _ in range(count)]

    course: Any = Course(more(1), more(0), more(4999), more(0), more(1))
    recorder: Any = records
    keep_marks(course.wait, marks, [recorder])
    assert records.written == [1, 5000, 5001]
    assert course.waited_s[:2] == [10.0, 10.0]
    assert course.waited_s[-2:] == [50.0, 50.01]


def test_the_marks_of_a_recording_that_was_killed_are_read_back(
    simulate: Any, clocks: Clocks, tmp_path: Path, until: Any
) -> None:
    address = simulate("--load", "constant:36W").address
    order = Order(address, Setup(150.0, 0.5, 0.1, 0), tmp_path / "run.csv")
    recorder = Recorder(order, clocks)
    try:
        recorder.arm()
        with recorder.files():
            recorder.start()
            recorder.note_start()
            now_s = clocks.monotonic()
            recorder.note_marks([Mark("work", now_s, now_s + 0.1)])
            until(lambda: recorder.logbook.written > 5)
            found = read_recorded(tmp_path / "run.csv")
            recorder.stop()
        record = recorder.recorded().record
    finally:
        recorder.close()
    assert [one.name for one in found.marks] == ["work"]
    assert "was cut off" in found.doubts[0]
    assert record is not None
    # Once it has ended, the marks are those of the end.
    assert read_record(tmp_path / "run.json") == record
    assert record.marks == ()
