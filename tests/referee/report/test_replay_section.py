"""The replay in a report: whole in one file, bounded, and without a way in for anyone's words."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from referee.clock import Clock
from referee.judging.judge import judge
from referee.pages import STATIC
from referee.pages.figure_text import NONE
from referee.pages.replay_player import player_hash
from referee.report import replay_section as bounds
from referee.report import report_page, write_report
from referee.report.replay_section import replay_section as section_of
from referee.store.records import Run, RunState
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import called
from tests.referee.factories import START, House, stored_run
from tests.referee.judging.sent_runs import closed_run, guesses

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]
MARKUP = (
    "</script><script>document.title = 'owned'</script><img src=x onerror=alert(1)>"
)


def judged_run(hall: House, team: str = "otters") -> Run:
    run = closed_run(hall.contest, guesses(hall.contest, 0.8), team=team)
    judge(hall.contest, run.id, Clock())
    opened = {"opened_utc": START.isoformat()}
    return hall.store.runs.change(run.id, (RunState.JUDGED,), **opened)


def data_in(page: str) -> dict[str, Any]:
    found = re.search(
        r'<script type="application/json" id="replay-data">(.*?)</script>', page
    )
    assert found
    document: dict[str, Any] = json.loads(found[1])
    return document


def test_a_report_has_a_script_only_with_its_replay_and_then_the_player_alone(
    build: Callable[..., House],
) -> None:
    hall = build()
    run = judged_run(hall)
    assert "<script" not in report_page(hall.contest, run)
    page = report_page(hall.contest, run, with_replay=True)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    parts = ("replay_lane.js", "replay.js")
    assert script == "".join((STATIC / part).read_text() for part in parts)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert player_hash() == f"'sha256-{digest}'"
    assert page.count("<script") == 2
    assert not re.search(r"\son\w+=|javascript:", page)


def test_names_in_markup_stay_within_the_data(
    build: Callable[..., House],
    browser: Browser,
    tmp_path: Path,
) -> None:
    hall = build()
    run = judged_run(hall, MARKUP)
    path = write_report(hall.contest, run.id, tmp_path, with_replay=True)
    assert data_in(path.read_text())["team"] == MARKUP
    with visit(browser, path.as_uri()) as page:
        page.locator("[data-ready]").wait_for()
        assert page.title().startswith("Run ")
        assert page.locator(".lane h2").inner_text() == f"Run {run.id} of {MARKUP}"


def test_the_pictures_are_those_of_the_run_and_bounded(
    build: Callable[..., House],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hall = build()
    run = judged_run(hall)
    whole = section_of(hall.contest, run, START)
    document = json.loads(whole.data)
    assert [*document["pictures"]] == ["1", "2", "3", "4", "5"]
    sizes = [len(uri) for uri in document["pictures"].values()]
    monkeypatch.setattr(bounds, "MOST_PICTURE_BYTES", sum(sizes) - 1)
    fewer = section_of(hall.contest, run, START)
    assert fewer.pictures == len(json.loads(fewer.data)["pictures"]) == 4
    assert json.loads(fewer.data)["left_out"]["pictures"] == 1
    monkeypatch.setattr(bounds, "MOST_PICTURES", 2)
    assert [*json.loads(section_of(hall.contest, run, START).data)["pictures"]] == [
        "1",
        "5",
    ]


def test_the_size_is_stated_in_the_report_and_on_the_command_line(
    build: Callable[..., House],
) -> None:
    hall = build()
    run = judged_run(hall)
    done = called(
        "report", str(run.id), "--replay", "--contest", str(hall.contest.folder)
    )
    assert done.returncode == 0
    path = Path(done.stdout.strip())
    assert path.name == f"run-{run.id}-replay.html"
    size_mb = path.stat().st_size / 1e6
    assert f"{path.name} has {size_mb:.1f} MB." in done.stderr
    assert re.search(r"The replay takes \d\.\d MB of this file", path.read_text())


def test_the_report_of_a_run_without_readings_has_a_replay_that_says_so(
    build: Callable[..., House],
    browser: Browser,
    tmp_path: Path,
) -> None:
    hall = build()
    run = stored_run(hall.store, images=5, testset_digest=hall.contest.test_set.digest)
    hall.store.served.append(run.id, [(1, 10)], 0.5)
    over = {"state": "closed", "elapsed_s": 6.0, "opened_utc": START.isoformat()}
    hall.store.runs.change(run.id, (RunState.ARMED,), **over)
    path = write_report(hall.contest, run.id, tmp_path, with_replay=True)
    with visit(browser, path.as_uri()) as page:
        page.get_by_text("There are no readings of the meter").wait_for()
        page.get_by_role("button", name="Play", exact=True).press("End")
        page.get_by_text("0:06 of 0:06").wait_for()
        assert page.locator("[data-figure=energy]").inner_text() == NONE


def test_the_replay_plays_seeks_and_obeys_the_keyboard_in_the_report(
    build: Callable[..., House],
    browser: Browser,
    tmp_path: Path,
) -> None:
    hall = build()
    run = judged_run(hall)
    path = write_report(hall.contest, run.id, tmp_path, with_replay=True)
    with visit(browser, path.as_uri()) as page:
        player = page.locator(".replay[data-ready]")
        player.wait_for()
        assert_accessible(page)
        button = player.locator("[data-play-element]")
        button.press("ArrowRight")
        clock = player.locator(".clock")
        assert clock.inner_text() == "0:05 of 0:10"
        shown_map, energy_wh, score_then = (
            float(player.locator(f"[data-figure={name}]").inner_text())
            for name in ("map", "energy", "score")
        )
        assert energy_wh == pytest.approx(0.05, abs=0.002), "half of the run"
        assert score_then == pytest.approx(shown_map / energy_wh, rel=0.01)
        picture = player.locator("[data-picture]")
        label = picture.get_attribute("aria-label") or ""
        assert re.search(r"Image \d, \d+ box", label), label
        button.press("Home")
        assert "No image" in (picture.get_attribute("aria-label") or "")
        button.press("Enter")
        assert button.inner_text() == "Pause"
        page.wait_for_function(
            "() => document.querySelector('.clock').textContent === '0:10 of 0:10'"
        )
        assert button.inner_text() == "Play", "it ends by itself"
        score = hall.store.scores.latest(run.id)
        assert score is not None
        shown = player.locator("[data-figure=score]").inner_text()
        assert shown == f"{score.score:.4f}"
        player.locator("summary").click()
        assert player.locator("tbody tr").count() == 11
        assert_accessible(page)


def test_the_printed_report_has_no_replay(
    build: Callable[..., House],
    browser: Browser,
    tmp_path: Path,
) -> None:
    hall = build()
    path = write_report(hall.contest, judged_run(hall).id, tmp_path, with_replay=True)
    with visit(browser, path.as_uri()) as page:
        page.emulate_media(media="print")
        assert not page.locator(".replay").is_visible()
