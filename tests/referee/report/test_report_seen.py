"""A report in a browser: accessible, and never wider than the screen, whatever teams and categories are called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from referee.clock import Clock
from referee.judging.judge_many import judge_with_interval
from referee.report import write_report
from referee.store.records import Refusal, RunState
from tests.browser import assert_accessible, visit
from tests.referee.factories import START, House
from tests.referee.judging.sent_runs import closed_run, guesses

if TYPE_CHECKING:
    from playwright.sync_api import Browser

LONG = "bumblebees-of-the-far-north-with-a-name-that-never-ends-" * 2


def test_a_run_of_some_minutes_fits_a_phone(
    build: Callable[..., House], browser: Browser, tmp_path: Path
) -> None:
    """Its times have three digits before the point; so have the powers of a large board."""
    contest = build().contest
    run = closed_run(contest, guesses(contest, 0.8), energy_wh=9.0)
    state = RunState.CLOSED
    contest.store.runs.change(run.id, (state,), elapsed_s=599.123, integrator_s=599.0)
    judge_with_interval(contest, run.id, Clock())
    page = write_report(contest, run.id, tmp_path)
    with visit(browser, page.as_uri(), size=(360, 740)) as shown:
        assert shown.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("for_team", [False, True])
@pytest.mark.parametrize("width", [360, 768, 1440, 1920])
def test_a_report_fits_each_screen_and_has_no_violation(
    width: int,
    for_team: bool,
    build: Callable[..., House],
    browser: Browser,
    tmp_path: Path,
) -> None:
    contest = build().contest
    for team, energy_wh in (("own", 0.1), (LONG, 0.08), (f"<b>{LONG}", 0.13)):
        run = closed_run(
            contest,
            guesses(contest, 0.8),
            team=team,
            energy_wh=energy_wh,
        )
        judge_with_interval(contest, run.id, Clock())
    refused = "An-unbroken-word-" * 20
    refusal = Refusal(
        START.isoformat(),
        START.isoformat(),
        3,
        "bad-rows",
        422,
        "own",
        1,
        "10.0.0.1",
        refused,
    )
    contest.store.refusals.keep([(None, refusal)])
    page = write_report(contest, 1, tmp_path, for_team=for_team)
    scheme = "dark" if width == 768 else "light"
    with visit(
        browser,
        page.as_uri(),
        size=(width, 900),
        color_scheme=scheme,
    ) as seen:
        shown = seen.inner_text("main")
        assert ("What would win" in shown) is not for_team
        assert refused in shown
        seen.click("summary >> nth=0")
        assert seen.evaluate("document.documentElement.scrollWidth") == width
        assert_accessible(seen)
