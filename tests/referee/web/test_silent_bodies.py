"""A body that falls silent or drips gets 408, and its connection ends: its thread is free for others."""

from __future__ import annotations

import http.client
import socket
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import cycle

from referee.operating_system import Traffic
from referee.web.arriving_bodies import (
    LONGEST_WORK_S,
    PART_BYTES,
    SILENCE_S,
    SLOW_S,
    Suspect,
)
from referee.web.concurrency_limits import LOG_INS_OF_AN_ADDRESS
from referee.web.request_bodies import LARGEST_BODY_BYTES
from tests.contest_day import TEAM, TIMEOUT_S, Day, Server, until
from tests.referee.web.legacy.old_clients import OldClient
from tests.referee.web.test_slots import unfinished, works
from tests.referee.web.two_stations import (
    OTHER_TEAM,
    asked_from,
    login_from,
    two_stations,
)

RIVALS = ("127.0.0.2", "127.0.0.3")
SILENT = 128
DRIP_S = SILENCE_S / 11


def received_to_its_end(connection: socket.socket) -> bytes:
    received = b""
    try:
        while more := connection.recv(65536):
            received += more
    except ConnectionResetError:
        pass
    return received


def health(connection: http.client.HTTPConnection) -> int:
    connection.request("GET", "/v1/health")
    answer = connection.getresponse()
    answer.read()
    return answer.status


def drip(connection: socket.socket) -> bytes:
    """Send a byte again and again, also after an answer, until the connection has ended: what came back."""
    connection.settimeout(DRIP_S)
    received = b""
    deadline_s = time.monotonic() + TIMEOUT_S + SLOW_S
    while time.monotonic() < deadline_s:
        try:
            connection.sendall(b"1")
            more = connection.recv(65536)
        except TimeoutError:
            continue
        except OSError:
            return received
        if not more:
            return received
        received += more
    raise AssertionError("it did not end")


def test_bodies_that_fall_silent_or_drip_are_answered_and_ended_and_no_other_connection_is(
    day: Callable[..., Day],
) -> None:
    made = two_stations(day)
    server = made.server
    assert server is not None
    token = str(made.login()["token"])
    with ExitStack() as stack:

        def connect(sent: bytes) -> socket.socket:
            one = stack.enter_context(
                socket.create_connection((server.host, server.port), TIMEOUT_S)
            )
            one.sendall(sent)
            return one

        expecting = unfinished("", "/login").replace(
            b"\r\n\r\n",
            b"\r\nExpect: 100-continue\r\n\r\n",
            1,
        )
        plain = [
            connect(unfinished("", path)) for path in ("/v1/session", "/operator/login")
        ]
        plain.append(connect(unfinished(token)))
        half = unfinished(token, length=LARGEST_BODY_BYTES) + b" " * (
            LARGEST_BODY_BYTES // 2
        )
        plain.append(connect(half))
        old = [connect(unfinished("", path)) for path in ("/login", "/result")]
        old.append(connect(expecting[: expecting.index(b"[[")]))
        dripping = connect(unfinished("", "/verify", 2 * PART_BYTES))
        idle = http.client.HTTPConnection(server.host, server.port, TIMEOUT_S)
        stack.callback(idle.close)
        assert health(idle) == 200
        kept = idle.sock
        full = [
            connect_from(stack, server, RIVALS[0], unfinished("", "/v1/session"))
            for _ in range(LOG_INS_OF_AN_ADDRESS)
        ]

        def locked_out() -> bool:
            # One more each time: a log-in may have taken the slot of one of them, which was refused then.
            full.append(
                connect_from(stack, server, RIVALS[0], unfinished("", "/v1/session"))
            )
            return login_from(server, RIVALS[0], OTHER_TEAM)[0] == 429

        until(locked_out)
        with ThreadPoolExecutor() as pool:
            dripped = pool.submit(drip, dripping)
            answers = [received_to_its_end(one) for one in plain]
            old_answers = [received_to_its_end(one) for one in old]
            old_answers.append(dripped.result())
        for answer in answers:
            assert answer.startswith(b"HTTP/1.1 408 "), answer
            assert b'"code": "body-too-slow"' in answer, answer
            assert b"did not arrive within 10 s" in answer, answer
        for answer in old_answers:
            _, _, text = answer.removeprefix(
                b"HTTP/1.1 100 Continue\r\n\r\n"
            ).partition(b"\r\n\r\n")
            assert b"HTTP/1.1 408 " in answer, answer
            assert text.startswith(
                b"The next 16384 bytes of the body, or its rest, did not arrive"
            ), answer
        assert health(idle) == 200
        assert idle.sock is kept
        ended = [received_to_its_end(one)[:13] for one in full]
        assert set(ended) <= {b"HTTP/1.1 408 ", b"HTTP/1.1 429 "}
        assert ended.count(b"HTTP/1.1 408 ") >= LOG_INS_OF_AN_ADDRESS
        # Their threads and slots are free.
        until(lambda: login_from(server, RIVALS[0], OTHER_TEAM)[0] == 201)
        works(made, token)


def connect_from(
    stack: ExitStack,
    server: Server,
    address: str,
    sent: bytes,
) -> socket.socket:
    place = (server.host, server.port)
    one = stack.enter_context(socket.create_connection(place, TIMEOUT_S, (address, 0)))
    one.sendall(sent)
    return one


def half_bodies(
    stack: ExitStack,
    server: Server,
    paths: Sequence[str],
    addresses: Sequence[str] = RIVALS,
) -> list[socket.socket]:
    """128 bodies without a token that stop, from these addresses in turn, to these paths in turn."""
    return [
        connect_from(stack, server, address, unfinished("", path))
        for n, address in zip(range(SILENT), cycle(addresses), strict=False)
        for path in [paths[n // len(addresses) % len(paths)]]
    ]


def old_client_works(client: OldClient) -> None:
    assert client.ask("/verify").plain == (200, "Valid Token\n")
    assert client.ask("/image", image_name=1).status == 200
    assert client.post([[1, 1, 0.5, 0, 0, 5, 5]]).plain == (
        200,
        "Result stored in the server database\n",
    )


def test_128_half_bodies_from_two_addresses_keep_no_old_client_and_no_log_in_out(
    day: Callable[..., Day],
) -> None:
    made = two_stations(day)
    server = made.server
    assert server is not None
    client = OldClient(server)
    client.log_in()
    for paths in (
        ["/v1/session"],
        ["/login", "/get_token"],
        ["/result", "/verify"],
        ["/login", "/result"],
    ):
        with ExitStack() as stack:
            half_bodies(stack, server, paths)
            old_client_works(client)
            assert login_from(server, "127.0.0.1", OTHER_TEAM)[0] == 201
            assert OldClient(server, team=OTHER_TEAM).log_in().status == 200
            assert server.ask("GET", "/v1/health").status_code == 200
            assert made.refers("run", "list").returncode == 0


def test_old_forms_from_many_addresses_exhaust_no_run_whose_team_has_logged_in(
    day: Callable[..., Day],
) -> None:
    made = two_stations(day)
    assert made.server is not None
    client = OldClient(made.server)
    client.log_in()
    many = [f"127.0.1.{n}" for n in range(1, 17)]
    with ExitStack() as stack:
        server = made.server
        until(
            lambda: (
                half_bodies(stack, server, ["/result", "/verify"], many)
                and asked_from(server, "127.0.2.1", "POST", "/verify", body={})[0]
                == 429
            )
        )
        old_client_works(client)


def test_a_team_behind_the_same_address_can_be_kept_out_by_it_and_no_one_elsewhere(
    day: Callable[..., Day],
) -> None:
    """What the address of a rival shares: old forms and log-ins. With a token in the header nothing is shared."""
    made = two_stations(day)
    server = made.server
    assert server is not None
    client = OldClient(server)
    token = str(made.login(OTHER_TEAM)["token"])
    client.log_in()
    with ExitStack() as stack:
        paths = ["/result", "/login"]
        until(
            lambda: (
                half_bodies(stack, server, paths, ["127.0.0.1"])
                and client.ask("/verify").status == 429
            )
        )
        assert client.ask("/verify").headers["retry-after"] == "1"
        refused = OldClient(server).log_in()
        assert refused.plain == (500, "Powermeter not connected\n")
        works(made, token)
        assert login_from(server, "127.0.0.9", OTHER_TEAM)[0] == 201


def test_where_stations_name_addresses_no_other_one_takes_a_slot(
    day: Callable[..., Day],
) -> None:
    made = two_stations(day, clients=("127.0.4.0/24", "127.0.5.1"))
    server = made.server
    assert server is not None
    with ExitStack() as stack:
        answers = {
            path: received_to_its_end(one)
            for path in (
                "/v1/session",
                "/login",
                "/get_token",
                "/verify",
                "/no_of_images",
                "/result",
                "/logout",
            )
            for one in half_bodies(stack, server, [path])[:1]
        }
    assert answers.pop("/v1/session").startswith(b"HTTP/1.1 403 ")
    for path in ("/login", "/get_token"):
        assert answers.pop(path).endswith(b"\r\n\r\nInvalid username or password\n")
    assert all(
        answer.endswith(b"\r\n\r\nInvalid Token\n") for answer in answers.values()
    ), answers
    assert asked_from(server, "127.0.0.9", "GET", "/v1/health")[0] == 200
    assert asked_from(server, "127.0.0.9", "GET", "/help")[0] == 200


def test_a_rival_in_a_station_s_network_keeps_no_other_station_s_team_out(
    day: Callable[..., Day],
) -> None:
    made = two_stations(day, clients=("127.0.4.0/24", "127.0.5.1"))
    server = made.server
    assert server is not None
    with ExitStack() as stack:
        places = [f"127.0.4.{n}" for n in range(1, 17)]

        # Also on a machine so busy that the first ones end before the last ones begin.
        def fill() -> object:
            return half_bodies(stack, server, ["/v1/session", "/result"], places)

        until(lambda: fill() and login_from(server, "127.0.4.99", TEAM)[0] == 429)
        assert login_from(server, "127.0.5.1", OTHER_TEAM)[0] == 201


def test_a_connection_on_which_another_request_waits_is_not_that_of_a_silent_body() -> (
    None
):
    suspect = Suspect(sent_s=100.0, received_bytes=1000)

    def is_ended(
        now_s: float,
        received_s: float,
        received_bytes: int,
    ) -> bool:
        found = Traffic(now_s - 100.0, now_s - received_s, received_bytes)
        return suspect.is_silent_one(found, now_s)

    assert is_ended(100.5, 90.0, 1000)  # silent for 10 s before its answer, and since
    assert not is_ended(100.5, 99.9, 1000)  # idle, answered in that moment
    assert not is_ended(101.0, 101.0, 1300)  # another request
    assert not is_ended(180.0, 101.0, 1300)  # it waits
    assert is_ended(100.0 + LONGEST_WORK_S, 101.0, 1300)
    # No request takes so long to come.
    assert is_ended(
        101.0 + SLOW_S,
        101.0 + SLOW_S,
        1320,
    )
    assert not is_ended(101.0 + SLOW_S, 101.0 + SLOW_S, 1000 + PART_BYTES)


def test_a_rivals_silent_body_does_not_end_another_request_of_its_address(
    day: Callable[..., Day],
) -> None:
    """Behind a proxy all teams are at one address, so a rival could cut off whoever was answered with it."""
    made = two_stations(day)
    server = made.server
    assert server is not None
    token = str(made.login()["token"])
    with ExitStack() as stack:
        place = (server.host, server.port)
        silent = stack.enter_context(socket.create_connection(place, TIMEOUT_S))
        silent.sendall(unfinished("", "/v1/session"))
        other = http.client.HTTPConnection(*place, TIMEOUT_S)
        stack.callback(other.close)
        other.connect()
        assert silent.recv(65536).startswith(b"HTTP/1.1 408 ")
        assert health(other) == 200
        body = b"[[1, 1, 0.5, 0, 0, 5, 5]]"
        other.putrequest("POST", "/v1/detections")
        for name, value in {
            "Authorization": f"Bearer {token}",
            "Content-Length": str(len(body)),
        }.items():
            other.putheader(name, value)
        other.endheaders(body[:5])
        assert received_to_its_end(silent) == b""
        other.send(body[5:])
        answer = other.getresponse()
        assert answer.status in (200, 202), answer.read()
