from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from lpirc_testsets import synthesize
from tests.contest_day import TEAM, Day, contest_day

TEAMS = (TEAM, "bee", "cat", "dog")


@pytest.fixture(scope="session")
def tiny_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets") / "tiny"
    return synthesize(
        folder,
        images=6,
        categories=3,
        seed=4,
        size=(96, 64),
    ).folder


@pytest.fixture
def day(tmp_path: Path, tiny_set: Path) -> Iterator[Callable[..., Day]]:
    """Make a contest day of a test's own: served, unless told otherwise."""
    with ExitStack() as stack:

        def make(
            *,
            served: bool = True,
            testset: Path = tiny_set,
            **settings: Any,
        ) -> Day:
            made = stack.enter_context(
                contest_day(tmp_path / "contest", testset, **settings)
            )
            if served:
                made.serve()
            return made

        yield make


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory, tiny_set: Path) -> Iterator[Day]:
    """A contest being served to all the tests that leave its open run as it is."""
    with contest_day(
        tmp_path_factory.mktemp("hall") / "contest",
        tiny_set,
        teams=TEAMS,
    ) as made:
        made.serve()
        yield made


@pytest.fixture(scope="module")
def token(hall: Day) -> str:
    """The token of the hall's open run, team ant's."""
    return str(hall.login()["token"])
