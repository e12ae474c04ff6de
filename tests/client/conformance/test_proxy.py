from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import re
import signal
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import requests

from lpirc_client.cli import main
from lpirc_client.conformance.client_rules import Exchange, Run
from lpirc_client.conformance.findings_report import Finding
from lpirc_client.conformance.proxy import Proxy
from tests import warm_programs
from tests.contest_day import PASSWORD, TEAM
from tests.timeouts import TIMEOUT_S

ROW = [1, 1, 0.5, 1, 1, 5, 5]


@contextlib.contextmanager
def proxied(
    url: str,
    findings: list[Finding],
    seen: list[Exchange] | None = None,
) -> Iterator[str]:
    """A proxy until its run is over; gives its address, and fills in what it found and saw."""
    seen = [] if seen is None else seen
    with Proxy(("127.0.0.1", 0), url) as proxy:
        thread = threading.Thread(target=proxy.serve)
        thread.start()
        yield address_of(proxy)
        thread.join(TIMEOUT_S)
        assert not thread.is_alive()
        seen += proxy.exchanges.values()
        findings += Run(seen).judge()


@contextlib.contextmanager
def serving(url: str) -> Iterator[Proxy]:
    """A proxy that no run ends."""
    with Proxy(("127.0.0.1", 0), url) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()


def address_of(proxy: Proxy) -> str:
    return "http://{}:{}".format(*proxy.server_address)


class Client:
    """A small client that does what its test makes it do; by itself it only logs in and out."""

    def __init__(self, url: str) -> None:
        self.where = url.rpartition("/")[2]
        self.connection = http.client.HTTPConnection(self.where, timeout=TIMEOUT_S)
        self.headers: dict[str, str] = {}

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        **headers: str,
    ) -> tuple[int, bytes]:
        content = (
            body
            if isinstance(body, bytes) or body is None
            else json.dumps(body).encode()
        )
        self.connection.request(method, path, content, {**self.headers, **headers})
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def log_in(self) -> None:
        status, content = self.ask(
            "POST",
            "/v1/session",
            {"team": TEAM, "password": PASSWORD},
        )
        assert status == 201, content
        self.headers = {"Authorization": f"Bearer {json.loads(content)['token']}"}

    def log_out(self) -> None:
        assert self.ask("DELETE", "/v1/session")[0] == 200


def late_posts(client: Client) -> None:
    client.log_out()
    assert client.ask("POST", "/v1/detections", [])[0] == 409


def connection_per_request(client: Client) -> None:
    for _ in range(6):
        client.ask("GET", "/v1/images?count=1")
        client.connection.close()


def unread_answers(client: Client) -> None:
    with socket.create_connection(client.where.split(":")) as connection:
        token = client.headers["Authorization"]
        connection.sendall(
            f"GET /v1/images?count=6 HTTP/1.1\r\nHost: a\r\nAuthorization: {token}\r\n\r\n".encode()
        )
        connection.recv(1)


def rows_of_unfetched_images(client: Client) -> None:
    client.ask("GET", "/v1/images/2")
    client.ask("POST", "/v1/detections", [ROW])


def rows_refused(client: Client) -> None:
    assert client.ask("POST", "/v1/detections", [[1, 999, *ROW[2:]]])[0] == 422


def other_refusals(client: Client) -> None:
    assert client.ask("GET", "/v1/images/7")[0] == 404


def fetched_twice(client: Client) -> None:
    client.ask("GET", "/v1/images?count=2")
    client.ask("GET", "/v1/images/2")


def polled(client: Client) -> None:
    client.ask("GET", "/v1/session")
    client.ask("GET", "/v1/session")


def needless_log_in(client: Client) -> None:
    client.log_in()


def no_bearer_token(client: Client) -> None:
    headers = client.headers
    client.headers = {}
    assert client.ask("GET", "/v1/session?token=abc")[0] == 401
    client.headers = headers


def unanswered_images(client: Client) -> None:
    client.ask("GET", "/v1/images?count=3")
    client.ask(
        "POST",
        "/v1/detections",
        struct.pack("<7f", *ROW),
        **{"Content-Type": "application/octet-stream"},
    )


def single_images(client: Client) -> None:
    for number in range(1, 7):
        client.ask("GET", f"/v1/images/{number}")


def rows_as_text(client: Client) -> None:
    client.ask(
        "POST",
        "/v1/detections",
        b"1 1 0.5 1 1 5 5",
        **{"Content-Type": "text/plain"},
    )


BAD: list[Callable[[Client], None]] = [
    late_posts, connection_per_request, unread_answers, rows_of_unfetched_images, rows_refused, other_refusals,
    fetched_twice, polled, needless_log_in, no_bearer_token, unanswered_images, single_images, rows_as_text,
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.__name__)
def test_a_client_that_does_something_wrong_is_told(
    url: str,
    bad: Callable[[Client], None],
) -> None:
    findings: list[Finding] = []
    with proxied(url, findings) as address:
        client = Client(address)
        client.log_in()
        bad(client)
        client.log_out()
        client.connection.close()
    found = {one.name: one for one in findings if one.result != "PASS"}
    name = bad.__name__.replace("_", "-")
    assert name in found
    assert found[name].count >= 1
    assert found[name].first_s is not None
    assert -0.1 < found[name].first_s < TIMEOUT_S  # two threads, two looks at the clock


def test_the_sample_client_does_nothing_wrong_and_fetches_its_batches_on_one_connection(
    url: str,
    tmp_path: Path,
) -> None:
    (tmp_path / "password").write_text(PASSWORD)
    findings: list[Finding] = []
    seen: list[Exchange] = []
    with proxied(url, findings, seen) as address:
        options = [
            "--team",
            TEAM,
            "--password-file",
            str(tmp_path / "password"),
            "--fetch",
            "2",
        ]
        assert main(["run", address, *options]) == 0
    assert [one for one in findings if one.result == "FAULT"] == []
    batches = [one.connection for one in seen if one.route == "GET /v1/images"]
    assert len(batches) == 3
    assert len(set(batches)) == 1


def test_what_goes_through_is_the_same_bytes_with_the_window_and_legacy_routes_too(
    url: str,
) -> None:
    findings: list[Finding] = []
    with proxied(url, findings) as address, requests.Session() as session:
        session.trust_env = False
        token = session.post(
            f"{address}/login",
            {"username": TEAM, "password": PASSWORD},
        ).text
        session.headers.update(
            {"Authorization": f"Bearer {token}", "Connection": "close"}
        )
        through, direct = (
            session.get(f"{where}/v1/images/3") for where in (address, url)
        )
        assert through.content == direct.content
        assert list(through.headers) == list(direct.headers)
        assert through.headers["X-Window-Remaining-Ms"].isdigit()
        batches = [
            session.get(f"{where}/v1/images?count=6").content
            for where in (address, url)
        ]
        assert batches[0] == batches[1]
        body = json.dumps([ROW] * 2000).encode()
        receipt = session.post(f"{address}/v1/detections", body).json()
        assert receipt["sha256"] == hashlib.sha256(body).hexdigest()
        old = session.post(f"{address}/image", {"token": token, "image_name": "3"})
        assert old.content == direct.content
        text = session.post(
            f"{address}/logout",
            {"token": token},
            headers={"Connection": "close"},
        ).text
        assert text == "Logout success\n"
    assert {one.name: one.result for one in findings}["no-log-out"] == "PASS"


STRANGE = {
    "HTTP/1.0": b"GET /v1/health HTTP/1.0\r\n\r\n",
    "two at once": b"GET /v1/health HTTP/1.1\r\nHost: a\r\n\r\n" * 2
    + b"GET /help HTTP/1.0\r\n\r\n",
    "not ASCII": "GET /é HTTP/1.0\r\nHost: a\r\n\r\n".encode("latin-1"),
    "chunked": b"POST /v1/detections HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n",
    "a length that is none": b"POST /login HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
    "expect": b"POST /v1/session HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nConnection: close\r\n"
    b"Content-Length: 2\r\n\r\n{}",
    "larger than it sends": b"POST /login HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
    b"Content-Length: 99999999999\r\n\r\n12",
}


@pytest.mark.parametrize("name", STRANGE)
def test_a_strange_request_gets_the_very_bytes_that_the_referee_answers(
    url: str,
    name: str,
) -> None:
    def answer(to: str) -> bytes:
        with socket.create_connection(
            to.rpartition("/")[2].split(":"),
            TIMEOUT_S,
        ) as connection:
            connection.sendall(STRANGE[name])
            with connection.makefile("rb") as read:
                return re.sub(
                    rb"\r\ndate: [^\r]*|\r\nconnection: close",
                    b"",
                    read.read(),
                )

    with serving(url) as proxy:
        assert answer(address_of(proxy)) == answer(url) != b""


def test_what_is_no_http_is_refused_and_reported(url: str) -> None:
    with serving(url) as proxy:
        with socket.create_connection(proxy.server_address, TIMEOUT_S) as connection:
            connection.sendall(b"\x16\x03\x01 tls\r\n\r\n")
            with connection.makefile("rb") as answer:
                assert answer.read().startswith(b"HTTP/1.1 400 ")
        (found,) = [
            one
            for one in Run([*proxy.exchanges.values()]).judge()
            if one.result == "FAULT"
        ]
    assert found.name == "other-refusals"
    assert "This is not HTTP" in found.detail


class Impatient(HTTPServer):
    """Answers one request, promises to keep the connection, and ends it."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(204)
            self.end_headers()
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.ended = threading.Semaphore(0)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self.ended.release()


def test_a_connection_that_the_referee_ended_is_closed_when_another_takes_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[socket.socket] = []
    connect = socket.create_connection

    def kept(*arguments: Any, **more: Any) -> socket.socket:
        opened.append(connect(*arguments, **more))
        return opened[-1]

    with (
        Impatient() as referee,
        ThreadPoolExecutor(1) as pool,
        contextlib.ExitStack() as at_the_end,
    ):
        pool.submit(referee.serve_forever, 0.01)
        at_the_end.callback(referee.shutdown)
        proxy = at_the_end.enter_context(
            serving(f"http://127.0.0.1:{referee.server_address[1]}")
        )
        client = at_the_end.enter_context(connect(proxy.server_address))
        monkeypatch.setattr("socket.create_connection", kept)
        for _ in range(2):
            client.sendall(b"GET /v1/health HTTP/1.1\r\nHost: a\r\n\r\n")
            assert client.recv(1000).startswith(b"HTTP/1.1 204 ")
            assert referee.ended.acquire(timeout=TIMEOUT_S)
    first, _ = opened
    assert first.fileno() == -1


def test_interrupted_it_reports_what_it_has_seen_and_that_nobody_logged_out(
    url: str,
    tmp_path: Path,
) -> None:
    command = ["lpirc-client", "check", url, "--proxy", "0", "--json"]
    with warm_programs.start(command) as process:
        address = process.stderr.readline().split(" as ")[0].split()[-1]
        client = Client(address)
        client.log_in()
        # On the same connection: by then the log-in is noted.
        client.ask("GET", "/v1/health")
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT_S) == 1
        document = json.loads(process.stdout.read())
        assert "no-log-out" in process.stderr.read()
    assert {
        one["name"] for one in document["findings"] if one["result"] == "FAULT"
    } == {"no-log-out"}
    assert document["client_waited_s"] >= 0
    client.connection.close()
    client.where = url.rpartition("/")[2]
    client.connection = http.client.HTTPConnection(client.where, timeout=TIMEOUT_S)
    client.log_out()
    client.connection.close()


def test_a_port_that_is_taken_is_named(
    url: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    taken = url.rpartition(":")[2]
    assert main(["check", url, "--proxy", taken]) == 1
    assert f"--proxy {taken}: " in capsys.readouterr().err
    with pytest.raises(SystemExit) as usage:
        main(["check", "https://a", "--proxy", "0"])
    assert usage.value.code == 2
