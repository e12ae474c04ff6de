"""What speaks against the interval of a series is in its lines, page, checks, comparison, JSON and mean."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from lpirc_power.comparison.attempts import Choice, side_of
from lpirc_power.comparison.comparing import compared
from lpirc_power.measurement_files.recorded_files import read_measurement, read_recorded
from lpirc_power.notebook.doubtful_energy import DoubtfulEnergy
from lpirc_power.notebook.mean_energy import mean_of
from lpirc_power.notebook.recording import Recording
from lpirc_power.page.series_page import series_page
from lpirc_power.report.check_report import series_warnings
from lpirc_power.report.series_report import Series, series_facts, series_lines
from tests import warm_programs
from tests.power.made_recordings import Made, steady

RISES = (6.0, 6.05, 6.1, 6.14, 6.17, 6.19)
TREND = "The energies rise from attempt to attempt, by 3."
STANDS_OUT = (6.0, 6.01, 5.99, 8.0, 6.005, 5.995)
OUTLIER = "Far outside the other attempts: attempt 4 by +33 %"
EVEN = (6.0, 6.02, 5.99, 6.01, 5.98, 6.0)


def series_of(folder: Path, powers_w: Sequence[float]) -> Series:
    path = Made(folder).series("run", [steady(one) for one in powers_w])
    found = read_measurement(path)
    assert isinstance(found, Series)
    return found


@pytest.mark.parametrize(("powers_w", "words"), [(RISES, TREND), (STANDS_OUT, OUTLIER)])
def test_lines_page_and_json_say_it(
    tmp_path: Path, powers_w: Sequence[float], words: str
) -> None:
    found = series_of(tmp_path, powers_w)
    (line,) = [one for one in series_lines(found) if words in one]
    assert line.startswith("warning          ")
    assert words.replace("+-", "\N{PLUS-MINUS SIGN}") in series_page(found)
    (told,) = found.warnings
    assert series_facts(found)["warnings"] == [told]
    assert series_warnings(found) == {"series_warnings": [told]}


def test_meter_check_says_it_in_words_and_in_json(
    tmp_path: Path, in_folder: Callable[..., str]
) -> None:
    series_of(tmp_path, RISES)
    assert f"warning          {TREND}" in in_folder("meter", "check", "run.json")
    for one in json.loads(in_folder("meter", "check", "run.json", "--json")):
        (told,) = one["series_warnings"]
        assert told.startswith(TREND)


@pytest.fixture
def in_folder(tmp_path: Path) -> Callable[..., str]:
    def run(*words: str) -> str:
        ended = warm_programs.run([*words], cwd=tmp_path)
        assert ended.returncode == 0, ended.stderr
        return str(ended.stdout)

    return run


def test_a_comparison_and_a_mean_in_python_say_it(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    rising = series_of(tmp_path, RISES).recordings
    even = series_of(tmp_path / "a", EVEN).recordings
    sides = (side_of("A", even, Choice()), side_of("B", rising, Choice()))
    told = compared(*sides, 0.02, is_paired=False).warnings
    assert [one for one in told if one.startswith(f"B: {TREND}")]
    assert not [one for one in told if one.startswith("A: ")]
    with pytest.warns(DoubtfulEnergy, match=TREND):
        mean_of([Recording(one) for one in rising])


def test_an_even_series_warns_of_nothing(tmp_path: Path) -> None:
    found = series_of(tmp_path, EVEN)
    assert found.warnings == ()
    assert series_facts(found)["warnings"] == []
    mean_of([Recording(one) for one in found.recordings])


@pytest.mark.parametrize(
    ("warm_up_s", "is_told"), [(10.0, False), (19.0, False), (30.0, True), (2.0, True)]
)
def test_a_warm_up_that_took_another_time_may_have_done_the_work(
    tmp_path: Path, warm_up_s: float, is_told: bool
) -> None:
    made = Made(tmp_path)
    series = read_measurement(made.series("run", [steady(6.0)] * 3))
    assert isinstance(series, Series)
    first = read_recorded(made.recording("first", length_s=warm_up_s))
    told = replace(series, warm_up=(first,)).warnings
    assert [one.startswith("The last warm-up took") for one in told] == [True] * is_told
