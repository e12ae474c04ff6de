"""A series of which one attempt has no energy: read, checked and shown, and no figure is made of it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

from lpirc_power.measurement_files.recorded_files import Series, read_measurement
from lpirc_power.meter import Reading
from lpirc_power.page.measurement_page import measurement_page
from tests.power.made_recordings import SIX_WATTS, Made


def without_energy(reading: Reading) -> Reading:
    return replace(reading, energy_wh=math.nan)


def test_a_series_with_an_attempt_without_energy_has_a_page_and_no_deviation(
    tmp_path: Path,
) -> None:
    made = Made(tmp_path, change=without_energy)
    series = read_measurement(made.series("s", [SIX_WATTS, SIX_WATTS]))
    assert isinstance(series, Series)
    assert series.deviation_wh is None
    page = measurement_page(series)
    assert "s-2.csv has no energy: at the end its integrator shows nan Wh" in page
    assert "nan" not in page.casefold().replace("shows nan wh", "")


def test_a_series_of_which_one_attempt_is_left_says_what_ended_it(
    tmp_path: Path,
) -> None:
    path = Made(tmp_path).series("s", [SIX_WATTS])
    document = json.loads(path.read_text("utf-8"))
    document["stopped"] = "attempt 2 ended the series. No meter answers."
    path.write_text(json.dumps(document), "utf-8")
    page = measurement_page(read_measurement(path))
    assert "Attempt 2 ended the series. No meter answers." in page
