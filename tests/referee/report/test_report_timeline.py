"""A client's timeline, from a real run over HTTP, joined to the referee's record in the report."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lpirc_client.session import Session
from lpirc_client.timeline import DETECTING, Timeline
from lpirc_testsets import synthesize
from referee.contest import open_contest, read_secrets
from referee.judging.client_timeline import read_timeline
from referee.judging.image_costs import image_costs, kind_uses
from referee.judging.timeline_sections import KINDS
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import PASSWORD, TEAM, contest_day, problem

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]

IMAGES = 12
SLEPT_S = 0.03
OFF_S = 0.5
"""How far the joining may be off on a busy machine; the stated error is far less on an idle one."""


def rehearsed(url: str, file: Path) -> float:
    """A run in batches of four, each image 30 ms of work; return the seconds of detecting by the client's clock."""
    with Session(
        url,
        TEAM,
        PASSWORD,
        batch=4,
        timeline=Timeline(file),
    ) as session:
        for image in session.images(prefetch=4):
            threading.Event().wait(SLEPT_S)
            session.post(image.number, [(1, 0.5, 1, 1, 20, 20)])
    return session.timeline.sums_s[DETECTING]


def test_a_timeline_splits_a_run_of_batches_by_kind_and_another_run_s_is_refused(
    tmp_path: Path,
) -> None:
    testset = synthesize(
        tmp_path / "set",
        images=IMAGES,
        categories=2,
        seed=1,
        size=(96, 64),
    ).folder
    first = tmp_path / "first.json"
    second = tmp_path / "second.json"
    with contest_day(tmp_path / "contest", testset) as day:
        url = day.serve().url
        detecting_s = rehearsed(url, first)
        rehearsed(url, second)
        day.refers("judge", "--all")
        run = day.run(1)
        elapsed_s = run.elapsed_s
        assert elapsed_s is not None
        with open_contest(day.folder) as contest:
            timeline = read_timeline(first.read_bytes())
            costs = image_costs(
                contest,
                run,
                elapsed_s,
                timeline,
            )
        done = day.refers(
            "report",
            "1",
            "--timeline",
            str(first),
        )
        other = day.refers(
            "report",
            "1",
            "--timeline",
            str(second),
        )
        both = day.refers(
            "report",
            "1",
            "2",
            "--timeline",
            str(first),
        )
    assert costs is not None
    assert costs.joined is not None
    assert costs.joined.bodies == costs.joined.sent == 3
    assert costs.joined.error_s < OFF_S
    uses = {one.kind: one for one in kind_uses(costs)}
    assert [*uses] == [*KINDS, "all"]
    assert uses["all"].elapsed_s == pytest.approx(elapsed_s)
    assert uses["detecting"].elapsed_s == pytest.approx(detecting_s, abs=0.01)
    assert (costs.seconds[:, KINDS.index("detecting")] >= SLEPT_S * 0.9).all()

    assert done.returncode == 0, done.stderr
    text = Path(done.stdout.strip()).read_text()
    assert "3 of its 3 bodies are those of the receipts" in text
    assert f"<td>{uses['detecting'].elapsed_s:.3f}</td>" in text
    assert "Phases by the referee" not in text
    assert other.returncode == 1
    assert "it belongs to another run" in other.stderr
    assert both.returncode == 2


def test_the_reports_of_the_console_and_the_team_have_the_timeline_that_was_uploaded(
    tmp_path: Path,
    browser: Browser,
) -> None:
    testset = synthesize(tmp_path / "set", images=IMAGES, categories=2, seed=1).folder
    first = tmp_path / "first.json"
    second = tmp_path / "second.json"
    with contest_day(tmp_path / "contest", testset) as day:
        server = day.serve()
        rehearsed(server.url, first)
        rehearsed(server.url, second)
        day.refers("judge", "--all")
        key = read_secrets(day.folder)[1].hex()
        path = "/operator/runs/1"

        def report() -> str:
            return server.ask("GET", f"{path}/report", key).text

        assert "is not known without the client" in report()
        for wrong in (second.read_bytes(), b"no timeline"):
            refused = server.ask("POST", f"{path}/timeline", key, data=wrong)
            problem(refused, 422, "bad-timeline")
            assert "timeline.json" not in refused.text
        refused = server.ask("POST", f"{path}/timeline", data=first.read_bytes())
        problem(refused, 401, "bad-token")
        assert "is not known without the client" in report()

        with visit(browser, f"{server.url}{path}") as page:
            page.fill("[name=name]", "ruth")
            page.fill("[name=password]", key)
            with page.expect_navigation():
                page.keyboard.press("Enter")
            page.set_input_files("#timeline-file", first)
            page.locator("#timeline-said").get_by_text("is kept").wait_for()
            page.reload()
            page.get_by_text("The report of this run has the client").wait_for()
            for width in (360, 768, 1440, 1920):
                page.set_viewport_size({"width": width, "height": 900})
                wide = page.evaluate("document.documentElement.scrollWidth")
                assert wide <= width
                assert_accessible(page)
        assert "3 of its 3 bodies are those of the receipts" in report()
        again = day.refers("report", "1")
        text = Path(again.stdout.strip()).read_text()
        assert "3 of its 3 bodies are those of the receipts" in text
