"""All pages of the settings, for the app of a contest and for the one that sets it up."""

from __future__ import annotations

from referee.web.setup import (
    apply_page,
    day_page,
    operator_page,
    rule_page,
    station_page,
    team_page,
    testset_page,
)

STEP_PAGES = (
    rule_page.blueprint,
    testset_page.blueprint,
    station_page.blueprint,
    team_page.blueprint,
    operator_page.blueprint,
    day_page.blueprint,
    apply_page.blueprint,
)
