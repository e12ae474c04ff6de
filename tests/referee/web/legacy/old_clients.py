"""Clients of the contests of 2015 to 2017, as they spoke: libcurl's form posts, a new connection for each request."""

from __future__ import annotations

import http.client
import socket
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from tests.contest_day import PASSWORD, TEAM, TIMEOUT_S, Server

FORM = "application/x-www-form-urlencoded"
EXPECT_FROM_BYTES = 1024  # libcurl asks before it sends a larger body
COLUMNS = ("image_name", "CLASS_ID", "confidence", "xmin", "ymin", "xmax", "ymax")


@dataclass(frozen=True)
class Told:
    """An answer: status, body and headers."""

    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def plain(self) -> tuple[int, str]:
        return self.status, self.body.decode()


def spoken(
    server: Server,
    sent: bytes,
    body: bytes = b"",
    *,
    expects: bool = False,
) -> Told:
    """Send a request on a connection of its own; with `expects` its body only after 100 Continue."""
    with socket.create_connection((server.host, server.port), TIMEOUT_S) as connection:
        connection.sendall(sent if expects else sent + body)
        if expects:
            interim = b""
            while not interim.endswith(b"\r\n\r\n"):
                interim += connection.recv(1)
            assert interim.startswith(b"HTTP/1.1 100 "), interim
            connection.sendall(body)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        return Told(answer.status, answer.read(), dict(answer.getheaders()))


def posted(
    server: Server,
    path: str,
    body: bytes | str,
    method: str = "POST",
    *more: str,
) -> Told:
    """A form post as libcurl makes it."""
    content = body.encode() if isinstance(body, str) else body
    expects = len(content) > EXPECT_FROM_BYTES
    lines = [
        f"{method} {path} HTTP/1.1",
        "User-Agent: PycURL/7.19.5 libcurl/7.35.0 OpenSSL/1.0.1f zlib/1.2.8",
        f"Host: {server.host}:{server.port}",
        "Accept: */*",
        *more,
        f"Content-Length: {len(content)}",
        f"Content-Type: {FORM}",
        *(["Expect: 100-continue"] if expects else []),
    ]
    return spoken(
        server,
        "\r\n".join([*lines, "", ""]).encode(),
        content,
        expects=expects,
    )


def lists(rows: list[list[Any]] | list[list[str]]) -> str:
    """The parallel lists of rows, each list after the other, as urlencode(data, True) of 2015 wrote them."""
    columns = zip(*rows, strict=True) if rows else [[]] * 7
    return urlencode(dict(zip(COLUMNS, map(list, columns), strict=True)), doseq=True)


@dataclass
class OldClient:
    """What the sample client of 2015 does, and the zips of 2017."""

    server: Server
    token: str = ""
    team: str = TEAM
    password: str = PASSWORD

    def ask(
        self,
        path: str,
        method: str = "POST",
        **fields: object,
    ) -> Told:
        return posted(
            self.server,
            path,
            urlencode({"token": self.token} | fields),
            method,
        )

    def log_in(
        self,
        path: str = "/login",
        method: str = "POST",
    ) -> Told:
        told = posted(
            self.server,
            path,
            urlencode({"username": self.team, "password": self.password}),
            method,
        )
        if told.status == 200:
            self.token = told.body.decode()
        return told

    def post(self, rows: list[list[Any]] | list[list[str]]) -> Told:
        return posted(
            self.server,
            "/result",
            urlencode({"token": self.token}) + "&" + lists(rows),
        )
