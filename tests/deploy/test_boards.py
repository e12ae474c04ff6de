"""nginx keeps the boards for everyone: how seldom the referee is asked, and how old an answer may be."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from referee.web.public.kept_answers import PUBLIC
from tests.contest_day import TIMEOUT_S
from tests.deploy.deployment import HOST, Deployment, Nginx, asked, program, upstream

OLDEST_S = 4.0
"""As docs/deploy/README.md states it: nginx counts whole seconds, so its second may be two; one more while it asks."""
BOARDS = ("/board.json", "/board/live", "/tracks/one.json")


@dataclass
class Publisher:
    """Stands for the referee: its board is how often it was asked, and `state`; it may hang until it is released."""

    asked: int = 0
    state: str = "live"
    goes_on: threading.Event = field(default_factory=threading.Event)

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        self.asked += 1
        body = json.dumps([self.asked, self.state]).encode()
        self.goes_on.wait(TIMEOUT_S)
        is_packed = request.headers["Accept-Encoding"] == "gzip"
        request.send_response(200)
        request.send_header("Cache-Control", PUBLIC)
        request.send_header("ETag", f'W/"{self.asked}"')
        request.send_header("Vary", "Accept-Encoding")
        if is_packed:
            request.send_header("Content-Encoding", "gzip")
            body = gzip.compress(body)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        with contextlib.suppress(OSError):  # nginx has given up
            request.wfile.write(body)


@dataclass
class Front:
    """A publisher behind nginx."""

    publisher: Publisher
    nginx: Nginx

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(HOST, self.nginx.port, TIMEOUT_S)


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Front]:
    program("nginx")
    publisher = Publisher()
    publisher.goes_on.set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            publisher.answer(self)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer((HOST, 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        changes = upstream(server.server_address[1])
        with contextlib.closing(Nginx(tmp_path, changes)) as nginx:
            yield Front(publisher, nginx)
        publisher.goes_on.set()
        server.shutdown()


def test_whatever_polls_send_the_referee_is_asked_once_a_second(front: Front) -> None:
    """Who asks with ever other queries, names, cookies and codings gains nothing: it is the same board."""
    polls = 0
    begun_s = time.monotonic()
    with contextlib.closing(front.connection()) as kept:
        for number in range(100):
            for path in BOARDS:
                sent = {
                    "Host": f"h{number}",
                    "Cookie": f"theme={number}",
                    "User-Agent": str(number),
                }
                sent["Accept-Encoding"] = (
                    "identity" if number % 2 else f"gzip, x{number}"
                )
                assert asked(kept, "GET", f"{path}?{number}", **sent).status == 200
                polls += 1
    elapsed_s = time.monotonic() - begun_s
    assert (
        front.publisher.asked <= len(BOARDS) * 2 * (1 + elapsed_s) < polls
        or elapsed_s > 10
    )


def test_who_takes_gzip_gets_it_and_nobody_else(front: Front) -> None:
    codings = {
        "gzip, deflate, br": True,
        "GZIP": True,
        "gzip;q=0": False,
        "x-gzipped": False,
        "br": False,
    }
    with contextlib.closing(front.connection()) as kept:
        for coding, is_packed in codings.items():
            answer = asked(kept, "GET", "/board.json", **{"Accept-Encoding": coding})
            assert (answer.headers.get("content-encoding") == "gzip") is is_packed, (
                coding
            )
            body = gzip.decompress(answer.body) if is_packed else answer.body
            assert json.loads(body)[1] == "live"


def test_an_answer_within_a_run_is_given_to_no_one_else(front: Front) -> None:
    with contextlib.closing(front.connection()) as kept:
        for number in range(1, 6):
            own = asked(kept, "GET", "/board.json", "a-token").json()
            assert own == [number, "live"]
        front.publisher.state = "public"
        assert asked(kept, "GET", "/board.json").json()[1] == "public"


def test_a_board_that_has_changed_is_seen_within_the_stated_time_also_from_a_referee_that_hangs(
    front: Front,
) -> None:
    """No poll that begins later gets the old one: from a referee that does not answer it gets an error."""
    publisher = front.publisher
    with contextlib.closing(front.connection()) as kept:
        assert asked(kept, "GET", "/board.json").json()[1] == "live"
        publisher.state = "frozen"
        changed_s = time.monotonic()
        seen = "live"
        begun_s = changed_s
        while seen == "live":
            begun_s = time.monotonic()
            seen = asked(kept, "GET", "/board.json").json()[1]
            assert seen == "frozen" or begun_s - changed_s < OLDEST_S
    publisher.goes_on.clear()
    hung_s = time.monotonic()
    status = 200
    while status == 200:
        with contextlib.closing(front.connection()) as one:
            begun_s = time.monotonic()
            status = asked(one, "GET", "/board.json").status
            assert status in (502, 504) or begun_s - hung_s < OLDEST_S


def test_who_has_the_board_gets_304_without_the_referee_and_the_real_one_is_the_same(
    front: Front,
    deployment: Deployment,
) -> None:
    with contextlib.closing(front.connection()) as kept:
        statuses = set()
        for _ in range(50):
            first = asked(kept, "GET", "/board.json")
            again = asked(
                kept,
                "GET",
                "/board.json",
                **{"If-None-Match": first.headers["etag"]},
            )
            statuses.add(again.status)
        assert 304 in statuses
        assert front.publisher.asked < 50
    first = deployment.ask("127.0.9.20", "GET", "/board.json")
    assert first.headers["cache-control"] == PUBLIC
    own = deployment.ask("127.0.9.20", "GET", "/board.json", deployment.token)
    assert "x-window-remaining-ms" in own.headers
    assert own.headers["cache-control"] == "no-cache"
    others = deployment.ask(
        "127.0.9.21",
        "GET",
        "/board.json",
        Cookie=f"token={deployment.token}",
    )
    assert "x-window-remaining-ms" not in others.headers
