"""An energy above idle below 0 by more than its interval: the idle was not idle, and everything says so."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lpirc_power.comparison.attempts import Choice, Compared, side_of
from lpirc_power.energy.budget import Budget, Distribution, Term
from lpirc_power.energy.idle_check import above_idle
from lpirc_power.errors import MeterError
from lpirc_power.measurement_files.recorded_files import read_measurement
from lpirc_power.notebook.mean_energy import mean_of
from lpirc_power.notebook.recording import Recording
from lpirc_power.page.recording_page import recording_page
from lpirc_power.page.series_page import series_page
from lpirc_power.report.check_report import check_lines
from lpirc_power.report.recording_report import Recorded, recorded_facts
from lpirc_power.report.recording_words import recorded_lines
from lpirc_power.report.series_report import Series, series_lines
from lpirc_power.sampling.polling import Idle
from tests.power.made_recordings import Made, steady

WORDS = "the load was not idle, or it was another one"


def idle(power_w: float) -> Idle:
    return Idle(power_w, 5.0, 50, 0.02, 0.005, 9.0, 120.0, power_w / 120.0, power_w)


def recorded(folder: Path, idle_w: float) -> Recorded:
    """A load of 6 W for 10 s, after this idle power."""
    found = read_measurement(Made(folder, idle=idle(idle_w)).recording())
    assert isinstance(found, Recorded)
    return found


def test_an_idle_power_above_that_of_the_work_fails_everywhere(tmp_path: Path) -> None:
    found = recorded(tmp_path, 9.0)
    assert found.checks[-1].code == "above-idle"
    assert not found.checks[-1].ok
    assert found.failed == ()
    for lines in (recorded_lines(found), check_lines(found)):
        (line,) = [
            one for one in lines if one.startswith("warning          above-idle")
        ]
        assert WORDS in line
        (line,) = [one for one in lines if one.startswith("above idle ")]
        assert "not to be used: above-idle fails" in line
    assert WORDS in recording_page(found)
    assert WORDS in Recording(found)._repr_html_()
    facts = json.loads(json.dumps(recorded_facts(found)))
    assert [one["code"] for one in facts["checks"] if not one["ok"]] == ["above-idle"]


@pytest.mark.parametrize("idle_w", [2.0, 6.0])
def test_an_idle_power_up_to_that_of_the_work_holds(
    tmp_path: Path, idle_w: float
) -> None:
    found = recorded(tmp_path, idle_w)
    assert found.checks[-1].code == "above-idle"
    assert found.checks[-1].ok
    assert "not to be used" not in "\n".join(recorded_lines(found))


def test_a_recording_without_an_idle_power_has_no_such_check(tmp_path: Path) -> None:
    found = read_measurement(Made(tmp_path).recording())
    assert isinstance(found, Recorded)
    assert "above-idle" not in [one.code for one in found.checks]


def test_a_comparison_and_a_mean_above_idle_say_why_they_are_refused(
    tmp_path: Path,
) -> None:
    found = recorded(tmp_path, 9.0)
    with pytest.raises(MeterError, match=WORDS):
        side_of("A", [found], Choice(Compared(is_above_idle=True)))
    with pytest.raises(MeterError, match=WORDS):
        mean_of([Recording(found)], above_idle=True)


def test_a_series_names_the_attempts_whose_idle_was_not_idle(tmp_path: Path) -> None:
    loads = (steady(6.0), steady(6.1), steady(5.9))
    found = read_measurement(Made(tmp_path, idle=idle(9.0)).series("run", loads))
    assert isinstance(found, Series)
    lines = series_lines(found)
    assert [one for one in lines if one.startswith("warning          above-idle (all)")]
    assert WORDS in series_page(found)


def budget(energy_wh: float, half_width: float | None) -> Budget:
    """An energy with one error of this limit, whose interval ends at 95.45 % of it."""
    term = Term("x", "x", half_width, "Wh", Distribution.RECTANGULAR, 1.0, "why")
    return Budget(energy_wh, (term,))


@pytest.mark.parametrize(
    ("energy_wh", "half_width", "ok"),
    [
        (-0.96, 1.0, False),
        (-0.95, 1.0, True),
        (0.5, 1.0, True),
        (-0.01, None, False),
        (0.01, None, True),
    ],
)
def test_the_check_fails_beyond_the_stated_interval_alone(
    energy_wh: float, half_width: float | None, ok: bool
) -> None:
    found = above_idle(budget(energy_wh, half_width), 9.0)
    assert found.ok is ok
    assert found.severity == "warning"
    assert ("unknown" in found.sentence) is (half_width is None and not ok)


def test_an_idle_power_that_is_too_slow_for_its_time_says_how_long_to_measure(
    tmp_path: Path,
) -> None:
    slow = replace(idle(2.0), needed_s=41.0)
    found = read_measurement(Made(tmp_path, idle=slow).recording())
    assert isinstance(found, Recorded)
    lines = "\n".join(recorded_lines(found))
    assert "warning          idle-time: " in lines
    assert "to be known from 5 s" in lines
    assert "Use --idle 50 or longer." in lines
    assert found.failed == ()


def test_an_idle_power_of_a_record_that_does_not_say_it_is_not_checked(
    tmp_path: Path,
) -> None:
    found = recorded(tmp_path, 2.0)
    assert "idle-time" not in [one.code for one in found.checks]


def test_the_spread_between_the_idles_of_a_series_counts(tmp_path: Path) -> None:
    """Each attempt has its own idle power, so their differences are in the spread of the energies above idle."""
    one = read_measurement(
        Made(tmp_path, idle=idle(2.0)).series("one", (steady(6.0),) * 3)
    )
    other = read_measurement(
        Made(tmp_path, idle=idle(3.0)).series("other", (steady(6.0),) * 3)
    )
    assert isinstance(one, Series)
    assert isinstance(other, Series)
    recordings = (*one.recordings[:2], *other.recordings[:1])
    mixed = replace(one, recordings=recordings).above_idle_budget
    assert mixed is not None
    (spread,) = [term for term in mixed.terms if term.code == "spread"]
    differ_wh = one.recordings[0].above_idle_wh - other.recordings[0].above_idle_wh
    assert spread.standard_wh == pytest.approx(abs(differ_wh) / 3.0)
