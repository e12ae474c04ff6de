"""The concurrency limit: a caller can exhaust only its own slots, and what the others notice is nothing."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from referee.runs.open_run import REQUESTS_AT_ONCE
from referee.web.concurrency_limits import LOG_INS_OF_AN_ADDRESS, OPERATORS_AT_ONCE
from referee.web.request_bodies import LARGEST_BODY_BYTES, LARGEST_DOCUMENT_BYTES
from tests.contest_day import ROWS, TEAM, TIMEOUT_S, Day, Server, problem, until
from tests.large_images import IMAGES, large_test_set
from tests.referee.web.two_stations import OTHER_TEAM, two_stations

IDLE = 2000


@pytest.fixture(scope="module")
def large_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return large_test_set(tmp_path_factory.mktemp("sets") / "large")


@pytest.fixture
def crowd() -> Iterator[Callable[..., socket.socket]]:
    """Connect and send some bytes; every connection stays open until the test ends."""
    with ExitStack() as opened:

        def connect(server: Server, sent: bytes = b"") -> socket.socket:
            connection = opened.enter_context(
                socket.create_connection((server.host, server.port), TIMEOUT_S)
            )
            connection.sendall(sent)
            return connection

        yield connect


def unfinished(
    token: str,
    path: str = "/v1/detections",
    length: int = 1000,
) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: referee", f"Content-Length: {length}"]
    bearing = [f"Authorization: Bearer {token}"] if token else []
    return "\r\n".join([*lines, *bearing, "", "[[1, 1"]).encode()


def works(day: Day, token: str) -> None:
    """Fetch an image and a batch, post, look at the session: all of it answered as ever."""
    assert day.server is not None
    for path in ("/v1/images/1", "/v1/images?first=1&count=3", "/v1/session"):
        assert day.server.ask("GET", path, token).status_code == 200
    assert day.post(token).status_code == 202


@contextmanager
def everything_answered(day: Day, token: str) -> Iterator[None]:
    works(day, token)
    yield
    works(day, token)


def test_stalled_bodies_of_a_run_exhaust_that_run_and_no_other(
    day: Callable[..., Day],
    crowd: Callable[..., socket.socket],
) -> None:
    made = two_stations(day)
    server = made.server
    assert server is not None
    stalling, working = (str(made.login(team)["token"]) for team in (TEAM, OTHER_TEAM))
    with everything_answered(made, working):
        for _ in range(REQUESTS_AT_ONCE):
            crowd(server, unfinished(stalling))
        # One more each time: a request of the test may have taken the slot of one of them.
        until(
            lambda: (
                crowd(server, unfinished(stalling))
                and made.post(stalling).status_code == 429
            )
        )
        refused = problem(made.post(stalling), 429, "too-many-requests")
        assert refused["retry_after_s"] == 1
        # An image holds no slot.
        assert server.ask("GET", "/v1/images/1", stalling).status_code == 200
    # Nor does it keep the operator out.
    assert made.refers("run", "close", "1").returncode == 0


def test_batches_that_no_one_reads_exhaust_their_own_run(
    day: Callable[..., Day],
    crowd: Callable[..., socket.socket],
    large_set: Path,
) -> None:
    made = day(testset=large_set, teams=(TEAM,))
    token = str(made.login()["token"])
    request = f"GET /v1/images?count={IMAGES} HTTP/1.1\r\nHost: referee\r\nAuthorization: Bearer {token}\r\n\r\n"
    for _ in range(REQUESTS_AT_ONCE):
        crowd(made.server, request.encode())
    assert made.server is not None
    path = f"/v1/images?count={IMAGES}"
    until(
        lambda: (
            crowd(made.server, request.encode())
            and made.server.ask("GET", path, token).status_code == 429
        )
    )
    assert made.server.ask("GET", "/v1/images/1", token).status_code == 200
    assert made.server.ask("GET", "/v1/health").status_code == 200


def test_stalled_log_ins_keep_no_open_run_and_no_operator_out(
    day: Callable[..., Day],
    crowd: Callable[..., socket.socket],
) -> None:
    made = two_stations(day)
    server = made.server
    assert server is not None
    token = str(made.login()["token"])
    with everything_answered(made, token):
        for _ in range(LOG_INS_OF_AN_ADDRESS):
            crowd(server, unfinished("", "/v1/session"))
        login = unfinished("", "/v1/session")
        until(
            lambda: (
                crowd(server, login)
                and server.ask("POST", "/v1/session").status_code == 429
            )
        )
        assert server.ask("GET", "/v1/health").status_code == 200
        armed = made.refers("run", "arm", OTHER_TEAM, "--station", "station-2")
        assert armed.returncode == 0, armed.stderr


def test_requests_with_the_operator_s_key_have_slots_of_their_own(
    day: Callable[..., Day],
    crowd: Callable[..., socket.socket],
) -> None:
    made = day()
    token = str(made.login()["token"])
    key = (made.folder / "operator-key").read_text().strip()
    with everything_answered(made, token):
        for _ in range(OPERATORS_AT_ONCE):
            crowd(made.server, unfinished(key, "/operator/runs"))
        stalled = unfinished(key, "/operator/runs")
        until(
            lambda: (
                crowd(made.server, stalled)
                and "Too many requests" in made.refers("run", "close", "99").stderr
            )
        )


@pytest.mark.parametrize("token", ["", "nonsense"])
@pytest.mark.parametrize("path", ["/v1/detections", "/operator/runs"])
def test_without_a_good_token_a_body_is_refused_before_it_is_read(
    hall: Day,
    crowd: Callable[..., socket.socket],
    token: str,
    path: str,
) -> None:
    stalled = crowd(hall.server, unfinished(token, path, LARGEST_BODY_BYTES))
    assert stalled.recv(1000).startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("path", ["/v1/session", "/login"])
def test_of_a_log_in_no_more_than_64_kib_is_waited_for(
    hall: Day,
    crowd: Callable[..., socket.socket],
    path: str,
) -> None:
    stalled = crowd(hall.server, unfinished("", path, LARGEST_DOCUMENT_BYTES + 1))
    assert stalled.recv(1000).split()[1] in (b"413", b"500")


def test_an_old_result_with_a_bad_token_is_refused_before_the_rest_of_it_is_read(
    hall: Day,
    crowd: Callable[..., socket.socket],
) -> None:
    start = unfinished("", "/result", LARGEST_BODY_BYTES).replace(
        b"[[1, 1",
        b"token=nonsense&x=",
    )
    start += b"1" * LARGEST_DOCUMENT_BYTES
    assert crowd(hall.server, start).recv(1000).startswith(b"HTTP/1.1 401 ")


def test_a_body_of_5_mib_is_refused_with_the_advice_to_send_several(
    hall: Day,
    token: str,
) -> None:
    assert hall.server is not None
    answer = hall.server.ask("POST", "/v1/detections", token, data=b" " * (5 * 2**20))
    assert problem(answer, 413, "too-large")["detail"].endswith(
        f"at most {2**22} are accepted: send several."
    )
    assert hall.post(token, ROWS).status_code == 202


def test_idle_connections_are_nothing_to_the_others(
    hall: Day,
    token: str,
    crowd: Callable[..., socket.socket],
) -> None:
    with everything_answered(hall, token):
        for _ in range(IDLE):
            crowd(hall.server)
