"""A contest whose results are judged, and its site."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from referee.clock import Clock
from referee.contest import Contest
from referee.judging.board_publisher import Publisher
from referee.judging.judge import judge
from referee.publishing.site_publication import Publication, publish_site
from tests.referee.factories import START, House
from tests.referee.judging.judged_runs import closed_run

MARKUP = "<script>alert(1)</script>"
ESCAPING = "../../escape"
TEAMS = ("otters", MARKUP, ESCAPING, "w" * 100, "badgers")
LATER = START + timedelta(hours=1)


def judged(contest: Contest, team: str, energy_wh: float, seed: int = 0) -> int:
    run = closed_run(contest, team, energy_wh, seed)
    judge(contest, run.id, Clock())
    return run.id


@pytest.fixture
def made(build: Callable[..., House]) -> House:
    made = build()
    known = made.store.teams.all()
    for number, team in enumerate(TEAMS):
        if team not in known:
            made.store.teams.add(team, "no hash", START)
        judged(made.contest, team, 1.0 + number, number)
    Publisher(made.contest, Clock()).tick()
    return made


@pytest.fixture
def published(made: House, tmp_path: Path) -> Callable[..., Publication]:
    """Publish the contest's site at `site`."""

    def publish(**options: Any) -> Publication:
        folder = options.pop("folder", tmp_path / "site")
        return publish_site(made.contest, folder, options.pop("now", LATER), **options)

    return publish
