"""The address of the QR code: contest.toml's, else the one that the projector was opened by, if others can reach it."""

from __future__ import annotations

import pytest
from flask import Request
from werkzeug.test import EnvironBuilder

from referee.web.public.hall_address import code_of, hall_address


def address(host: str, board_url: str = "", **headers: str) -> str | None:
    builder = EnvironBuilder("/", headers={"Host": host, **headers})
    return hall_address(board_url, Request(builder.get_environ()))


@pytest.mark.parametrize(
    ("host", "seen"),
    [
        ("192.168.1.20:8080", "http://192.168.1.20:8080/"),
        ("hall.example", "http://hall.example/"),
        ("[fd00::7]:8080", "http://[fd00::7]:8080/"),
        ("127.0.0.1:8080", None),
        ("127.8.0.1", None),
        ("localhost:8080", None),
        ("LOCALHOST", None),
        ("[::1]:8080", None),
        ("", None),
    ],
)
def test_the_address_is_the_projectors_own_unless_no_one_else_can_reach_it(
    host: str,
    seen: str | None,
) -> None:
    assert address(host) == seen


@pytest.mark.parametrize(
    "host",
    [
        "hall.example/evil",
        "hall.example:80@evil.example",
        "hall.example:80:90",
        "hall.example:port",
        'hall"><script>',
        "evil example",
    ],
)
def test_a_host_that_is_no_name_makes_no_code(host: str) -> None:
    assert address(host) is None
    assert code_of(address(host)) is None


def test_behind_a_proxy_that_speaks_tls_the_address_does_too() -> None:
    proxied = {"X-Forwarded-Proto": "https"}
    assert address("hall.example", **proxied) == "https://hall.example/"


def test_contest_toml_comes_first() -> None:
    assert address("127.0.0.1:8080", "https://lpirc.example/") == (
        "https://lpirc.example/"
    )
