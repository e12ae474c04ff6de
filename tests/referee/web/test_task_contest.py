"""A served contest of another task than boxes: every page, document and command says its figure, none says mAP."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from lpirc_client.team_status import in_lines
from lpirc_testsets import load_test_set, synthesize
from lpirc_testsets.task_truth import read_class_truth
from referee.contest import open_contest
from referee.store.records import RunState
from tests.browser import browser
from tests.contest_day import PASSWORD, Day, Server, contest_day, until
from tests.referee.web.setup.settings_pages import Pages
from tests.referee.web.team.team_sessions import COOKIE, TeamBrowser, log_in

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]
IMAGES = 6
PAGE = {"Accept": "text/html,application/xhtml+xml"}


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    """A contest whose one run has classified all images but the last one rightly, and is judged."""
    folder = tmp_path_factory.mktemp("task")
    test_set = synthesize(
        folder / "set",
        images=IMAGES,
        categories=3,
        size=(96, 64),
        task="classification",
    )
    with contest_day(
        folder / "day",
        test_set.folder,
        task="classification",
        auto_judge=True,
    ) as made:
        server = made.serve()
        answer_all(made, server)
        until(lambda: made.run().state is RunState.JUDGED)
        yield made


def answer_all(made: Day, server: Server) -> None:
    token = made.login()["token"]
    test_set = load_test_set(made.testset)
    _, labels = read_class_truth(test_set)
    with made.store() as store:
        order = store.runs.image_order(1).tolist()
    items = []
    for image, number in enumerate(order, start=1):
        assert server.ask("GET", f"/v1/images/{image}", token).status_code == 200
        label = labels[number]
        items.append([image, label if image < IMAGES else label % 3 + 1])
    body = json.dumps(items)
    headers = {"Content-Type": "application/json"}
    assert server.ask("POST", "/v1/answers", token, headers, data=body).ok
    standing = server.ask("GET", "/v1/session", token).json()
    assert standing["detections_accepted"] == IMAGES
    assert server.ask("DELETE", "/v1/session", token).ok


OF_BOXES = re.compile(r"\b(mAP|[Rr]ows?|[Dd]etections)\b")
"""Words of a contest of boxes, which no page of another contest may say."""


def said_of_boxes(text: str) -> str:
    """Return the first word of boxes in the text of a page with what stands around it; empty if there is none."""
    said = words_of(text)
    found = OF_BOXES.search(said)
    if found is None:
        return ""
    return said[max(0, found.start() - 200) : found.end() + 100]


def words_of(text: str) -> str:
    """The text of a page without its scripts and styles."""
    bare = re.sub(r"(?s)<(script|style).*?</\1>", "", text)
    return re.sub(r"<[^>]*>", " ", bare)


PUBLIC = ("/", "/live", "/projector", "/teams/ant", "/client/", "/docs/", "/board.json")
OPERATORS = (
    "/",
    "/live",
    "/runs/1",
    "/runs/1/live",
    "/runs/1/report",
    "/runs/1/course.json",
    "/runs/1/replay",
    "/runs/1/replay/course.json",
    "/runs/1/export",
    "/runs/1/bundle",
    "/status",
    "/ceremony/",
    "/site/",
    "/settings/",
    "/settings/rules",
    "/settings/apply",
)


def without_json(text: str) -> str:
    """Leave out documents, whose keys are the same for all tasks."""
    if not text.lstrip().startswith("<"):
        return ""
    return re.sub(r"(?s)<pre>.*?</pre>", "", text)


@pytest.mark.parametrize("path", PUBLIC)
def test_public_pages_say_the_figure_of_the_task(day: Day, path: str) -> None:
    assert day.server is not None
    answer = day.server.ask("GET", path, None, PAGE)
    assert answer.status_code in (200, 404), answer.text
    if path in ("/", "/live", "/projector", "/teams/ant", "/client/"):
        assert not said_of_boxes(answer.text)


@pytest.mark.parametrize("path", OPERATORS)
def test_operators_pages_say_the_figure_of_the_task(day: Day, path: str) -> None:
    assert day.server is not None
    with open_contest(day.folder) as contest:
        key = contest.operator_key
    answer = day.server.ask("GET", f"/operator{path}", key, PAGE)
    assert answer.status_code in (200, 404), answer.text
    if not path.startswith("/settings") and answer.apparent_encoding:
        assert not said_of_boxes(without_json(answer.text))


@pytest.mark.parametrize("step", ["rules", "prizes", "apply"])
def test_the_settings_say_the_figure_of_the_task(day: Day, step: str) -> None:
    pages = Pages(day)
    answer = pages.get(step)
    pages.session.close()
    assert answer.status_code == 200
    said = words_of(answer.text)
    of_boxes = "how mAP is computed"
    assert "mAP" not in said.replace(of_boxes, "")
    if step == "rules":
        assert "accuracy over energy (top-1 per watt-hour)" in said


def test_the_board_ranks_the_run(day: Day) -> None:
    server = day.server
    assert server is not None
    until(lambda: server.ask("GET", "/board.json").json()["ranking"])
    board = server.ask("GET", "/board.json").json()
    assert board["task"] == "classification"
    (place,) = board["ranking"]
    assert place["map"] == pytest.approx(5 / 6, abs=1e-5)
    assert place["others"] == {"top-5": pytest.approx(5 / 6, abs=1e-5)}
    front = words_of(server.ask("GET", "/", None, PAGE).text)
    assert "top-1" in front
    assert "top-5 0.83333" in front
    assert "top-5 0.83333" in words_of(server.ask("GET", "/teams/ant", None, PAGE).text)


def test_commands_say_it(day: Day) -> None:
    for words in (("run", "show", "1"), ("run", "list"), ("status",), ("leaderboard",)):
        found = day.refers(*words)
        assert found.returncode == 0, found.stderr
        assert "mAP" not in found.stdout
    assert "top-1" in day.refers("run", "list").stdout
    assert "top-5" in day.refers("leaderboard").stdout


def test_a_teams_own_page_says_the_words_of_the_task(day: Day) -> None:
    assert day.server is not None
    cookie = log_in(day.server, "ant").cookies[COOKIE]
    answer = TeamBrowser(day.server, cookie).ask("GET", "/team/live", PAGE)
    assert answer.status_code == 200, answer.text
    assert not said_of_boxes(answer.text)
    said = words_of(answer.text)
    assert "Classifications" in said
    assert "top-5" in said


def test_a_comparison_has_the_further_figures(day: Day) -> None:
    found = day.refers("compare", "1", "1")
    assert found.returncode == 0, found.stderr
    lines = [line.split()[0] for line in found.stdout.splitlines() if line.strip()]
    assert {"top-1", "top-5", "classifications"} <= {*lines}
    assert "map" not in lines


def test_a_rejudgement_names_the_figure(day: Day) -> None:
    found = day.refers("rejudge", "--all", "--dry-run")
    assert found.returncode == 0, found.stderr
    assert "top-1" in found.stdout
    assert "mAP" not in found.stdout


def test_the_client_says_the_words_of_the_task(day: Day) -> None:
    assert day.server is not None
    document = day.server.ask("GET", "/v1/team", auth=("ant", PASSWORD)).json()
    assert document["task"] == {
        "name": "classification",
        "accuracy": "top-1",
        "answers": "classifications",
    }
    said = "\n".join(in_lines(document))
    assert "6 classifications in 1 posts" in said
    assert re.search(r"top-1 0\.83333, top-5 0\.83333, \d", said)


def test_the_report_shows_the_worst_images_to_operators_alone(day: Day) -> None:
    server = day.server
    assert server is not None
    with open_contest(day.folder) as contest:
        key = contest.operator_key
    report = server.ask("GET", "/operator/runs/1/report", key, PAGE).text
    assert "Worst images" in report
    assert re.search(
        r"Image 6 \(\d+\.jpg\), 0\.00000: Answered \d; the class is \d", report
    )
    assert "top-5" in report


APART = """
() => [...document.querySelectorAll(".ranking tbody tr")].every(row => {
  const range = document.createRange();
  const [first, second] = [...row.querySelectorAll("td[data-label]")].map(cell => {
    range.selectNodeContents(cell);
    return range.getBoundingClientRect();
  });
  return first.right <= second.left || first.bottom <= second.top || second.bottom <= first.top;
})
"""
"""Whether the accuracy with its name and the energy stand beside each other in each row of the ranking."""


@pytest.mark.parametrize("width", [320, 390, 900, 1280])
def test_a_long_name_of_the_figure_leaves_the_energy_its_place(
    day: Day,
    browser: Browser,
    width: int,
) -> None:
    assert day.server is not None
    server = day.server
    until(lambda: server.ask("GET", "/board.json").json()["ranking"])
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto(server.url)
    page.evaluate(
        "document.querySelectorAll('[data-label=\"top-1\"]').forEach("
        "cell => { cell.dataset.label = 'mean pixel IoU'; })"
    )
    assert page.evaluate(APART)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()
