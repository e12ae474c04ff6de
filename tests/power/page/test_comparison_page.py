"""The page of a comparison: it says what the command says, and how it looks in a real browser."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser import assert_accessible, browser, visit  # noqa: F401  a fixture
from tests.power.cli.conftest import Run, meter  # noqa: F401  a fixture
from tests.power.made_recordings import Made, steady

if TYPE_CHECKING:
    from playwright.sync_api import Browser

WATTS = (6.0, 6.01, 5.99)


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


@pytest.fixture
def both(made: Made) -> Made:
    """Two series, the second of which takes 3 % less."""
    made.series("old", loads(*WATTS))
    made.series("new", loads(*WATTS, times=0.97), start_s=1000.0)
    return made


def loads(*watts: float, times: float = 1.0) -> list[Callable[[float], float]]:
    return [steady(one * times) for one in watts]


def words_of(page: Path) -> str:
    return html.unescape(page.read_text(encoding="utf-8")).replace(
        "\N{PLUS-MINUS SIGN}", "+-"
    )


def test_the_page_says_the_sentence_the_ratio_and_the_method_of_the_lines(
    meter: Run,  # noqa: F811
    both: Made,
) -> None:
    names = ("--names", "old", "new")
    ended = meter("compare", "old.json", "new.json", *names, "-o", "cmp.html")
    assert ended.returncode == 0, ended.stderr
    said = ended.stdout.splitlines()
    assert said[-1].split() == ["page", "cmp.html"]
    page = words_of(both.folder / "cmp.html")
    assert f'<p class="verdict">{said[0]}</p>' in page
    for name in ("ratio", "interval"):
        line = next(one for one in said if one.startswith(f"{name} "))
        assert f"<dd>{line.removeprefix(name).strip()}</dd>" in page
    for words in (
        "old and new",
        "old-3.csv",
        "Uncertainty budget of new alone",
        "How old was measured",
        "those of the whole recordings",
        "Made by meter compare",
    ):
        assert words in page, words
    assert "What speaks against it" not in page
    assert "interval of 95.45 %, and so does the difference." in page


def test_an_attempt_has_the_mean_power_of_its_own_report(
    meter: Run,  # noqa: F811
    both: Made,
) -> None:
    both.recording("short", load=steady(6.0), length_s=4.0, start_s=3000.0)
    report = json.loads(meter("check", "short.csv", "--json").stdout)
    compared = meter("compare", "old-1.csv", "short.csv", "-o", "cmp.html")
    assert compared.returncode == 0, compared.stderr
    power_w = f"{report['mean_power_w']:.5g} W"
    assert f">{power_w}</td>" in words_of(both.folder / "cmp.html")
    # The window is shorter than the time that was integrated.
    assert power_w != f"{3600.0 * report['energy_wh'] / report['duration_s']:.5g} W"


def test_a_difference_of_single_attempts_has_no_stated_coverage(
    meter: Run,  # noqa: F811
    both: Made,
) -> None:
    meter("compare", "old-1.csv", "new-1.csv", "-o", "cmp.html")
    page = words_of(both.folder / "cmp.html")
    assert "Each mean energy stands with its own interval of 95.45 %." in page
    assert "single attempt cannot tell" in page


def test_warnings_are_on_the_page_and_make_its_sentence_doubtful(
    meter: Run,  # noqa: F811
    both: Made,
) -> None:
    both.recording("longer", load=steady(6.0), length_s=20.0, start_s=2000.0)
    ended = meter("compare", "old.json", "longer.csv", "--output", "cmp.html")
    page = words_of(both.folder / "cmp.html")
    warned = [one for one in ended.stdout.splitlines() if one.startswith("warning")]
    assert warned
    for one in warned:
        assert f'<li class="warn">{one.removeprefix("warning").strip()}</li>' in page
    assert f'<p class="verdict warn">{ended.stdout.splitlines()[0]}</p>' in page


def test_the_page_may_be_named_after_the_files_of_the_second_side(
    meter: Run,  # noqa: F811
    both: Made,
) -> None:
    sides = ("old-1.csv", "old-2.csv", "--with", "new-1.csv", "new-2.csv")
    ended = meter("compare", *sides, "-o", "cmp.html", "--json")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("{")
    assert ended.stdout.count("\n") == 1
    assert "new-2.csv" in words_of(both.folder / "cmp.html")


def test_a_page_that_is_there_is_kept_without_force(
    meter: Run,  # noqa: F811
    both: Made,
) -> None:
    page = both.folder / "cmp.html"
    page.write_text("<!DOCTYPE html>mine")
    command = ("compare", "old.json", "new.json", "-o", "cmp.html")
    ended = meter(*command)
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert "cmp.html exists already" in ended.stderr
    assert page.read_text().endswith("mine")
    assert meter(*command, "--force").returncode == 0
    assert "old-1.csv" in page.read_text()


def test_force_without_a_page_is_refused(meter: Run, both: Made) -> None:  # noqa: F811
    ended = meter("compare", "old.json", "new.json", "--force")
    assert ended.returncode == 2
    assert "--output" in ended.stderr


def test_the_dots_of_both_sides_stand_beside_each_other_on_one_axis(
    meter: Run,  # noqa: F811
    both: Made,
) -> None:
    meter("compare", "old.json", "new.json", "-o", "cmp.html")
    page = words_of(both.folder / "cmp.html")
    assert page.count('class="dot t0"') == page.count('class="dot t1"') == 3
    assert '<line class="base" x1="0%"' in page
    assert '<line class="base" x1="50%"' in page
    assert "A: energies of 3 attempts, from " in page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_is_accessible_and_fits(
    browser: Browser,  # noqa: F811
    meter: Run,  # noqa: F811
    both: Made,
    width: int,
    scheme: str,
) -> None:
    meter("compare", "old.json", "new.json", "-o", "cmp.html")
    url = (both.folder / "cmp.html").as_uri()
    with visit(browser, url, size=(width, 800), color_scheme=scheme) as page:
        assert_accessible(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
