from __future__ import annotations

import math

import pytest

from lpirc_power.marks import mark_list
from lpirc_power.marks.mark_list import MarkList, Wrong, clean
from lpirc_power.record.document import Mark


def test_marks_are_in_the_order_of_their_beginnings_whatever_order_they_came_in() -> (
    None
):
    marks = MarkList()
    marks.add("b", 2.0, 3.0)
    marks.begin(1, "open", 1.5)
    marks.add("a", 1.0, 4.0)
    assert marks.marks == (
        Mark("a", 1.0, 4.0),
        Mark("open", 1.5, None),
        Mark("b", 2.0, 3.0),
    )


def test_an_end_closes_its_beginning_and_needs_none() -> None:
    marks = MarkList()
    marks.begin(1, "a", 1.0)
    marks.end(1, "a", 1.0, 2.0)
    marks.end(2, "b", 1.0, 3.0)
    assert marks.marks == (Mark("a", 1.0, 2.0), Mark("b", 1.0, 3.0))


def test_a_stretch_that_ends_before_it_begins_is_no_mark() -> None:
    marks = MarkList()
    for end_s in (0.5, math.nan):
        with pytest.raises(Wrong):
            marks.add("a", 1.0, end_s)
    assert marks.marks == ()


def test_what_is_too_much_is_counted_and_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mark_list, "MOST_MARKS", 3)
    marks = MarkList()
    for number in range(5):
        marks.add("a", number, number)
    assert (len(marks.marks), marks.lost) == (3, 2)


def test_too_many_names_share_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mark_list, "MOST_NAMES", 2)
    marks = MarkList()
    for number, name in enumerate("abcab"):
        marks.add(name, number, number)
    names = [one.name for one in marks.marks]
    assert names == ["a", "b", "(other names)", "a", "b"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a", "a"),
        (" a b ", "a b"),
        ("\x1b[2J", "?[2J"),
        ("a\nb\0", "a?b?"),
        ("\ud800", "?"),
        ("\u202egnp", "?gnp"),
        ("x" * 1000, "x" * 97 + "..."),
        ("<script>", "<script>"),
    ],
)
def test_a_hostile_name_is_one_short_line_that_can_be_printed(
    name: str, shown: str
) -> None:
    assert clean(name) == shown


@pytest.mark.parametrize("name", ["", "  ", None, 5, ["a"]])
def test_what_is_no_name_is_refused(name: object) -> None:
    with pytest.raises(Wrong):
        clean(name)


def test_a_stretch_of_this_process_is_closed_by_an_exception_too() -> None:
    marks = MarkList()
    times_s = iter([1.0, 2.0])
    with pytest.raises(ZeroDivisionError), marks.stretch("a", lambda: next(times_s)):
        raise ZeroDivisionError
    assert marks.marks == (Mark("a", 1.0, 2.0),)


@pytest.mark.parametrize("time_s", [-1e305, 1e305, 1e13, math.inf])
def test_a_time_that_no_reader_of_the_record_takes_is_no_mark(time_s: float) -> None:
    marks = MarkList()
    low_s, high_s = sorted((time_s, 1.0))
    with pytest.raises(Wrong):
        marks.add("a", low_s, high_s)
    with pytest.raises(Wrong):
        marks.begin(1, "a", time_s)
    with pytest.raises(Wrong):
        marks.add("a", 1.0, 2.0, abs(time_s))
    assert marks.marks == ()
