"""The morning: an empty folder becomes a contest with 16 teams and two stations, through the pages of the set-up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.end_to_end.hall import WINDOW_S, Hall
from tests.end_to_end.persons import fits

if TYPE_CHECKING:
    from playwright.sync_api import Page

TEAMS = tuple(f"team {letter}" for letter in "ABCDEFGHIJKLMNOP")
RANGES = {"station-1": "150 V and 0.5 A", "station-2": "150 V and 0.1 A"}
RUTHS_PASSWORD = "four short words"


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()
    page.wait_for_load_state()


def go(page: Page, step: str) -> None:
    page.get_by_role("link", name=step, exact=True).click()
    page.wait_for_load_state()


def said(page: Page) -> str:
    return page.locator(".notice").first.inner_text()


def log_in(page: Page, name: str, password: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password, or the operator key").fill(password)
    press(
        page,
        "Log in",
    )
    page.locator(f"#session >> text={name}").wait_for()


def morning(page: Page, hall: Hall, root: Path) -> str:
    """Set the contest up and start it; returns the password of eve, the second operator."""
    press(
        page,
        "Begin",
    )
    page.get_by_label("Name of the contest").fill("LPIRC in the hall")
    page.get_by_label("Contest with a jury of two").check()
    page.get_by_label("Your name").fill("ruth")
    page.get_by_label("Your password").fill(RUTHS_PASSWORD)
    press(
        page,
        "Make the contest",
    )
    rules(page)
    a_test_set(page)
    stations(page, hall)
    teams(page, hall, root)
    password = a_second_operator(page)
    start(page)
    return password


def rules(page: Page) -> None:
    page.get_by_label("Window, seconds").fill(str(WINDOW_S))
    page.get_by_label("Rounds of heats").select_option("knock-out")
    page.get_by_label("Everyone sees the provisional score").check()
    press(
        page,
        "Write",
    )
    assert said(page).startswith("Written into contest.toml")
    fits(page)


def a_test_set(page: Page) -> None:
    go(
        page,
        "Test set",
    )
    page.get_by_label("Images").fill("12")
    press(
        page,
        "Make and choose",
    )
    assert said(page) == "The test set is whole, and chosen."


def stations(page: Page, hall: Hall) -> None:
    """The meters do not answer a broadcast here, so their addresses are typed; then each is probed."""
    go(
        page,
        "Stations",
    )
    press(
        page,
        "Find meters",
    )
    found = page.locator(".found, .notice").first.inner_text()
    assert "::" in found, "an address, or where to look for one"
    first, second = (one.address for one in hall.meters)
    page.get_by_label("Meter", exact=True).first.fill(first)
    page.get_by_label("Update interval, s").first.select_option("0.1")
    press(
        page,
        "Write station-1",
    )
    page.locator("#new-meter").fill(second)
    press(
        page,
        "Add",
    )
    page.get_by_label("Update interval, s").last.select_option("0.1")
    press(
        page,
        "Write station-2",
    )
    for name in ("station-1", "station-2"):
        press(
            page,
            f"Probe {name}",
        )
        assert "WT310" in page.locator(".probed").inner_text()
    for name, ranges in RANGES.items():
        page.get_by_label(f"Seconds of the ranging run of {name}").fill("1")
        press(
            page,
            f"Ranging run of {name}",
        )
        press(
            page,
            f"Fix {ranges}",
        )
        assert said(page).startswith("Written into contest.toml")


def teams(page: Page, hall: Hall, root: Path) -> None:
    """All 16 by a file; their passwords stand on the sheet."""
    go(
        page,
        "Teams",
    )
    lines = [f"{team},Institute {number}" for number, team in enumerate(TEAMS)]
    listed = root / "teams.csv"
    listed.write_text("\n".join(["team,affiliation", *lines]))
    page.get_by_label("CSV file").set_input_files(listed)
    press(
        page,
        "Register all",
    )
    for strip in page.locator(".strip").all():
        team = strip.locator("h2").inner_text()
        password = strip.locator("dt:text-is('password') + dd").inner_text()
        hall.passwords[team] = password
    assert set(hall.passwords) == set(TEAMS)
    fits(page)


def a_second_operator(page: Page) -> str:
    go(
        page,
        "Operators",
    )
    page.get_by_label("Name").fill("eve")
    press(
        page,
        "Register",
    )
    return page.locator(".notice code").inner_text()


def start(page: Page) -> None:
    go(
        page,
        "Freeze and backups",
    )
    page.get_by_label("Folder for backups").fill("backups")
    press(
        page,
        "Write",
    )
    go(
        page,
        "Check and start",
    )
    fits(page)
    press(
        page,
        "Start the contest",
    )
    page.wait_for_url("**/operator/")
    page.locator("#session >> text=ruth").wait_for()
    fits(page)
