"""A referee that arms a run at each log-in, for all tests of a worker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lpirc_testsets import synthesize
from tests.contest_day import TEAM, Day, contest_day

# After ten failed log-ins in a minute a team must wait; each check makes one.
TEAMS = [f"team-{number}" for number in range(20)]


@pytest.fixture(scope="session")
def trial_day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    folder = tmp_path_factory.mktemp("conformance")
    testset = synthesize(
        folder / "set",
        images=6,
        categories=3,
        seed=4,
        size=(320, 240),
    ).folder
    with contest_day(folder / "contest", testset, teams=[TEAM, *TEAMS]) as day:
        day.serve()
        yield day


@pytest.fixture(scope="session")
def url(trial_day: Day) -> str:
    assert trial_day.server is not None
    return trial_day.server.url
