"""The stations' page over a real server: no run loses its station, and a meter that is asked blocks no one."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
import requests

from referee.config import read_config
from tests.browser import assert_accessible, browser, visit
from tests.contest_day import TEAM, Day, until
from tests.referee.web.setup.settings_pages import Pages, edit, fields
from tests.timeouts import TIMEOUT_S

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]


@pytest.fixture
def served(day: Callable[..., Day]) -> Day:
    return day(auto_arm=False)


@pytest.fixture
def pages(served: Day) -> Iterator[Pages]:
    made = Pages(served)
    yield made
    made.session.close()


def key_of(day: Day) -> str:
    return (day.folder / "operator-key").read_text().strip()


def arm(day: Day) -> requests.Response:
    assert day.server is not None
    return day.server.ask("POST", "/operator/runs", key_of(day), json={"team": TEAM})


def status(day: Day) -> dict[str, Any]:
    assert day.server is not None
    found: dict[str, Any] = day.server.ask(
        "GET", "/operator/status", key_of(day)
    ).json()
    return found


def says(day: Day) -> str:
    """What the status says of the station's meter."""
    return str(status(day)["stations"][0]["meter_sentence"])


def alert(page: str) -> str:
    (said,) = re.findall(r'role="alert">(.*?)</p>', page.partition("<main")[2])
    return said.replace("&#39;", "'")


def only_station(day: Day) -> str:
    return read_config(day.folder).stations[0].name


# A run keeps its station


def test_a_station_with_an_armed_run_keeps_its_name(served: Day, pages: Pages) -> None:
    """Else the team would log in at a station that is gone: 404, and no line says so."""
    assert arm(served).status_code in (200, 201)
    before = (served.folder / "contest.toml").read_text()
    refused = pages.post("stations", pages.form("stations") | {"name": "Table 2"})
    assert refused.status_code == 409
    assert f"has run 1 (armed) of {TEAM}" in alert(refused.text)
    assert (served.folder / "contest.toml").read_text() == before
    voided = served.server.ask(  # type: ignore[union-attr]
        "POST", "/operator/runs/1/void", key_of(served), json={"reason": "another"}
    )
    assert voided.status_code == 200
    written = pages.post("stations", pages.form("stations") | {"name": "Table 2"})
    assert "Written into contest.toml" in written.text


def test_a_station_with_an_armed_run_is_not_removed(served: Day, pages: Pages) -> None:
    added = pages.form("stations", "stations/add") | {"meter": "sim:"}
    pages.post("stations/add", added)
    assert arm(served).status_code in (200, 201)
    form = pages.form("stations")
    refused = pages.post("stations/remove", form)
    assert refused.status_code == 409
    assert "keeps its name and stays" in alert(refused.text)
    assert len(read_config(served.folder).stations) == 2


def test_a_file_edited_by_hand_is_not_applied_over_an_armed_run(
    served: Day, pages: Pages
) -> None:
    assert arm(served).status_code in (200, 201)
    name = only_station(served)
    edit(served, f'name = "{name}"', 'name = "Table 2"')
    refused = pages.post("apply", pages.form("apply"))
    assert refused.status_code == 409
    assert f"Station {name} has run 1 (armed)" in alert(refused.text)
    assert status(served)["stations"][0]["name"] == name


def test_a_run_whose_station_is_gone_needs_a_person(served: Day) -> None:
    """The file may be edited while the server is down; then no page can refuse it."""
    assert arm(served).status_code in (200, 201)
    name = only_station(served)
    served.server.end()  # type: ignore[union-attr]
    edit(served, f'name = "{name}"', 'name = "Table 2"')
    served.serve()
    (found,) = [
        one for one in status(served)["attention"] if one["code"] == "station-gone"
    ]
    assert found["severity"] == "person-needed"
    assert f"has run 1 (armed) of {TEAM}" in found["sentence"]
    assert "the team cannot log in" in found["sentence"]
    assert [one["label"] for one in found["acts"]] == ["Stations", "Void"]


# A meter that is asked blocks no one


def test_arming_is_refused_at_once_while_a_ranging_run_lasts(
    served: Day, pages: Pages
) -> None:
    """Seven waiting requests would take every slot of the operators: no one could close or void."""
    form = pages.form("stations") | {"seconds": "40"}
    ranged = threading.Thread(target=pages.post, args=("stations/range", form))
    ranged.start()
    until(lambda: "is being asked until" in says(served))
    answers: list[requests.Response] = []

    def try_to_arm() -> None:
        answers.append(arm(served))

    threads = [threading.Thread(target=try_to_arm) for _ in range(7)]
    for one in threads:
        one.start()
    assert status(served)["stations"][0]["run"] is None
    for one in threads:
        one.join(TIMEOUT_S)
    assert ranged.is_alive(), "they did not wait for the end of the ranging run"
    assert {one.status_code for one in answers} <= {409, 429}
    asked = pages.post("stations/probe", pages.form("stations"))
    assert "is being asked until" in alert(asked.text)
    ranged.join(TIMEOUT_S)
    assert arm(served).status_code in (200, 201)


def test_no_meter_is_searched_for_while_a_run_is_armed_or_open(
    served: Day, pages: Pages
) -> None:
    """A search asks every meter for its identity, over a second link."""
    assert arm(served).status_code in (200, 201)
    refused = pages.post("stations/find", pages.form("stations"))
    assert refused.status_code == 409
    assert "ask its meter when that run is over" in alert(refused.text)


# What is typed is what is asked


def test_probe_asks_the_address_that_is_typed_and_names_it(
    served: Day, pages: Pages
) -> None:
    typed = "TCPIP::127.0.0.1,9::INSTR"
    refused = pages.post("stations/probe", pages.form("stations") | {"meter": typed})
    assert "127.0.0.1,9" in alert(refused.text)
    assert fields(refused.text, "stations")["meter"] == typed
    saved = pages.form("stations")["meter"]
    assert saved != typed
    probed = pages.post("stations/probe", pages.form("stations"))
    shown = re.findall(r'class="probed".*?</dl>', probed.text, re.DOTALL)[0]
    assert f'<dd class="name">{saved}</dd>' in shown


@pytest.mark.parametrize("step", ["range", "trial"])
def test_nothing_is_measured_with_settings_that_are_not_written(
    served: Day, pages: Pages, step: str
) -> None:
    form = pages.form("stations") | {"voltage_range_v": "300", "seconds": "1"}
    refused = pages.post(f"stations/{step}", form)
    assert refused.status_code == 409
    assert "Voltage range, V of" in alert(refused.text)
    assert fields(refused.text, "stations")["voltage_range_v"] == "300"


def test_a_trial_run_says_what_it_measured_in_the_card_of_its_station(
    served: Day, pages: Pages
) -> None:
    page = pages.get("stations").text
    assert 'formaction="/operator/settings/stations/trial#station-1"' in page
    tried_ = pages.post("stations/trial", pages.form("stations"))
    assert tried_.status_code == 200
    card = tried_.text.partition('id="station-1"')[2].partition("</section>")[0]
    assert re.search(r"has measured [\d.e-]+ Wh, [\d.]+ W in the mean", card)


def test_a_long_measurement_says_how_long_and_its_result_is_in_view(
    served: Day, pages: Pages, browser: Browser
) -> None:
    with visit(browser, f"{pages.url}/stations") as page:
        page.fill("[name=name]", "ruth")
        page.fill("[name=password]", key_of(served))
        page.keyboard.press("Enter")
        page.wait_for_selector(".steps")
        trial = page.get_by_role("button", name="Trial run of station-1")
        page.route("**/trial", lambda route: route.fulfill(status=204))  # page stays
        trial.click()
        busy = page.get_by_role("button", name="Measuring, ")
        busy.wait_for()
        assert busy.is_disabled()
        page.unroute("**/trial")
        page.reload()
        trial.click()
        tried = page.locator(".tried")
        tried.wait_for()
        assert page.url.endswith("/stations/trial#station-1")
        shown = tried.bounding_box()
        assert shown is not None
        assert 0 <= shown["y"] <= 700
        assert_accessible(page)


def test_edits_that_are_not_written_are_asked_about_before_the_page_is_left(
    served: Day, pages: Pages, browser: Browser
) -> None:
    asked: list[str] = []

    def leave(dialog: Any) -> None:
        asked.append(dialog.type)
        dialog.accept()

    with visit(browser, f"{pages.url}/stations") as page:
        page.fill("[name=name]", "ruth")
        page.fill("[name=password]", key_of(served))
        page.keyboard.press("Enter")
        page.wait_for_selector(".steps")
        page.on("dialog", leave)
        page.get_by_role("link", name="Prizes").click()
        page.get_by_role("link", name="Stations").click()
        assert asked == []
        page.get_by_label("Voltage range, V").fill("300")
        page.get_by_role("link", name="Prizes").click()
        page.wait_for_url("**/prizes")
        assert asked == ["beforeunload"]


# What the page cannot read, it says


def test_a_team_gets_its_password_although_the_file_has_gone(
    served: Day, pages: Pages
) -> None:
    """It is registered then, and no one could see the password again."""
    form = pages.form("teams", "teams/add") | {"team": "bee"}
    operator = pages.form("operators", "operators/add") | {"name": "olga"}
    away = served.folder / "contest.toml"
    away.rename(served.folder / "away.toml")
    sheet = pages.post("teams/add", form)
    assert sheet.status_code == 200
    assert re.search(r"<code>\w{4}(?:-\w{4}){3}</code>", sheet.text)
    made = pages.post("operators/add", operator | {"password": ""})
    assert made.status_code == 200
    assert "olga logs in with the password" in made.text
