"""What print and a notebook show of marks, means and recordings."""

from __future__ import annotations

from pathlib import Path

import pytest

from lpirc_power import Recording, mean_of, read_measurement, read_recorded
from lpirc_power.record.document import Mark
from lpirc_power.sampling.polling import Idle
from tests.power.made_recordings import Made, steady

SIGN = "\N{PLUS-MINUS SIGN}"
IDLE = Idle(2.0, 30.0, 120, 0.01, 0.001, 9.0, 120.0, 0.02, 2.4)
MARKS = (Mark("load", 0.5, 2.0), Mark("run", 2.5, 8.0), Mark("run", 8.5, 9.5))


@pytest.fixture
def made() -> Made:
    return Made(Path())


def series_of(made: Made, *watts: float) -> list[Recording]:
    found = read_measurement(made.series("s", [steady(one) for one in watts]))
    assert isinstance(found, list)
    return found


def test_a_mark_is_printed_on_one_line_with_its_interval(made: Made) -> None:
    found = read_recorded(made.recording(marks=MARKS))
    assert str(found.marks["load"]) == (
        "load: 0.00250 +- 0.00017 Wh with 95.45 %, 6 W over 1.5 s"
    )
    assert str(found.marks["run"]) == (
        "run: 0.01083 +- 0.00035 Wh with 95.45 %, 6 W over 6.5 s, 2 times, 0.00541667 Wh each"
    )
    assert repr(found.marks["load"]) == f"<mark {found.marks['load']}>"
    assert "\n" not in repr(found.marks)


def test_a_mark_says_its_energy_above_idle_in_wh(made: Made) -> None:
    found = read_recorded(made.recording(marks=MARKS, idle=IDLE))
    words = str(found.marks["load"])
    assert words.endswith(" Wh with 95.45 % above idle")
    assert "; 0.0016" in words


def test_a_mark_without_an_end_has_no_energy(made: Made) -> None:
    found = read_recorded(made.recording(marks=(Mark("open", 1.0, None),)))
    assert str(found.marks["open"]) == "open: no energy"


def test_a_mark_of_an_unknown_meter_says_that_its_uncertainty_is_unknown() -> None:
    rows = [f"{second},6.0,\n" for second in range(5)]
    rows += [f"{second},6.0,run\n" for second in range(5, 11)]
    Path("old.csv").write_text("Stamp,Load,Phase\n" + "".join(rows))
    found = read_recorded("old.csv", columns="time:s=Stamp,power:W=Load,mark=Phase")
    assert str(found.marks["run"]) == (
        "run: 0.00833333 Wh of unknown uncertainty, 6 W over 5 s"
    )


def test_a_notebook_shows_marks_above_idle(made: Made) -> None:
    html = read_recorded(made.recording(marks=MARKS, idle=IDLE))._repr_html_()
    assert "above idle</th>" in html
    assert f"0.00250 {SIGN} 0.00017 Wh with 95.45 %" in html
    without = read_recorded(made.recording("other", marks=MARKS))._repr_html_()
    assert "above idle</th>" not in without


def test_a_notebook_says_that_all_checks_hold_only_if_all_were_made(made: Made) -> None:
    path = made.recording()
    assert "All checks hold." in read_recorded(path)._repr_html_()
    path.with_suffix(".json").unlink()
    html = read_recorded(path)._repr_html_()
    assert "All checks hold." not in html
    assert "Not checked, since the file does not say what they need" in html


def test_a_mean_is_one_line_in_print_and_a_table_in_a_notebook(made: Made) -> None:
    mean = mean_of(series_of(made, 6.0, 6.05, 5.98))
    words = "0.01669 +- 0.00033 Wh with 95.45 %, on average of 3 attempts"
    assert str(mean) == words
    assert repr(mean) == f"<mean energy {words}>"
    html = mean._repr_html_()
    assert words.replace("+-", SIGN) in html
    for name in ("deviation", "expanded", "guaranteed", "terms", "attempts"):
        assert f'<th scope="row">{name}</th>' in html
    assert "+-" not in html


def test_a_mean_of_one_attempt_shows_no_deviation(made: Made) -> None:
    mean = mean_of(series_of(made, 6.0))
    assert str(mean).endswith("with 95.45 %, on average of 1 attempt")
    assert "deviation" not in mean._repr_html_()


def test_a_recording_stands_with_its_rounded_interval(made: Made) -> None:
    found = read_recorded(made.recording())
    assert repr(found) == "<recording run.csv: 0.01667 +- 0.00020 Wh with 95.45 %>"
