"""The pages of a series and of several meters: what they say, and how they look in a real browser."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lpirc_power.measurement_files.any_measurement import Stated, read_any
from lpirc_power.meter import Reading
from lpirc_power.page.measurement_page import measurement_page
from lpirc_power.record.document import Mark
from lpirc_power.report.series_report import Series
from tests.browser import assert_accessible, browser, visit  # noqa: F401  a fixture
from tests.power.made_recordings import Made, steady

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WATTS = (6.0, 6.05, 5.98)


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


def page_of(path: Path) -> str:
    return measurement_page(read_any(path, Stated()))


def loads(*watts: float) -> list[Callable[[float], float]]:
    return [steady(one) for one in watts]


def test_a_series_shows_its_mean_deviation_interval_and_each_attempt(
    made: Made,
) -> None:
    text = page_of(made.series("s", loads(*WATTS)))
    for words in (
        "the mean of 3 attempts",
        "standard deviation",
        "interval by Student&#x27;s t",
        "the spread between attempts",
        "s-1.csv",
        "attempt 3",
        "+0.666 %",
    ):
        assert words in text, words


SIGN = "\N{PLUS-MINUS SIGN}"


def test_the_first_line_of_a_series_says_what_its_interval_covers(made: Made) -> None:
    path = made.series("s", loads(*WATTS))
    text = page_of(path)
    said = f"0.01669 {SIGN} 0.00033 Wh with 95.45 %, the mean of 3 attempts."
    assert f'<p class="verdict">{said}</p>' in text
    assert f"The mean energy of 3 attempts is 0.01669 {SIGN} 0.00033 Wh" in text
    assert f"{SIGN}0.00033 Wh ({SIGN}2.0 %) with 95.45 %" in text


def test_a_series_has_the_advice_that_a_single_recording_has(made: Made) -> None:
    advice = "COMMAND is short for this meter: in 10 s, start and stop may cost 1.2 % "
    for path in (made.series("s", loads(*WATTS)), made.recording()):
        assert f'<p class="quiet">{advice}' in page_of(path)


def test_a_page_has_the_title_that_it_is_given_as_text(made: Made) -> None:
    paths = (
        made.series("s", loads(*WATTS)),
        made.recording(),
        made.group("g", {"main": steady(7.0), "board": steady(6.0)}),
    )
    for path in paths:
        text = measurement_page(read_any(path, Stated()), "Ours & <theirs>")
        assert "<title>Ours &amp; &lt;theirs&gt;</title>" in text
        assert "<h1>Ours &amp; &lt;theirs&gt;</h1>" in text
    assert "<h1>s.json</h1>" in page_of(paths[0])
    blank = measurement_page(read_any(paths[0], Stated()), "  ")
    assert "<h1>s.json</h1>" in blank


def test_a_failed_check_of_an_attempt_stands_beside_it_also_if_it_only_warns(
    made: Made,
) -> None:
    def no_data(one: Reading) -> Reading:
        is_it = abs(one.monotonic_s % 60.0 - 5.0) < 0.04
        return replace(one, power_w=math.nan) if is_it else one

    text = page_of(made.series("s", loads(*WATTS), change=no_data))
    assert text.count("<td>no-data</td>") == 3


def test_notes_of_attempts_are_on_the_page_of_the_series(made: Made) -> None:
    found = read_any(made.series("s", loads(*WATTS)), Stated())
    assert isinstance(found, Series)
    noted = [replace(one, doubts=("The clock was set.",)) for one in found.recordings]
    text = measurement_page(replace(found, recordings=tuple(noted)))
    assert "attempt 1, attempt 2, attempt 3: The clock was set." in text


def test_an_attempt_at_the_mean_differs_by_nothing_from_it(made: Made) -> None:
    page = page_of(made.series("s", loads(*(6 + 0.05 * number for number in range(5)))))
    assert ">+0 %<" in page
    assert not re.search(r">[+-][0-9.]+e-\d+ %<", page)


def test_a_series_shows_the_energies_of_its_marks(made: Made) -> None:
    path = made.series("s", loads(*WATTS))
    for number in range(1, 4):
        start_s = 60.0 * number
        marks = (Mark("inference", start_s + 2.0, start_s + 6.0),)
        watts = WATTS[number - 1]
        made.recording(f"s-{number}", load=steady(watts), start_s=start_s, marks=marks)
    text = page_of(path)
    assert "inference" in text
    assert "0.00668 " in text
    assert "is half of its interval of 95.45 %" in text


def test_an_attempt_that_needs_review_is_named_in_the_verdict(made: Made) -> None:
    path = made.series("s", loads(*WATTS))
    clipped = replace(made, change=lambda one: replace(one, over_range=True))
    clipped.recording("s-2", start_s=120.0)
    text = page_of(path)
    assert "the mean of 2 attempts. Left out: attempt 2; why is below." in text
    assert "s-2.csv needs review: over-range" in text
    assert ">3</text>" in text


def test_a_warning_of_all_attempts_is_told_once_and_in_the_verdict(made: Made) -> None:
    def no_data(one: Reading) -> Reading:
        # Readings come each 0.1 s; the one at 5 s of each attempt has no data.
        is_it = abs(one.monotonic_s % 60.0 - 5.0) < 0.04
        return replace(one, power_w=math.nan) if is_it else one

    made.change = no_data
    text = page_of(made.series("s", loads(*WATTS)))
    assert "Warnings: no-data." in text
    assert text.count("<code>no-data</code>") == 1
    assert "attempt 1, attempt 2, attempt 3: " in text


def test_a_series_of_one_attempt_says_that_it_shows_no_spread(made: Made) -> None:
    text = page_of(made.series("s", loads(6.0)))
    assert "A single attempt does not show how much attempts differ." in text
    assert "1 attempts" not in text
    assert "mean energy" not in text
    assert "from the mean" not in text


def test_a_series_that_ended_as_stable_is_not_said_to_lack_attempts(made: Made) -> None:
    path = made.series("s", loads(*WATTS))
    document = json.loads(path.read_text()) | {"wanted": 60, "stable": 0.05}
    path.write_text(json.dumps(document))
    assert ">3, at most 60<" in page_of(path)
    assert ">3 of 3<" in page_of(made.series("t", loads(*WATTS)))


def test_a_series_without_an_attempt_says_why(made: Made) -> None:
    path = made.series("s", loads(6.0))
    document = json.loads(path.read_text())
    document |= {"recordings": [], "stopped": "It was interrupted."}
    path.write_text(json.dumps(document))
    assert "No attempt counts. It was interrupted." in page_of(path)


def test_fifty_attempts_are_a_page_below_a_megabyte(made: Made) -> None:
    watts = [6.0 + 0.01 * (number % 7) for number in range(50)]
    text = page_of(made.series("s", loads(*watts)))
    assert len(text.encode()) < 1_000_000
    assert "20 more attempts are not drawn." in text
    assert "s-50.csv" in text


def test_several_meters_are_on_one_axis_with_offsets_and_the_loss(made: Made) -> None:
    text = page_of(made.group("g", {"main": steady(7.0), "board": steady(6.0)}))
    for words in (
        "2 meters recorded one run",
        "+20.0 ms",
        "loss: ",
        "efficiency: 85.714 %",
        "Uncertainty budget of main",
        "Power over time of main, board, on one clock.",
    ):
        assert words in text, words


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["series", "group"])
def test_the_pages_are_accessible_and_fit_a_telephone(
    browser: Browser,  # noqa: F811
    made: Made,
    kind: str,
    scheme: str,
) -> None:
    if kind == "series":
        path = made.series("s", loads(*WATTS))
    else:
        path = made.group("g", {"main": steady(7.0), "board": steady(6.0)})
    page_path = path.with_suffix(".html")
    page_path.write_text(page_of(path), encoding="utf-8")
    url = page_path.as_uri()
    with visit(browser, url, size=(360, 800), color_scheme=scheme) as page:
        assert_accessible(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
