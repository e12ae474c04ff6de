"""Curves of scores: a line for each team within the picture, and nothing where there is no line."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import pytest

from referee.pages.local_times import local_date, utc_moment
from referee.pages.score_curves import HEIGHT, MOST_CURVES, WIDTH, Curve, score_curves

START = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
HOSTILE = "<script>alert('1')</script>"


def curve(number: int, name: str, *scores: float) -> Curve:
    points = [(START + timedelta(days=day), score) for day, score in enumerate(scores)]
    return Curve(number, name, points)


def test_each_point_lies_in_the_picture_and_names_stay_names() -> None:
    drawn = score_curves(
        [curve(1, HOSTILE, 0.1, 0.4, 0.3), curve(2, "otters", 0.2, 0.25)],
        "Scores",
    )
    assert "<script" not in drawn
    assert "style=" not in drawn
    root = ElementTree.fromstring(str(drawn))  # noqa: S314 - our own
    dots = [one for one in root.iter() if one.tag == "circle"]
    assert len(dots) == 5
    for dot in dots:
        assert 0 < float(dot.attrib["cx"]) < WIDTH
        assert 0 < float(dot.attrib["cy"]) < HEIGHT
    heights = [float(dot.attrib["cy"]) for dot in dots]
    assert heights[1] == min(heights), "the highest score is highest"


@pytest.mark.parametrize(
    "curves",
    [
        [],
        [curve(1, "otters")],
        [curve(1, "otters", 0.5)],
        [curve(1, "otters", 0.0, 0.0)],
    ],
)
def test_where_there_is_no_line_there_is_no_picture(curves: list[Curve]) -> None:
    assert score_curves(curves, "Scores") == ""


def test_only_as_many_lines_as_can_be_told_apart() -> None:
    many = [curve(number, f"team {number}", 0.1, 0.2) for number in range(1, 20)]
    assert score_curves(many, "Scores").count("<polyline") == MOST_CURVES


def test_a_time_without_a_zone_is_utc() -> None:
    assert utc_moment("2026-05-04T09:00:00") == START
    assert "2026-05-04 09:00 UTC" in local_date("2026-05-04T11:00:00+02:00")
    assert math.isclose((utc_moment(START.isoformat()) - START).total_seconds(), 0)
