"""X-Forwarded-For is believed from a trusted proxy and from no one else."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.contest_day import TEAM, TIMEOUT_S, Day, Server, contest_day

PROXY = "127.0.0.2"
SECOND_PROXY = "10.1.2.3"
OTHER = "127.0.0.3"
BOARD = "192.0.2.7"
BOARD_V6 = "2001:db8::7"
FORWARDED = "X-Forwarded-For"
Ask = Callable[..., str]


@pytest.fixture(scope="module")
def behind_proxy(
    tmp_path_factory: pytest.TempPathFactory,
    tiny_set: Path,
) -> Iterator[Day]:
    """A contest whose station accepts BOARD, BOARD_V6 and the test's own address; two proxies are trusted."""
    with contest_day(tmp_path_factory.mktemp("proxied") / "contest", tiny_set) as made:
        config = made.folder / "contest.toml"
        trusted = f'trusted_proxy = ["{PROXY}", "10.0.0.0/8"]\n'
        clients = f'clients = ["127.0.0.1", "192.0.2.0/24", "{BOARD_V6}"]\n'
        config.write_text(trusted + config.read_text() + clients)
        made.serve()
        yield made


@pytest.fixture(scope="module")
def seen_as(behind_proxy: Day) -> Ask:
    """Ask from an address with these X-Forwarded-For headers: "accepted", or the address that was refused."""
    server = behind_proxy.server
    token = behind_proxy.login()["token"]
    assert server is not None

    def ask(
        peer: str,
        *forwarded: str,
        path: str = "/v1/session",
    ) -> str:
        return asked(server, token, peer, forwarded, path)

    return ask


def asked(
    server: Server,
    token: str,
    peer: str,
    forwarded: tuple[str, ...],
    path: str,
) -> str:
    connection = http.client.HTTPConnection(
        server.host,
        server.port,
        TIMEOUT_S,
        source_address=(peer, 0),
    )
    connection.putrequest("GET", path)
    connection.putheader("Authorization", f"Bearer {token}")
    for chain in forwarded:
        connection.putheader(FORWARDED, chain)
    connection.endheaders()
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    if answer.status == 200:
        return "accepted"
    told = json.loads(content)
    assert answer.status == 403
    assert told["code"] == "wrong-address"
    return str(told["address"])


@pytest.mark.parametrize("path", ["/v1/session", "/v1/images/1"])
def test_a_trusted_proxy_is_believed_and_no_one_else(seen_as: Ask, path: str) -> None:
    assert seen_as(PROXY, BOARD, path=path) == "accepted"
    assert seen_as(PROXY, "198.51.100.1", path=path) == "198.51.100.1"
    assert seen_as(OTHER, BOARD, path=path) == OTHER
    assert seen_as("127.0.0.1", "198.51.100.1", path=path) == "accepted"


def test_without_the_header_the_proxy_itself_is_the_client(seen_as: Ask) -> None:
    assert seen_as(PROXY) == PROXY
    assert seen_as(PROXY, "") == PROXY


def test_of_several_hops_the_last_one_that_is_not_a_proxy_counts(seen_as: Ask) -> None:
    assert seen_as(PROXY, f"198.51.100.1, {BOARD}, {SECOND_PROXY}") == "accepted"
    assert seen_as(PROXY, f"{BOARD}, 198.51.100.1, {SECOND_PROXY}") == "198.51.100.1"
    assert seen_as(PROXY, f"{BOARD},198.51.100.1") == "198.51.100.1"


def test_an_ipv6_address_is_read_in_every_form(seen_as: Ask) -> None:
    assert seen_as(PROXY, BOARD_V6) == "accepted"
    assert seen_as(PROXY, "2001:0DB8:0::0007") == "accepted"
    assert seen_as(PROXY, f"::ffff:{BOARD}") == "accepted"
    assert seen_as(PROXY, "2001:db8::8") == "2001:db8::8"


@pytest.mark.parametrize(
    "garbage",
    ["unknown", "192.0.2.7:80", "[2001:db8::7]", "192.0.2.0/24", ",", "' OR 1"],
)
def test_garbage_is_ignored(seen_as: Ask, garbage: str) -> None:
    assert seen_as(PROXY, garbage) == PROXY
    assert seen_as(PROXY, f"{BOARD}, {garbage}") == PROXY


def test_a_header_that_comes_twice_is_one_chain(seen_as: Ask) -> None:
    assert seen_as(PROXY, "198.51.100.1", BOARD) == "accepted"
    assert seen_as(PROXY, BOARD, "198.51.100.1") == "198.51.100.1"
    assert seen_as(OTHER, BOARD, BOARD) == OTHER


def test_failed_log_ins_are_counted_by_the_client_behind_the_proxy(
    behind_proxy: Day,
) -> None:
    assert behind_proxy.server is not None
    connection = http.client.HTTPConnection(
        behind_proxy.server.host,
        behind_proxy.server.port,
        TIMEOUT_S,
        source_address=(PROXY, 0),
    )
    guess = json.dumps({"team": TEAM, "password": "guess"})
    statuses = []
    for n in range(11):
        address = BOARD if n < 10 else "192.0.2.8"
        connection.request("POST", "/v1/session", guess, {FORWARDED: address})
        answer = connection.getresponse()
        answer.read()
        statuses.append(answer.status)
    connection.request("POST", "/v1/session", guess, {FORWARDED: BOARD})
    assert statuses == [401] * 11
    assert connection.getresponse().status == 429
    connection.close()
