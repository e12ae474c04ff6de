"""Charts stay small and keep what matters."""

from __future__ import annotations

import re

import numpy as np

from lpirc_score import Curve
from lpirc_score.files.curve_drawings import inline_curves
from referee.judging.run_course import Course
from referee.judging.stop_band import StopBand
from referee.judging.stop_regret import StopRegret
from referee.report.run_chart import MOST_READINGS, envelope, time_chart


def test_a_long_recording_keeps_its_peaks() -> None:
    times = np.arange(36_000.0)
    powers = np.ones(36_000)
    powers[12_345] = 40.0
    powers[23_456] = 0.1
    x, y = envelope(times, powers, MOST_READINGS)
    assert len(x) <= MOST_READINGS
    assert y.max() == 40.0
    assert y.min() == 0.1
    assert (np.diff(x) > 0).all()


def test_a_day_of_everything_is_a_small_drawing_without_ids_that_clash() -> None:
    many = np.linspace(0, 600, 100_000)
    course = Course(600.0, *[many] * 4, (), 1.0, 1.0, 1.0)
    some = np.linspace(1, 600, 100)
    curves = {
        one: Curve(
            np.arange(1, 5001),
            np.linspace(0, 1, 5000),
            np.geomspace(1, 0.1, 5000),
            np.ones(5000),
        )
        for one in range(20)
    }
    names = {one: f"category $_{one}" for one in range(20)}
    flat = np.ones(100)
    band = StopBand(flat, 0.9 * flat, 1.1 * flat)
    known = np.ones(100, np.bool_)
    regret = StopRegret(some, some, some, 0 * some, flat, known, band, 1)
    drawings = [
        time_chart(course, regret),
        inline_curves(curves, names, "all & some"),
    ]
    assert sum(map(len, drawings)) < 1_000_000
    assert 'aria-label="all &amp; some"' in drawings[1]
    assert "category $_7" in drawings[1]
    assert not [one for one in drawings if "http" in one]
    ids = [set(re.findall(r' id="([^"]*)"', one)) for one in drawings]
    assert ids[0]
    assert all(f"#{one}" in drawings[0] for one in ids[0])
