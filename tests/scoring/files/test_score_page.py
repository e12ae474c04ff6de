"""The page of a score: whole without network or script, readable on a phone and in the dark, safe with any name."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from lpirc_score import evaluate, read_detections, read_truth
from lpirc_score.cli.program import main as command
from lpirc_score.files.svg_plots import Bin, bars_plot, reliability_plot
from tests.browser import assert_accessible, browser, visit
from tests.scoring.cli.test_score_analyses import ROWS, files

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser", "files"]
SECTIONS = [
    "Precision and recall",
    "Calibration",
    "Errors",
    "Sizes",
    "Confusion of categories",
    "Categories",
    "Slices",
    "Most costly images",
    "Labels to look at",
]


def written(folder: Path, *arguments: str) -> Path:
    page = folder / "page.html"
    result = CliRunner().invoke(command, [*arguments, "--html", str(page)])
    assert result.exit_code == 0, result.output
    return page


@pytest.fixture
def page(files: list[str], tmp_path: Path) -> Path:
    (tmp_path / "night.txt").write_text("photo2\nphoto3\n")
    return written(
        tmp_path,
        *files,
        "--slice",
        f"night={tmp_path}/night.txt",
    )


def test_it_has_every_analysis_with_its_figures(
    page: Path,
    files: list[str],
) -> None:
    text = page.read_text()
    assert re.findall("<h3>(.*?)</h3>", text) == SECTIONS
    assert "<title>Score of found.csv</title>" in text
    truth = read_truth(files[0])
    reached = evaluate(truth, read_detections(files[1], truth)).map
    assert f"<dt>mAP</dt><dd>{reached:.5f}" in text
    assert text.count("<svg ") == 6
    assert "gt:" in text.split("<footer>")[1]


def test_nothing_in_it_is_loaded_run_or_styled_from_elsewhere(page: Path) -> None:
    text = page.read_text()
    assert "<script" not in text
    assert "style=" not in text
    assert "http:" not in text
    assert "https:" not in text
    style = text.split("<style>")[1].split("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = re.findall('Content-Security-Policy" content="(.*?)"', text)
    assert "default-src &#x27;none&#x27;" in policy
    assert f"sha256-{digest}" in policy


def test_the_same_results_are_the_same_bytes(page: Path, files: list[str]) -> None:
    first = page.read_bytes()
    night = f"night={page.parent}/night.txt"
    assert (
        written(
            page.parent,
            *files,
            "--slice",
            night,
        ).read_bytes()
        == first
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 375, 1440])
def test_a_browser_shows_it_at_every_width_without_complaint(
    browser: Browser,
    page: Path,
    width: int,
    scheme: str,
) -> None:
    options = {"size": (width, 800), "color_scheme": scheme}
    with visit(browser, page.as_uri(), **options) as shown:
        wide = shown.evaluate("document.documentElement.scrollWidth")
        assert wide <= width
        assert shown.locator("svg").count() == 6
        heights = shown.locator("svg").evaluate_all(
            "all => all.map(one => one.getBoundingClientRect().height)"
        )
        assert min(heights) > 20
        names = shown.locator("svg").evaluate_all(
            "all => all.map(one => one.getAttribute('aria-label'))"
        )
        assert all(names)
        shown.locator("summary").first.click()
        assert shown.locator("details[open] td").first.is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_by_everyone(
    browser: Browser,
    page: Path,
    scheme: str,
) -> None:
    with visit(browser, page.as_uri(), color_scheme=scheme) as shown:
        for summary in shown.locator("summary").all():
            summary.click()
        assert_accessible(shown)


def test_the_texts_of_a_plot_lie_inside_of_it(browser: Browser, page: Path) -> None:
    with visit(browser, page.as_uri()) as shown:
        outside = shown.evaluate(
            """() => [...document.querySelectorAll('svg:not(.matrix) text')].filter(text => {
                const plot = text.closest('svg').getBoundingClientRect();
                const box = text.getBoundingClientRect();
                return box.left < plot.left - 1 || box.right > plot.right + 1
                    || box.top < plot.top - 1 || box.bottom > plot.bottom + 1;
            }).map(text => text.textContent)"""
        )
        assert outside == []


def test_a_name_can_neither_be_markup_nor_break_a_plot(
    browser: Browser,
    files: list[str],
    tmp_path: Path,
) -> None:
    hostile = "<script>alert(1)</script>\" onload='x'\x07&amp;"
    truth = Path(files[0])
    named = truth.read_text().replace('"cat"', json.dumps(hostile))
    truth.write_text(named.replace("photo1.jpg", "<b>1.jpg"))
    (tmp_path / "a.txt").write_text("1\n")
    page = written(
        tmp_path,
        *files,
        "--slice",
        f"<i>{'w' * 60}={tmp_path}/a.txt",
    )
    text = page.read_text()
    assert "<script" not in text
    assert "<b>" not in text
    assert "<i>" not in text
    assert "\x07" not in text
    with visit(browser, page.as_uri(), size=(375, 800)) as shown:
        assert shown.evaluate("document.documentElement.scrollWidth") <= 375
        assert "<script>alert(1)</script>" in shown.locator("main").inner_text()


def test_several_files_and_metrics_stand_side_by_side(
    files: list[str],
    tmp_path: Path,
) -> None:
    other = tmp_path / "other.csv"
    other.write_text("\n".join(ROWS.splitlines()[:-2]))
    metrics = [
        "--metric",
        "lpirc",
        "--metric",
        "coco",
    ]
    energies = [
        "--energy-wh",
        "2",
        "--energy-wh",
        "1",
    ]
    text = written(
        tmp_path,
        *files,
        str(other),
        *metrics,
        *energies,
    ).read_text()
    overview = text.split("</section>")[0]
    assert overview.count("<tr>") == 5
    assert "AP75" in overview
    assert "score mAP/Wh" in overview
    assert "is ahead of" in overview
    assert text.count("<h3>Errors</h3>") == 4


@pytest.mark.parametrize("metric", ["lpirc", "voc-11", "coco"])
def test_a_set_in_which_nothing_is_found_has_a_page(
    browser: Browser,
    files: list[str],
    tmp_path: Path,
    metric: str,
) -> None:
    (tmp_path / "none.csv").write_text(ROWS.splitlines()[0] + "\n")
    page = written(
        tmp_path,
        files[0],
        str(tmp_path / "none.csv"),
        "--metric",
        metric,
    )
    assert "NaN" not in page.read_text()
    assert "nan" not in page.read_text()
    with visit(browser, page.as_uri()) as shown:
        assert_accessible(shown)


@pytest.mark.parametrize("metric", ["lpirc", "coco"])
def test_a_part_without_objects_has_a_page(
    files: list[str],
    tmp_path: Path,
    metric: str,
) -> None:
    nothing = [
        "--img-ids",
        "3",
        "--cat-ids",
        "cat",
    ]
    text = written(
        tmp_path,
        *files,
        *nothing,
        "--metric",
        metric,
    ).read_text()
    assert "Precision and recall" not in text
    assert "nan" not in text


def test_confidences_that_are_no_shares_have_a_page_that_says_so(
    files: list[str],
    tmp_path: Path,
) -> None:
    (tmp_path / "odd.csv").write_text(ROWS.replace("0.95", "87"))
    text = written(tmp_path, files[0], str(tmp_path / "odd.csv")).read_text()
    assert "Not every confidence is from 0 to 1" in text
    asked = [
        files[0],
        f"{tmp_path}/odd.csv",
        "--html",
        f"{tmp_path}/page.html",
    ]
    assert CliRunner().invoke(command, [*asked, "--calibration"]).exit_code == 1


def test_what_cannot_be_written_is_told(files: list[str], tmp_path: Path) -> None:
    (tmp_path / "page.html").mkdir()
    result = CliRunner().invoke(command, [*files, "--html", f"{tmp_path}/page.html"])
    assert result.exit_code == 1
    assert "it is not a regular file" in result.stderr


def test_a_bin_without_detections_is_no_point_and_a_loss_is_drawn_as_one() -> None:
    bins = [
        Bin(
            0.0,
            0.5,
            0,
            None,
            None,
        ),
        Bin(
            0.5,
            1.0,
            4,
            0.75,
            0.8,
        ),
    ]
    assert reliability_plot(bins, "label").count("<circle") == 1
    assert 'class="loss"' in bars_plot([("a", -0.5, "-0.5"), ("b", 1.0, "1")], "x")
    assert bars_plot([], "nothing").startswith("<svg")
