"""`--faults`: their effects on real connections, and the values that are refused."""

from __future__ import annotations

import http.client
import re
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from referee.cli.rehearsed_faults import Relay
from referee.web.listener import Listen
from tests.contest_day import called

ASKED = 60


@pytest.fixture
def served() -> Iterator[tuple[int, list[str]]]:
    """A server that echoes the bodies it gets: yield its port and the bodies."""
    taken: list[str] = []

    class Echo(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            taken.append(body[:10].decode().strip())
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        yield server.server_address[1], taken
        server.shutdown()


def answered(port: int, asked: int = ASKED) -> list[int]:
    """Send `asked` requests on a kept-alive connection, and return the numbers of those with a complete answer.

    A new connection is opened whenever one breaks.
    """
    whole = []
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for number in range(asked):
        body = f"{number:<10}".encode() * 20_000
        try:
            connection.request("POST", "/", body)
            assert connection.getresponse().read() == body
            whole.append(number)
        except (http.client.HTTPException, OSError):
            connection.close()
    connection.close()
    return whole


def test_as_many_requests_are_cut_before_as_after_they_took_effect_and_the_same_ones_by_the_same_seed(
    served: tuple[int, list[str]],
) -> None:
    port, taken = served
    lost = []
    for _ in range(2):
        relay = Relay(Listen(port=0), ("127.0.0.1", port), {"drop": 0.2}, seed=3)
        taken.clear()
        whole = answered(relay.port)
        cut = [one for one in range(ASKED) if one not in whole]
        assert [str(one) in taken for one in cut] == [
            place % 2 == 1 for place in range(len(cut))
        ]
        assert 6 <= len(cut) <= 20
        told = f"{len(cut)} of {ASKED} requests were cut off, {(len(cut) + 1) // 2} before and {len(cut) // 2} after"
        assert relay.account() == f"{told} they took effect. "
        lost.append(cut)
    assert lost[0] == lost[1]


def test_each_answer_is_late(served: tuple[int, list[str]]) -> None:
    relay = Relay(Listen(port=0), ("127.0.0.1", served[0]), {"slow": 0.1}, seed=1)
    began_s = time.monotonic()
    assert answered(relay.port, 3) == [0, 1, 2]
    assert time.monotonic() - began_s >= 0.3


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="no IPv6 here")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_relay_on_all_networks_serves_both_kinds_of_addresses(
    served: tuple[int, list[str]],
    host: str,
) -> None:
    relay = Relay(Listen("::", 0), ("127.0.0.1", served[0]), {"slow": 0.001}, seed=1)
    connection = http.client.HTTPConnection(host, relay.port)
    connection.request("POST", "/", b"x")
    assert connection.getresponse().read() == b"x"
    connection.close()


def test_a_relay_to_a_server_that_is_away_cuts_whoever_comes() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as gone:
        port = gone.server_address[1]
    relay = Relay(Listen(port=0), ("127.0.0.1", port), {"slow": 0.1}, seed=1)
    connection = http.client.HTTPConnection("127.0.0.1", relay.port)
    connection.request("GET", "/")
    with pytest.raises((http.client.HTTPException, OSError)):
        connection.getresponse()
    connection.close()


SHARE = "has no share of requests, such as 5%, below 100 %."
TIME = "has no time in s or ms, such as 2s, above 0 and below a day."
OTHER = "is not a fault; faults are drop, slow, meter-gap, restart."


@pytest.mark.parametrize(
    ("faults", "problem"),
    [
        *((f"drop{value}", SHARE) for value in ("", ":0%", ":100%", ":5s", ":5")),
        *((f"slow:{value}", TIME) for value in ("5%", "0ms", "200", "1e3ms")),
        *((f"restart:{value}", TIME) for value in ("nans", "86400s", "-1s")),
        ("meter-gap:2d", TIME),
        *((text, OTHER) for text in ("", "flood:1s", "slow:1s,", "drop=5%", "Drop:5%")),
    ],
)
@pytest.mark.parametrize("command", ["practice", "rehearse"])
def test_a_fault_that_there_is_not_is_named_with_those_that_are(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    faults: str,
    problem: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    result = called(command, "--faults", faults)
    assert result.returncode == 2
    assert result.stdout == ""
    told = f"'--faults': {faults.split(',')[-1]!r} {problem} Write drop:5%,slow:200ms"
    assert re.sub(r"\s+", " ", told) in re.sub(r"\s+", " ", result.stderr)
    assert [*tmp_path.iterdir()] == []


def test_a_fault_that_is_named_twice_is_told() -> None:
    result = called("practice", "--faults", "drop:5%,drop:6%")
    assert result.returncode == 2
    assert "The fault 'drop' is named twice." in result.stderr


@pytest.mark.parametrize(
    "line",
    [
        "practice --meter rapl: --faults meter-gap:1s",
        "rehearse --meter rapl: --faults meter-gap:1s",
        "rehearse --client true",
        "rehearse --client '",
        "rehearse --client 'true --replay x",
        "compare 1",
    ],
)
def test_wrong_use_makes_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    result = called(*line.split(" "))
    assert result.returncode == 2
    assert result.stdout == ""
    assert [*tmp_path.iterdir()] == []
