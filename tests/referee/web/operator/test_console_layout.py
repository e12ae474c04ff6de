"""The console's buttons on the screens of laptops: all can be seen and clicked, and what destroys looks so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from referee.clock import Clock
from referee.contest import open_contest
from referee.judging.judge import judge
from referee.store.records import RunState
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import HASH, Day, Meter, contest_day
from tests.referee.judging.judged_runs import closed_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser"]
SIZES = (
    (1280, 720),
    (1280, 800),
    (1366, 768),
    (1440, 900),
    (1920, 1080),
)
DESTRUCTIVE = {"Void", "Close", "✕", "Withdraw"}
TEAMS = (
    "bee",
    "The Low-Power Vision Laboratory of the North, second team",
    "w" * 100,
    "dog",
    "elk",
)
RUNS = 9

CUT = """() => {
  const cut = [];
  for (const button of document.querySelectorAll("#live button, #live [role=button]")) {
    button.scrollIntoView({block: "nearest", inline: "nearest"});
    const box = button.getBoundingClientRect(), scrolled = button.closest(".scroll");
    const outer = (scrolled ?? document.body).getBoundingClientRect();
    const seen = box.left >= outer.left && box.right <= outer.right && box.top >= 0 && box.bottom <= innerHeight;
    const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    if (!seen || hit !== button || scrolled?.scrollLeft) cut.push(button.id);
  }
  for (const one of document.querySelectorAll(".scroll")) {
    if (one.scrollWidth > one.clientWidth) cut.push(one.getAttribute("aria-labelledby"));
    one.scrollTop = 0;
  }
  return cut;
}"""
LOOKS = """() => [...document.querySelectorAll("#live button, #live [role=button]")].map(one => {
  const style = getComputedStyle(one);
  return [one.textContent.trim(), `${style.color} ${style.borderTopColor} ${style.backgroundColor}`];
})"""
NEIGHBOURS = """() => [...document.querySelectorAll("#runs-panel tbody tr")].map(row => {
  const [harmless, destructive] = [".does button, .does a", ".destroys button"].map(
    where => [...row.querySelectorAll(where)].map(one => one.getBoundingClientRect()));
  return destructive.flatMap(one => harmless.map(two =>
    Math.max(one.left - two.right, two.left - one.right, one.top - two.bottom, two.top - one.bottom)));
}).flat()"""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, tiny_set: Path) -> Iterator[Day]:
    """Two stations, one of them with an open run; nine runs that are closed, judged, in review or void."""
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("desk") / "contest"
        made = stack.enter_context(
            contest_day(folder, tiny_set, auto_arm=False, teams=TEAMS)
        )
        made.meters.append(Meter(folder / "meter.log"))
        settings = folder / "contest.toml"
        second = f'[[stations]]\nname = "station-2"\nmeter = "{made.meters[-1].address}"\nupdate_interval_s = 0.1\n'
        settings.write_text(f"{settings.read_text()}\n{second}")
        with open_contest(folder) as contest:
            for seed in range(RUNS):
                run = closed_run(contest, TEAMS[seed % 3], 1.0 + seed / 50, seed)
                if seed % 3:
                    judge(contest, run.id, Clock())
                if seed % 4 == 3:
                    contest.store.runs.change(
                        run.id,
                        (RunState.JUDGED, RunState.CLOSED),
                        state="void",
                        void_reason="the board fell",
                    )
            contest.store.queue.change(lambda _: list(TEAMS[1:4]))
            contest.store.operators.add("eve", HASH, Clock().utc())
            contest.store.announcements.add(
                "eve",
                "Lunch at noon, beside the large hall on the first floor.",
                Clock().utc(),
            )
        server = made.serve()
        key = (folder / "operator-key").read_text().strip()
        armed = server.ask(
            "POST",
            "/operator/runs",
            key,
            json={"team": "dog", "station": "station-1"},
        )
        assert armed.status_code == 201, armed.text
        made.login("dog")
        yield made


@pytest.fixture
def page(desk: Day, browser: Browser) -> Iterator[Page]:
    assert desk.server is not None
    with visit(
        browser,
        f"{desk.server.url}/operator/",
        size=SIZES[0],
        refused=["ERR_FAILED"],
        color_scheme="light",
    ) as page:
        page.fill("[name=name]", "eve")
        page.fill("[name=password]", "six legs")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        page.wait_for_selector(".running .clock")
        yield page


def test_every_button_is_whole_and_can_be_clicked_on_a_laptop(page: Page) -> None:
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function(
            "([w, h]) => innerWidth === w && innerHeight === h",
            arg=[width, height],
        )
        assert page.evaluate(CUT) == [], (width, height)
        assert page.evaluate("document.body.scrollWidth") <= width
        assert_accessible(page)


def test_the_sentence_that_the_server_is_lost_covers_no_button(page: Page) -> None:
    page.route("**/operator/live*", lambda route: route.abort())
    page.evaluate("heard = Date.now() - 60000")
    page.wait_for_selector("#lost:not([hidden])")
    assert page.evaluate(CUT) == []


def test_the_sentence_that_something_is_done_takes_no_click(page: Page) -> None:
    page.evaluate("document.getElementById('said').textContent = 'The run is armed.'")
    assert page.evaluate(CUT) == []
    assert page.evaluate(
        """() => {
          const box = document.getElementById("said").getBoundingClientRect();
          return document.elementFromPoint(box.x + 5, box.y + 5).id !== "said";
        }"""
    )


def test_the_settings_of_a_start_are_one_line_of_the_events(page: Page) -> None:
    settings = page.locator(".log li", has=page.get_by_text("settings", exact=True))
    assert settings.count()
    for text in settings.all_inner_texts():
        assert "read when the server started" in text
        assert "[[stations]]" not in text
        assert len(text) < 200


def test_a_start_after_which_no_setting_had_changed_is_an_event_too(
    day: Callable[..., Day],
) -> None:
    made = day()
    assert made.server is not None
    key = (made.folder / "operator-key").read_text().strip()
    for _ in range(2):
        made.server.close()
        made.serve()
        live = made.server.ask("GET", "/operator/live", key)
        assert live.status_code == 200, live.text
        assert "read when the server started" in live.text


def test_what_destroys_looks_otherwise_and_lies_apart(page: Page) -> None:
    looks: dict[bool, set[str]] = {True: set(), False: set()}
    found = page.evaluate(LOOKS)
    for label, look in found:
        looks[label in DESTRUCTIVE].add(look)
    assert DESTRUCTIVE | {"Report", "Rejudge", "Unvoid", "Freeze", "Absent"} <= {
        one for one, _ in found
    }
    assert not looks[True] & looks[False]
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        gaps = page.evaluate(NEIGHBOURS)
        assert len(gaps) >= RUNS
        assert min(gaps) >= 8, (width, height)


def test_a_destructive_button_is_reached_by_keyboard_and_asks_first(page: Page) -> None:
    void = page.locator("#runs-panel .destroys button").first
    void.focus()
    outline = void.evaluate("one => getComputedStyle(one).outlineStyle")
    page.keyboard.press("Enter")
    assert page.get_by_role("dialog").is_visible()
    confirm = page.locator("#ask-do")
    assert confirm.inner_text().startswith("Void run")
    assert "destroys" in (confirm.get_attribute("class") or "")
    page.keyboard.press("Escape")
    assert outline != "none"
    assert not page.get_by_role("dialog").is_visible()


def test_a_dialog_with_a_long_name_can_be_left_and_confirmed_on_a_phone(
    page: Page,
) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.get_by_role("button", name=f"Remove {TEAMS[2]} from the queue").click()
    dialog = page.get_by_role("dialog").bounding_box()
    assert dialog is not None
    for button in ("#ask-cancel", "#ask-do"):
        box = page.locator(button).bounding_box()
        assert box is not None
        assert box["x"] >= dialog["x"], button
        assert box["x"] + box["width"] <= dialog["x"] + dialog["width"], button
    page.click("#ask-cancel")
