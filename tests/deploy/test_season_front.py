"""docs/deploy/season.conf: two referee hosts at one address, each with a contest and a meter of its own."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import pytest

from lpirc_testsets import load_test_set, synthesize
from referee.contest import contest_id
from referee.store.records import RunState
from tests.contest_day import (
    PASSWORD,
    ROWS,
    TEAM,
    Day,
    contest_day,
    is_running,
    until,
    workers_of,
)
from tests.deploy.deployment import (
    GUIDE,
    HOST,
    Attackers,
    Deployment,
    Nginx,
    asked,
    begun,
    head,
    program,
    read_answer,
)
from tests.ports import own_port
from tests.referee.web.two_stations import OTHER_TEAM

BOARD_A = "127.0.0.11"
BOARD_B = "127.0.0.12"
ELSEWHERE = "127.0.0.13"
HALL_B = "hall-b.example.org"
# The places of season.conf that the tests change; docs/deploy/README.md lists the same ones.
PLACES = (
    *(
        "192.168.1.11:8080",
        "192.168.1.21:8080",
        "192.168.1.12:8080",
        "000000000000",
        "111111111111",
    ),
    *("192.168.2.0/24", "/var/www/season/"),
)
IMAGES = 6
BURST = 20


@dataclass
class Season(Deployment):
    """Its `day` is at the host hall-a, which takes every address but one; `other` is at hall-b."""

    other: Day | None = None

    @property
    def day_b(self) -> Day:
        assert self.other is not None
        return self.other

    def token_of(self, board: str, team: str) -> str:
        answer = self.login(board, team)
        assert answer.status == 201, answer
        return str(answer.json()["token"])

    def is_b(self, address: str, **headers: str) -> bool:
        """Whether hall-b answers who comes from there, with these headers and no token."""
        name = self.ask(address, "GET", "/v1/health", **headers).json()["contest"]
        return {"hall-a": False, "hall-b": True}[name]


@contextlib.contextmanager
def host(
    folder: Path,
    name: str,
    team: str,
    seed: int,
) -> Iterator[Day]:
    testset = synthesize(
        folder / f"set of {name}",
        images=IMAGES,
        categories=3,
        seed=seed,
        size=(96, 64),
    ).folder
    with contest_day(folder / name, testset, teams=(team,)) as made:
        config = made.folder / "contest.toml"
        text = config.read_text().replace('"Test day"', f'"{name}"')
        config.write_text(f'trusted_proxy = ["{HOST}"]\n{text}')
        made.serve()
        yield made


def places(board: Path, a: Day, b: Day) -> dict[str, str]:
    """What the tests write at the places of season.conf that they change."""
    assert a.server is not None
    assert b.server is not None
    ports = (a.server.port, own_port(), b.server.port)  # no one stands by
    ids = [contest_id(day.folder) for day in (a, b)]
    return dict(
        zip(
            PLACES,
            [*(f"{HOST}:{one}" for one in ports), *ids, BOARD_B, f"{board}/"],
            strict=True,
        )
    )


@pytest.fixture(scope="module")
def season(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Season]:
    program("nginx")
    folder = tmp_path_factory.mktemp("season")
    board = tmp_path_factory.mktemp("board")
    for name in ("season.html", "season.json", "season.db"):
        (board / name).write_text(f"this is {name}")
    with (
        host(folder, "hall-a", TEAM, 4) as a,
        host(folder, "hall-b", OTHER_TEAM, 5) as b,
    ):
        changes = places(board, a, b)
        with contextlib.closing(
            Nginx(tmp_path_factory.mktemp("nginx"), changes, "season.conf")
        ) as nginx:
            yield Season(a, nginx, other=b)


@pytest.fixture
def runs(season: Season) -> Iterator[Season]:
    """Both boards have an open run."""
    season.token = season.token_of(BOARD_A, TEAM)
    season.other_token = season.token_of(BOARD_B, OTHER_TEAM)
    yield season
    for token in (season.token, season.other_token):
        assert season.ask(ELSEWHERE, "DELETE", "/v1/session", token).status == 200


def served(day: Day) -> list[int]:
    """The images that the open run has on record."""
    with day.store() as store:
        (run,) = store.runs.find(RunState.OPEN)
        return store.served.images(run.id)


def whole_run(
    season: Season,
    board: str,
    team: str,
    confidence: float,
) -> set[bytes]:
    """Log in, fetch and post image by image, log out: the images."""
    fetched = set()
    with contextlib.closing(season.connection(board)) as kept:
        login = asked(
            kept,
            "POST",
            "/v1/session",
            body={"team": team, "password": PASSWORD},
        )
        token = str(login.json()["token"])
        for number in range(1, IMAGES + 1):
            image = asked(kept, "GET", f"/v1/images/{number}", token)
            fetched.add(image.body)
            posted = asked(
                kept,
                "POST",
                "/v1/detections",
                token,
                [[number, 1, confidence, 0, 0, 5, 5]],
            )
            assert image.status == 200
            assert posted.status == 202
        assert asked(kept, "DELETE", "/v1/session", token).status == 200
    return fetched


def test_whole_runs_at_the_same_time_reach_the_host_of_their_board(
    season: Season,
) -> None:
    boards = (
        (BOARD_A, TEAM, 0.25),
        (BOARD_B, OTHER_TEAM, 0.75),
    )
    with ThreadPoolExecutor() as pool:
        fetched = [
            future.result()
            for future in [pool.submit(whole_run, season, *one) for one in boards]
        ]
    for day, images, (_, team, confidence) in zip(
        (season.day, season.day_b),
        fetched,
        boards,
        strict=True,
    ):
        testset = load_test_set(day.testset)
        assert images == {
            testset.image_path(one.number).read_bytes() for one in testset.images
        }
        with day.store() as store:
            run = store.runs.find(team=team)[-1]
            assert run.state == RunState.CLOSED
            assert run.station == "station-1"
            rows = store.posts.detections(run.id)
        assert rows[:, [0, 2]].tolist() == [
            [number, confidence] for number in range(1, IMAGES + 1)
        ]


def test_a_token_decides_over_the_address_and_the_name(runs: Season) -> None:
    """Also on one connection, and however the header is written."""
    with contextlib.closing(runs.connection(BOARD_A)) as kept:
        for token in (runs.token, runs.other_token) * 3:
            headers = {"Host": HALL_B, "Authorization": f"bearer  {token} "}
            status = asked(
                kept,
                "POST",
                "/v1/detections",
                None,
                ROWS[:1],
                **headers,
            ).status
            assert status == 202
            assert asked(kept, "GET", "/v1/images?count=2", token).status == 200
    until(lambda: [served(runs.day), served(runs.day_b)] == [[1, 2], [1, 2]])
    assert runs.accepted(runs.token) == 3
    assert runs.accepted(runs.other_token) == 3
    stray = runs.other_token.replace(
        contest_id(runs.day_b.folder),
        contest_id(runs.day.folder),
    )
    assert runs.ask(BOARD_B, "GET", "/v1/session", stray).problem() == (
        401,
        "bad-token",
    )


def test_without_a_token_the_name_decides_and_then_the_address(season: Season) -> None:
    assert season.is_b(BOARD_B)
    assert not season.is_b(BOARD_A)
    assert not season.is_b(ELSEWHERE)
    assert season.is_b(BOARD_A, Host=f"{HALL_B}:8080")
    assert not season.is_b(BOARD_B, Host="hall-a.example.org")
    assert not season.is_b(
        ELSEWHERE,
        **{"X-Forwarded-For": BOARD_B, "Forwarded": f"for={BOARD_B}"},
    )
    console = season.ask(ELSEWHERE, "GET", "/operator/login", Host=HALL_B)
    assert console.status == 200
    assert (b"hall-b" in console.body) is True


def test_an_old_client_works_at_the_host_of_its_address(season: Season) -> None:
    def told(path: str, **fields: object) -> tuple[int, bytes]:
        answer = season.ask(BOARD_B, "POST", path, body=urlencode(fields).encode())
        return answer.status, answer.body

    status, token = told("/login", username=OTHER_TEAM, password=PASSWORD)
    named = {"token": token.decode()}
    assert status == 200
    assert told("/no_of_images", **named) == (200, b"%d" % IMAGES)
    status, image = told("/image", **named, image_name=1)
    assert status == 200
    assert image[:2] == b"\xff\xd8"
    box = {
        "image_name": 1,
        "CLASS_ID": 1,
        "confidence": 0.5,
        "xmin": 0,
        "ymin": 0,
        "xmax": 5,
        "ymax": 5,
    }
    assert told("/result", **named, **box) == (
        200,
        b"Result stored in the server database\n",
    )
    assert told("/logout", **named) == (200, b"Logout success\n")
    with season.day_b.store() as store:
        assert len(store.posts.detections(store.runs.find(RunState.CLOSED)[-1].id)) == 1


def test_while_one_host_is_down_the_other_goes_on_and_then_so_does_the_run(
    runs: Season,
) -> None:

    def posted(token: str) -> int:
        return runs.ask(
            ELSEWHERE,
            "POST",
            "/v1/detections",
            token,
            body=ROWS[:1],
        ).status

    assert posted(runs.token) == 202
    assert posted(runs.other_token) == 202
    server = runs.day_b.server
    assert server is not None
    workers = workers_of(server.pid)
    server.kill()
    until(lambda: not any(map(is_running, workers)))
    for _ in range(3):
        assert runs.ask(
            ELSEWHERE,
            "GET",
            "/v1/images/1",
            runs.other_token,
        ).problem() == (502, "no-answer")
        assert runs.login(BOARD_B, OTHER_TEAM).problem() == (502, "no-answer")
        assert posted(runs.token) == 202
        assert runs.login(BOARD_A, TEAM).status == 201
    runs.day_b.serve("--port", str(server.port))
    assert posted(runs.other_token) == 202
    assert runs.accepted(runs.token) == 4
    assert runs.accepted(runs.other_token) == 2
    assert runs.token_of(BOARD_B, OTHER_TEAM) == runs.other_token


def test_the_limits_of_an_address_count_for_all_hosts_together(season: Season) -> None:
    guess = json.dumps({"team": TEAM, "password": "guess"})
    request = head("POST", "/v1/session", length=len(guess)).decode() + guess
    hosts = ("hall-a.example.org", HALL_B)
    with contextlib.ExitStack() as stack:
        attackers = Attackers(season, stack)
        sent = [
            request.replace("Host: referee", f"Host: {hosts[n % 2]}").encode()
            for n in range(BURST * 3)
        ]
        guesses = [attackers.connect("127.0.0.14", one) for one in sent]
        told = [read_answer(begun(one)) for one in guesses]
    assert sum(b'"too-many-logins"' in answer.body for answer in told) >= BURST
    # Ten at each host.
    assert 10 < sum(b'"bad-credentials"' in answer.body for answer in told) <= 20
    other = season.ask("127.0.0.15", "POST", "/v1/session", body=guess.encode())
    assert other.problem() == (401, "bad-credentials")  # the host knows who guessed
    assert season.ask(
        ELSEWHERE,
        "POST",
        "/v1/detections",
        body=bytes(5 * 2**20),
    ).problem() == (
        413,
        "too-large",
    )


def test_the_board_of_the_season_is_there_and_nothing_beside_it(season: Season) -> None:
    page = season.ask(ELSEWHERE, "GET", "/season/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.body == b"this is season.html"
    body = season.ask(ELSEWHERE, "GET", "/season/season.json").body
    assert body == b"this is season.json"
    for path in (
        "season.db",
        "../season/season.db",
        "%2e%2e/etc/passwd",
        "season.html/",
        "season.csv",
    ):
        assert season.ask(ELSEWHERE, "GET", f"/season/{path}").status == 404, path


def test_the_guide_lists_every_place_that_the_tests_change() -> None:
    guide = (GUIDE / "README.md").read_text()
    assert [place for place in PLACES if f"`{place}`" not in guide] == []
