from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path

import pytest

from tests.contest_day import TEAM, Day, contest_day
from tests.deploy.deployment import (
    HOST,
    Attackers,
    Deployment,
    Nginx,
    User,
    program,
    upstream,
    working,
)
from tests.large_images import large_test_set
from tests.referee.web.two_stations import OTHER_TEAM, two_stations

FILES = 8192
ADDRESSES = count(1)


@pytest.fixture(scope="session")
def large_images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return large_test_set(tmp_path_factory.mktemp("sets") / "large")


@pytest.fixture(scope="session", autouse=True)
def many_files() -> None:
    """2,000 connections of one test need as many open files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < FILES:
        most = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


@pytest.fixture(scope="session")
def deployment(
    tmp_path_factory: pytest.TempPathFactory,
    large_images: Path,
) -> Iterator[Deployment]:
    """A contest with two open runs behind nginx, as docs/deploy/README.md sets it up."""
    program("nginx")
    with ExitStack() as stack:

        def day(*, served: bool, teams: tuple[str, ...]) -> Day:
            assert not served
            folder = tmp_path_factory.mktemp("deployed") / "contest"
            made = stack.enter_context(contest_day(folder, large_images, teams=teams))
            config = folder / "contest.toml"
            config.write_text(f'trusted_proxy = ["{HOST}"]\n{config.read_text()}')
            return made

        made = two_stations(day)
        assert made.server is not None
        nginx = stack.enter_context(
            closing(Nginx(tmp_path_factory.mktemp("nginx"), upstream(made.server.port)))
        )
        deployed = Deployment(made, nginx)
        deployed.token, deployed.other_token = (
            str(deployed.login(f"127.0.9.{n}", team).json()["token"])
            for n, team in enumerate((TEAM, OTHER_TEAM), start=1)
        )
        yield deployed
        assert "worker_connections are not enough" not in nginx.log()


@pytest.fixture
def attackers(deployment: Deployment) -> Iterator[Attackers]:
    with ExitStack() as stack:
        yield Attackers(deployment, stack)


@pytest.fixture
def user(deployment: Deployment) -> Iterator[User]:
    """The board of the other team, at an address that no test has used yet."""
    with working(
        deployment,
        f"127.0.8.{next(ADDRESSES)}",
        deployment.other_token,
        OTHER_TEAM,
    ) as made:
        yield made
