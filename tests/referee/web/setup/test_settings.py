"""The settings of a served contest, changed in the browser: what holds when, and who is kept from what."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
import requests

from referee.config import read_config
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import PASSWORD, TEAM, Day, until
from tests.referee.web.setup.settings_pages import Pages, edit, fields

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]
LONG = "a-name-without-a-blank-" * 12


@pytest.fixture
def served(day: Callable[..., Day]) -> Day:
    made = day(auto_arm=False)
    text = (made.folder / "contest.toml").read_text()
    assert "window_s = 600 " in text
    return made


@pytest.fixture
def pages(served: Day) -> Iterator[Pages]:
    made = Pages(served)
    yield made
    made.session.close()


def status(day: Day) -> dict[str, Any]:
    assert day.server is not None
    key = (day.folder / "operator-key").read_text().strip()
    found: dict[str, Any] = day.server.ask(
        "GET",
        "/operator/status",
        key,
    ).json()
    return found


def acts(day: Day) -> list[dict[str, Any]]:
    with day.store() as store:
        return [
            event["detail"]
            for event in store.log.newest_after(
                0,
                500,
            )[1]
        ]


def test_a_change_is_written_put_on_record_and_holds_after_apply_now(
    served: Day,
    pages: Pages,
) -> None:
    form = pages.form("rules")
    answer = pages.post(
        "rules",
        form | {"window_s": "900", "attempts": "2"},
    )
    assert "Written into contest.toml" in answer.text
    text = (served.folder / "contest.toml").read_text()
    assert "window_s = 900              # whole seconds" in text
    assert status(served)["window_s"] == 600
    page = pages.get("apply").text
    assert "window_s: 600 -&gt; 900" in page
    waiting = pages.post(
        "apply",
        pages.form("apply"),
    )
    assert waiting.status_code == 200, waiting.text
    assert (
        'http-equiv="refresh" content="4; url=/operator/settings/waiting'
        in waiting.text
    )
    until(
        lambda: holds(
            served,
            900,
        )
    )
    assert "Nothing: contest.toml has the settings in use." in pages.get("apply").text
    changed = [one for one in acts(served) if one.get("action") == "settings"]
    assert changed[-1]["changed"] == ["window_s: 600 -> 900", "attempts: not set -> 2"]
    assert changed[-1]["operator"] == "key"
    assert changed[-1]["user"] == "ruth"


def holds(
    day: Day,
    window_s: int,
) -> bool:
    try:
        return bool(status(day)["window_s"] == window_s)
    except requests.ConnectionError:
        return False


def test_an_open_run_goes_on_and_the_page_says_until_when(
    served: Day,
    pages: Pages,
) -> None:
    pages.post(
        "rules",
        pages.form("rules") | {"auto_arm": "yes"},
    )
    pages.post(
        "apply",
        pages.form("apply"),
    )
    until(lambda: read_config(served.folder).auto_arm and logs_in(served))
    assert served.server is not None
    pages.post("rules", pages.form("rules") | {"attempts": "3"})
    page = pages.get("apply").text
    assert f"Open: run 1 of {TEAM}. The new settings can hold once it is over" in page
    refused = pages.post(
        "apply",
        pages.form("apply"),
    )
    assert refused.status_code == 409
    assert "press Apply now then" in refused.text
    assert status(served)["stations"][0]["run"]["state"] == "open"
    for ask in ("probe", "range", "ask"):
        form = pages.form("stations") | {"seconds": "1"}
        asked = pages.post(
            f"stations/{ask}",
            form,
        )
        assert "ask its meter when that run is over" in asked.text


def logs_in(day: Day) -> bool:
    assert day.server is not None
    try:
        document = {"team": TEAM, "password": PASSWORD}
        answer = day.server.ask(
            "POST",
            "/v1/session",
            json=document,
        )
    except requests.ConnectionError:
        return False
    return answer.status_code == 201


def test_an_editor_and_a_page_at_once_lose_nothing(
    served: Day,
    pages: Pages,
) -> None:
    """The editor saves 700 and a name, the page from before sends 900: both values are shown, and asked again."""
    form = pages.form("rules")
    edit(
        served,
        "window_s = 600",
        "window_s = 700",
    )
    by_hand = edit(
        served,
        'name = "Test day"',
        'name = "By hand"',
    )
    refused = pages.post(
        "rules",
        form | {"window_s": "900"},
    )
    assert refused.status_code == 409
    assert "window_s is 700 in the file, 900 in your form" in refused.text
    assert "in the file now: 700" in refused.text
    assert (served.folder / "contest.toml").read_text() == by_hand
    again = fields(
        refused.text,
        "rules",
    )
    assert again["window_s"] == "900"
    assert again["name"] == "By hand"  # which this form had not touched
    pages.post(
        "rules",
        again,
    )
    config = read_config(served.folder)
    assert (config.window_s, config.name) == (900, "By hand")


def test_of_two_operators_at_once_the_second_is_asked_again(
    served: Day,
    pages: Pages,
) -> None:
    """Both opened the page before either wrote; neither loses what was written."""
    other = Pages(served)
    form = other.form("rules")
    pages.post("rules", pages.form("rules") | {"window_s": "900"})
    refused = other.post("rules", form | {"attempts": "2"})
    assert refused.status_code == 409
    assert "attempts is not set in the file, 2 in your form" in refused.text
    other.post("rules", fields(refused.text, "rules"))
    config = read_config(served.folder)
    assert (config.window_s, config.attempts) == (900, 2)


def test_a_half_written_file_is_said_with_its_line_and_the_server_goes_on(
    served: Day,
    pages: Pages,
) -> None:
    form = pages.form("rules")
    apply = form
    half = edit(
        served,
        "shuffle = true",
        "shuffle = tr",
    )
    for answer in (
        pages.get("rules"),
        pages.get("stations"),
        pages.post(
            "rules",
            form | {"window_s": "900"},
        ),
        pages.post(
            "apply",
            apply,
        ),
    ):
        assert answer.status_code == 400
        assert "line 7" in answer.text
    assert (served.folder / "contest.toml").read_text() == half
    assert status(served)["window_s"] == 600
    shown = pages.get("apply")
    assert "line 7" in shown.text
    for untrue in ("Nothing is wrong", "Nothing: ", "starts again with the new"):
        assert untrue not in shown.text


def test_what_the_next_worker_could_not_load_is_not_applied(
    served: Day,
    pages: Pages,
) -> None:
    """Else the worker would end, and none could start again."""
    edit(
        served,
        f'testset = "{served.testset}"',
        'testset = "elsewhere"',
    )
    refused = pages.post(
        "apply",
        pages.form("apply"),
    )
    assert refused.status_code == 400
    assert "elsewhere" in refused.text
    assert status(served)["window_s"] == 600


def test_whoever_is_not_an_operator_sees_and_changes_nothing(served: Day) -> None:
    """A team in the hall, and a page on another site that sends an operator's browser here."""
    assert served.server is not None
    before = (served.folder / "contest.toml").read_text()
    for step in ("rules", "stations", "teams", "operators", "day", "testset", "apply"):
        answer = served.server.ask(
            "GET",
            f"/operator/settings/{step}",
        )
        assert "Operator console" in answer.text
        assert "doctor" not in answer.text
        refused = served.server.ask(
            "POST", f"/operator/settings/{step}", data={"x": "1"}
        )
        assert refused.status_code in (401, 405)
    operator = Pages(served)
    form = operator.form("rules") | {"window_s": "900", "csrf": "0" * 32}
    assert (
        operator.post(
            "rules",
            form,
        ).status_code
        == 401
    )
    made = {"name": "eve", "password": "four short words"}
    assert (
        operator.post(
            "operators/add",
            made,
        ).status_code
        == 401
    )
    assert (served.folder / "contest.toml").read_text() == before


def test_a_team_of_the_page_logs_in_at_once_and_its_markup_is_text(
    served: Day,
    pages: Pages,
) -> None:
    assert served.server is not None
    name = "<b>bold</b>"
    form = pages.form(
        "teams",
        "teams/add",
    ) | {"team": name, "affiliation": "<i>x"}
    sheet = pages.post(
        "teams/add",
        form,
    )
    assert sheet.headers["Cache-Control"] == "no-store"
    assert "<b>bold" not in sheet.text
    assert "&lt;b&gt;bold" in sheet.text
    assert f"curl {served.server.url}/v1/health" in sheet.text
    password = re.findall(
        r"<dd><code>(\w{4}(?:-\w{4}){3})</code>",
        sheet.text,
    )[0]
    document = {"team": name, "password": password}
    answer = served.server.ask(
        "POST",
        "/v1/session",
        json=document,
    )
    assert answer.json()["code"] == "not-armed"
    assert password not in pages.get("teams").text


@pytest.mark.parametrize(
    ("step", "form", "sentence"),
    [
        ("rules", {"window_s": "ten"}, "Window, seconds: &#39;ten&#39; is not a whole"),
        ("rules", {"window_s": "0"}, "“Window, seconds” = 0 must lie between 1 and"),
        ("rules", {"name": ""}, "Name of the contest: it is blank"),
        ("day", {"freeze_at": "noon"}, "is not a time, such as"),
        ("day", {"freeze_at": "0001-01-01T00:00+14:00"}, "is not a time, such as"),
        ("day", {"freeze_at": "2020-01-01T10:00"}, "press “Freeze” in the console."),
        (
            "day",
            {"ground_truth_secret_until": "2020-01-01"},
            "a time to come, or leave",
        ),
        ("day", {"journal.path": "contest.toml"}, "is a file; name a folder."),
        ("day", {"backup.folder": "/nowhere/at/all"}, "There is no folder /nowhere"),
        ("day", {"backup.folder": "~/copies"}, "~ is not expanded in contest.toml"),
        ("stations", {"meter": "TCPIP"}, "TCPIP"),
        ("stations", {"voltage_range_v": "-1"}, "“Voltage range, V” = -1"),
        ("stations", {"clients": "the board"}, "neither a network nor an address"),
        ("stations/range", {"seconds": "3600"}, "A ranging run lasts 1 to 60 s"),
        ("testset", {"path": "/nowhere"}, "/nowhere"),
        ("operators/add", {"name": "key"}, "choose another name"),
        ("operators/add", {"name": "eve", "password": "short"}, "has 5 characters"),
        (
            "teams/add",
            {"team": TEAM},
            "exists already. “New password” beside it gives one.",
        ),
        ("rules", {"rule.energy_limit_wh": "5 Wh"}, "is not a number; 5 Wh is 5."),
        ("rules", {"rule.power_limit_w": "900 mW"}, "900 mW is 0.9. Nothing"),
        ("testset", {"path": "C:\\set"}, "C:\\set is a path of Windows; write it as"),
        (
            "hall",
            {"board_url": "192.168.1.10:80"},
            "QR code” = &#39;192.168.1.10:80&#39; must begin",
        ),
        (
            "hall",
            {"official_makers": "A; B"},
            "a comma stands between makers, not a semicolon.",
        ),
        (
            "stations",
            {"clients": "board"},
            "has &#39;board&#39;, which is neither a network",
        ),
        ("rules", {"attempts": "-1"}, "“Attempts of each team” = -1 must be 0"),
        ("rules", {"window_s": "10 min"}, "is not a whole number; 10 min is 600."),
        ("rules", {"least_map": "1"}, "no run would be ranked; 1 % is 0.01. Nothing"),
        ("rules", {"rule.least_accuracy": "5"}, "at most 1; 5 % is 0.05. Nothing"),
        ("rules", {"images.per_attempt": "500"}, "Images of a run: 500 is more than"),
        ("rules", {"metric": "mAP"}, "Metric: &#39;mAP&#39; is none of lpirc, "),
        ("stations", {"update_interval_s": "0.3"}, "is none of 0.1, 0.25, 0.5, 1, 2,"),
        (
            "prizes/add",
            {"name": "", "rule": "best-score"},
            "“Name” is blank; fill it in. Nothing was written.",
        ),
        (
            "teams/import",
            {"list": "team\nbee,x,y\n"},
            "has more cells than the first line",
        ),
    ],
)
def test_a_bad_value_is_one_sentence_and_nothing_is_written(
    served: Day,
    pages: Pages,
    step: str,
    form: dict[str, str],
    sentence: str,
) -> None:
    before = (served.folder / "contest.toml").read_text()
    page = step.partition("/")[0]
    sent_to = page if page == "stations" else step
    refused = pages.post(
        step,
        pages.form(page, sent_to) | form,
    )
    assert refused.status_code in (400, 409), refused.text
    (said,) = re.findall(
        r'role="alert">(.*?)</p>',
        refused.text.partition("<main")[2],
    )
    assert sentence in said
    assert (served.folder / "contest.toml").read_text() == before
    with served.store() as store:
        assert list(store.teams.all()) == [TEAM]


def test_a_meter_that_is_not_there_is_one_sentence(
    served: Day,
    pages: Pages,
) -> None:
    form = pages.form("stations")
    pages.post(
        "stations",
        form | {"meter": "TCPIP::127.0.0.1,9::INSTR"},
    )
    probed = pages.post(
        "stations/probe",
        pages.form("stations"),
    )
    (said,) = re.findall(
        r'role="alert">(.*?)</p>',
        probed.text.partition("<main")[2],
    )
    assert "127.0.0.1,9" in said
    assert "Traceback" not in probed.text


def test_a_name_of_any_length_leaves_every_page_whole_on_a_phone(
    served: Day,
    pages: Pages,
    browser: Browser,
) -> None:
    form = pages.form("teams", "teams/add")
    assert pages.post("teams/add", form | {"team": LONG}).status_code == 200
    pages.post("rules", pages.form("rules") | {"name": LONG})
    pages.post("stations", pages.form("stations") | {"name": LONG})
    key = (served.folder / "operator-key").read_text().strip()
    with visit(browser, f"{pages.url}/teams", size=(360, 740)) as page:
        page.fill("[name=name]", "ruth")
        page.fill("[name=password]", key)
        page.keyboard.press("Enter")
        page.wait_for_selector(".steps")
        for step in ("teams", "rules", "stations", "apply"):
            page.goto(f"{pages.url}/{step}")
            assert page.get_by_text(LONG).first.is_visible() or step == "apply"
            assert page.evaluate("document.documentElement.scrollWidth") <= 360
            assert_accessible(page)


def test_apply_now_in_a_browser_leads_back_to_the_settings(
    served: Day,
    pages: Pages,
    browser: Browser,
) -> None:
    key = (served.folder / "operator-key").read_text().strip()
    refused = ("ERR_CONNECTION", "ERR_EMPTY")
    with visit(
        browser,
        f"{pages.url}/day",
        refused=refused,
    ) as page:
        page.fill(
            "[name=name]",
            "ruth",
        )
        page.fill(
            "[name=password]",
            key,
        )
        page.keyboard.press("Enter")
        page.wait_for_selector(".steps")
        page.get_by_label("Minutes between backups").fill("5")
        page.get_by_role(
            "button",
            name="Write",
        ).click()
        page.get_by_role(
            "link",
            name="Apply now",
        ).click()
        assert_accessible(page)
        page.get_by_role(
            "button",
            name="Apply now",
        ).click()
        page.wait_for_selector("text=Nothing: contest.toml has the settings in use.")
    assert read_config(served.folder).backup.every_min == 5
