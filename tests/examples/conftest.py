"""A contest whose teams are what contestants start from: the examples, and the client's wheel."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lpirc_testsets import synthesize
from tests.contest_day import Day, contest_day

TEAMS = ("cpp", "go", "python", "shell", "wheel-python", "wheel-pypy3")
IMAGES = 60
SIZE = (96, 64)


@pytest.fixture(scope="session")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    """Being served; its operator arms each run."""
    folder = tmp_path_factory.mktemp("hall")
    testset = synthesize(
        folder / "set",
        images=IMAGES,
        categories=3,
        seed=1,
        size=SIZE,
    ).folder
    with contest_day(folder / "contest", testset, auto_arm=False, teams=TEAMS) as made:
        made.serve()
        yield made
