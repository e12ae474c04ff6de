"""The page of a recording: what it says, what it never claims, and how it looks in a real browser."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from lpirc_power.measurement_files.any_measurement import Stated, read_any
from lpirc_power.meter import Reading
from lpirc_power.page.measurement_page import measurement_page
from lpirc_power.page.recording_charts import charts_of
from lpirc_power.record.document import Mark
from lpirc_power.report.recording_report import Recorded
from tests.browser import assert_accessible, browser, visit  # noqa: F401  a fixture
from tests.power.made_recordings import Made, steady

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MARKS = (Mark("load the model", 0.5, 2.0), Mark("inference", 2.5, 8.0))


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


def page_of(path: Path) -> str:
    return measurement_page(read_any(path, Stated()))


def test_a_page_shows_energy_interval_marks_checks_budget_and_origin(
    made: Made,
) -> None:
    text = page_of(made.recording(marks=MARKS))
    for words in (
        "0.0166667 Wh",
        "0.01667 \N{PLUS-MINUS SIGN} 0.000",
        "with 95.45 %",
        "load the model",
        "inference",
        "integrator-trapezoid",
        "the error of the reading",
        "YOKOGAWA WT310E C1",
        "./detect images",
        "TCPIP::1.2.3.4::INSTR",
        "lpirc-power 0.1.0",
        "150 V",
    ):
        assert words in text, words


def test_a_page_has_no_script_and_names_no_other_host(made: Made) -> None:
    text = page_of(made.recording(marks=MARKS))
    rest = text.replace("http://www.w3.org/2000/svg", "")
    assert "<script" not in rest
    assert "http" not in rest.replace("http-equiv", "")
    assert " style=" not in rest
    assert " onload" not in rest


def test_words_from_a_recording_are_text_and_never_tags(made: Made) -> None:
    hostile = "</title><script>alert(1)</script>"
    path = made.recording(command=(hostile,), marks=(Mark(hostile, 1.0, 2.0),))
    text = page_of(path)
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_the_same_recording_gives_the_same_page(made: Made) -> None:
    path = made.recording(marks=MARKS)
    assert page_of(path) == page_of(path)


def test_failed_checks_come_first_and_are_in_the_verdict(made: Made) -> None:
    def clipped(one: Reading) -> Reading:
        return replace(one, current_peak_over=4.0 < one.monotonic_s < 5.0)

    text = page_of(made.recording(change=clipped))
    assert (
        "0.0166667 Wh, needs review: peak-clipping failed. Its uncertainty does" in text
    )
    assert "uncertainty, without what failed" in text
    assert "mean power, with" not in text
    assert "Nothing yet: " in text
    codes = [part.split("</code>")[0] for part in text.split("<code>")[1:]]
    assert codes[0] == "peak-clipping"
    assert "clipped at a peak" in text


def test_a_gap_breaks_the_line_and_is_said(made: Made) -> None:
    path = made.recording(missing=lambda since_s: 3.0 < since_s < 7.0)
    text = page_of(path)
    assert "Grey: no reading, once" in text
    assert 'class="pause"' in text


def test_a_recording_alone_claims_no_meter_no_setup_and_no_uncertainty(
    made: Made,
) -> None:
    path = made.recording()
    path.with_suffix(".json").unlink()
    text = page_of(path)
    assert "uncertainty of its energy is unknown" in text
    assert "0.0166667 Wh of unknown uncertainty. No check" in text
    assert "crest factor" not in text
    assert "All 14 checks hold" not in text
    assert "as far as the readings show it" in text


@pytest.mark.slow
def test_a_recording_of_an_hour_at_100_hz_is_a_page_below_a_megabyte(
    made: Made,
) -> None:
    setup = replace(made.setup, update_interval_s=0.01)

    def load(since_s: float) -> float:
        return (
            6.0
            + math.sin(since_s * 37.0)
            + (30.0 if 1234.495 < since_s < 1234.505 else 0.0)
        )

    path = made.recording(length_s=3600.0, setup=setup, load=load)
    text = page_of(path)
    assert len(text.encode()) < 1_000_000
    label = text.split('aria-label="', 1)[1].split('"', 1)[0]
    most_w = float(label.split(" and ")[1].split(" W")[0])
    assert most_w > 34.0
    assert f'y="{43}" text-anchor="start">40 W<' in text


def test_marks_outside_the_recording_are_in_the_table_and_not_in_the_chart(
    made: Made,
) -> None:
    marks = (Mark("later", 100.0, 101.0), Mark("never ended", 5.0, None))
    text = page_of(made.recording(marks=marks))
    assert text.count('class="mark"') == 2  # one band in each chart
    assert "1 outside the recording" in text
    assert "1 without an end" in text


def test_numbers_of_marks_that_would_overlap_stand_together(made: Made) -> None:
    marks = (
        Mark("load", 0.5, 2.0),
        Mark("write", 5.0, 5.1),
        Mark("close", 5.15, 5.2),
        Mark("rest", 8.0, 9.0),
    )
    page = page_of(made.recording(marks=marks))
    numbers = re.findall(r'<text class="number"[^>]*>([^<]+)</text>', page)
    assert numbers[:3] == ["1", "2, 3", "4"]


def test_a_recording_that_was_cut_off_says_so_first(made: Made) -> None:
    path = made.recording()
    record = path.with_suffix(".json")
    document = json.loads(record.read_text()) | {"ended": None}
    record.write_text(json.dumps(document))
    rows = path.read_text().splitlines(keepends=True)
    path.write_text("".join(rows[:-1]))  # without that of the stop
    text = page_of(path)
    assert "The recording was cut off" in text.split("<main>")[0]
    assert "exit code" not in text


def test_every_chart_is_well_formed(made: Made) -> None:
    recorded = read_any(made.recording(marks=MARKS), Stated())
    assert isinstance(recorded, Recorded)
    charts = charts_of(recorded)
    for chart in (charts.power, charts.energy):
        assert ET.fromstring(chart.svg()).tag.endswith("svg")  # noqa: S314  our own


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = Made(tmp_path_factory.mktemp("shown"))
    path = made.recording(
        marks=MARKS,
        missing=lambda since_s: 3.0 < since_s < 6.0,
        load=lambda since_s: 2.0 if since_s % 4 < 2 else 9.0,
    )
    page = path.with_suffix(".html")
    page.write_text(page_of(path), encoding="utf-8")
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_a_page_is_accessible_and_no_wider_than_the_screen(
    browser: Browser,  # noqa: F811
    shown: Path,
    scheme: str,
    width: int,
) -> None:
    url = shown.as_uri()
    with visit(browser, url, size=(width, 800), color_scheme=scheme) as page:
        assert_accessible(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        sizes = page.eval_on_selector_all(
            ".chart text", "all => all.map(one => getComputedStyle(one).fontSize)"
        )
        assert set(sizes) == {"12px"}


def test_a_printed_page_is_black_on_white(browser: Browser, shown: Path) -> None:  # noqa: F811
    with visit(browser, shown.as_uri(), color_scheme="dark") as page:
        page.emulate_media(media="print")
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert colour == "rgb(255, 255, 255)"


def test_a_load_of_0_w_is_drawn_on_its_base_line(made: Made) -> None:
    text = page_of(made.recording(load=steady(0.0)))
    assert (
        "nan"
        not in text.lower()
        .replace("nanosecond", "")
        .split("</style>")[1]
        .split("checks")[0]
    )
