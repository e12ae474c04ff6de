"""A whole contest day through pages only: 16 teams, 2 stations, two people, and what goes wrong in a hall."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser import browser, visit
from tests.end_to_end.day_at_stations import (
    a_heat,
    a_heat_with_a_killed_referee,
    a_heat_with_a_lost_meter,
    a_repeat_that_needs_a_review,
)
from tests.end_to_end.day_in_the_morning import log_in, morning
from tests.end_to_end.day_of_the_jury import (
    a_question,
    confirm_and_publish,
    freeze,
    nothing_newer_is_seen,
    site,
    unveil,
)
from tests.end_to_end.hall import hall_with_two_meters
from tests.end_to_end.persons import Day

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["browser"]
DYING = ("ERR_CONNECTION", "ERR_EMPTY")
"""A page asks on while the referee is killed and started again."""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_whole_day_is_held_through_pages_only(
    tmp_path: Path, browser: Browser
) -> None:
    with hall_with_two_meters(tmp_path) as hall, ExitStack() as people:
        ruth = people.enter_context(visit(browser, hall.set_up_at, refused=DYING))
        eves_password = morning(ruth, hall, tmp_path)
        eve = people.enter_context(
            visit(browser, f"{hall.url}/operator/", refused=DYING)
        )
        log_in(eve, "eve", eves_password)
        viewer = people.enter_context(visit(browser, f"{hall.url}/", refused=DYING))
        day = Day(hall, ruth, eve, viewer)

        a_heat(day, "1")
        a_heat_with_a_killed_referee(day, "2")
        a_question(browser, day)
        lost = a_heat_with_a_lost_meter(day, "3")
        a_repeat_that_needs_a_review(day, lost)
        a_heat(day, "4")
        confirm_and_publish(day)
        freeze(day)
        for number in range(5, 9):
            a_heat(day, str(number))
        confirm_and_publish(day)
        nothing_newer_is_seen(day)
        unveil(day)
        site(day, browser, tmp_path)
