"""All pages of the settings, for the app of a contest and for the one that sets it up."""

from __future__ import annotations

from referee.web.setup import (
    apply_page,
    day_page,
    hall_page,
    meter_page,
    operator_page,
    prize_page,
    rule_page,
    station_page,
    team_page,
    testset_page,
    track_page,
)

STEP_PAGES = (
    rule_page.blueprint,
    testset_page.blueprint,
    station_page.blueprint,
    meter_page.blueprint,
    team_page.blueprint,
    operator_page.blueprint,
    prize_page.blueprint,
    track_page.blueprint,
    hall_page.blueprint,
    day_page.blueprint,
    apply_page.blueprint,
)
