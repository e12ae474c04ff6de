"""Charts stay small and keep what matters."""

from __future__ import annotations

import re

import numpy as np

from referee.judging.course import Course, Phase, rates
from referee.report.charts import MOST_READINGS, curves_chart, envelope, power_chart, thinned
from referee.scoring import Curve


def test_a_long_recording_keeps_its_peaks() -> None:
    times, powers = np.arange(36_000.0), np.ones(36_000)
    powers[12_345], powers[23_456] = 40.0, 0.1
    x, y = envelope(times, powers, MOST_READINGS)
    assert len(x) <= MOST_READINGS
    assert (y.max(), y.min()) == (40.0, 0.1)
    assert (np.diff(x) > 0).all()


def test_thinned_points_keep_their_ends() -> None:
    x, _ = thinned(np.arange(5000.0), np.arange(5000.0), 1000)
    assert (len(x), x[0], x[-1]) == (1000, 0.0, 4999.0)


def test_a_day_of_everything_is_a_small_drawing_without_ids_that_clash() -> None:
    many = np.linspace(0, 600, 100_000)
    course = Course(600.0, *[many] * 4, ((0.0, Phase.WAITING),), (), rates(1, 1, 1.0, 1.0))
    curves = {
        one: Curve(np.arange(1, 5001), np.linspace(0, 1, 5000), np.geomspace(1, 0.1, 5000), np.ones(5000))
        for one in range(100)
    }
    names = {one: f"category $_{one}" for one in range(8)}
    drawings = [power_chart(course), curves_chart(curves, "all & some", names)]
    assert sum(map(len, drawings)) < 2_000_000
    assert 'aria-label="all &amp; some"' in drawings[1]
    assert "category $_7" in drawings[1]
    assert not [one for one in drawings if "http" in one]
    ids = [set(re.findall(r' id="([^"]*)"', one)) for one in drawings]
    assert ids[0]
    assert all(f"#{one}" in drawings[0] for one in ids[0])
