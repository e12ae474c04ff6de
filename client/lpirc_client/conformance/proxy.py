"""Stands between a client and the referee: passes everything on unaltered, and notes what it was."""

from __future__ import annotations

import hashlib
import http.client
import itertools
import json
import socket
import ssl
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

from lpirc_client.conformance.rules import LOGOUT, Exchange

PIECE_BYTES = 16384
LINGER_S = 3.0  # after the end of the run, for a client that goes on
NOT_ROWS = (ValueError, LookupError, TypeError, OverflowError, struct.error)


class Proxy(ThreadingHTTPServer):
    """Listens for a client of the referee at `url`; a thread for each connection fills `exchanges`."""

    daemon_threads = True
    timeout = 0.1

    def __init__(self, address: tuple[str, int], url: str, ca_cert: str | None = None) -> None:
        self.numbers = itertools.count(1)
        self.exchanges: dict[int, Exchange] = {}
        self.clients: set[int] = set()
        self.end_s = float("inf")
        where = urlsplit(url)
        self.connect = partial(http.client.HTTPConnection, where.hostname or "", where.port)
        if where.scheme == "https":
            context = ssl.create_default_context(cafile=ca_cert)
            self.connect = partial(
                http.client.HTTPSConnection, where.hostname or "", where.port, context=context
            )
        super().__init__(address, Passage)

    def serve(self) -> None:
        """Pass on until the log-out or the end of the window, and a little longer for a client that goes on."""
        quiet_s = -1.0
        while quiet_s < 0 or (self.clients and quiet_s < LINGER_S):
            self.handle_request()
            newest_s = self.exchanges[max(self.exchanges)].started_s if self.exchanges else 0.0
            quiet_s = time.monotonic() - max(self.end_s, newest_s)


class Passage(BaseHTTPRequestHandler):
    """A connection of the client, with one to the referee of its own."""

    server: Proxy
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def handle(self) -> None:
        """Pass on until one side ends it."""
        self.number = self.place = next(self.server.numbers)
        self.server.clients.add(self.number)
        self.referee = self.server.connect()
        try:
            super().handle()
        except (OSError, ValueError):  # a reset: the client did not read what it was sent
            self._note(is_unread=True)
        finally:
            self.referee.close()
            self.server.clients.remove(self.number)

    def pass_on(self) -> None:
        """Pass on one request and its answer. Raises OSError if the client has gone."""
        size, kind = int(self.headers.get("Content-Length") or 0), self.headers.get("Content-Type", "")
        started_s, body = time.monotonic(), self.rfile.read(size)
        seen = Exchange(self.number, self.command, self.path, started_s, is_unread=len(body) < size)
        self.place = next(self.server.numbers)
        self.server.exchanges[self.place] = seen
        has_token, key = "Authorization" in self.headers, self.headers.get("Idempotency-Key", "")
        self._note(media_type=kind, has_token=has_token, key=key, sha256=hashlib.sha256(body).hexdigest())
        with suppress(*NOT_ROWS):
            self._note(images=_images(self.path, kind, body))
        answer = None if seen.is_unread else self._answer_to(body)
        self.close_connection = answer is None or answer.will_close
        if answer is not None:
            self._pass_back(answer)

    def _answer_to(self, body: bytes) -> http.client.HTTPResponse | None:
        """Return the referee's answer; None if it ends the connection instead."""
        with suppress(OSError, http.client.HTTPException):
            self.referee.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for header in self.headers.items():
                self.referee.putheader(*header)
            with suppress(ConnectionError):  # it may refuse before it has read all
                self.referee.endheaders(body)
            return self.referee.getresponse()
        return None

    def _pass_back(self, answer: http.client.HTTPResponse) -> None:
        has_left = self._has_left()
        self.send_response_only(answer.status, answer.reason)
        for header in answer.getheaders():
            self.send_header(*header)
        self.end_headers()
        content = b""
        for piece in _pieces(answer):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if answer.chunked else piece)
            content += piece if "json" in answer.headers.get_content_type() else b""
        if answer.chunked:
            self.wfile.write(b"0\r\n\r\n")
        if answer.length:  # the referee broke it off
            self.close_connection = True
            return
        left_ms, wait_s = (answer.headers.get(name, "") for name in ("X-Window-Remaining-Ms", "Retry-After"))
        now_s, document = time.monotonic(), json.loads(content or b"{}")
        self._note(ended_s=now_s, status=answer.status, is_unread=has_left, answer=document)
        if wait_s.isdigit():
            self._note(retry_after_s=float(wait_s))
        if self.server.exchanges[self.place].route in LOGOUT and answer.status == 200:
            self.server.end_s = now_s
        elif left_ms.isdigit():
            self.server.end_s = now_s + int(left_ms) / 1000

    def _has_left(self) -> bool:
        """Whether the client has ended the connection, or its sending side."""
        try:
            return not self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False

    def _note(self, **facts: Any) -> None:
        if self.place in self.server.exchanges:
            self.server.exchanges[self.place] = replace(self.server.exchanges[self.place], **facts)

    def log_message(self, *_: Any) -> None:
        """Say nothing: the report does."""

    def __getattr__(self, name: str) -> Any:
        """Take every method: the base class looks for do_GET and so on."""
        if name.startswith("do_"):
            return self.pass_on
        raise AttributeError(name)


def _pieces(answer: http.client.HTTPResponse) -> Iterator[bytes]:
    with suppress(OSError, http.client.HTTPException):
        yield from iter(partial(answer.read, PIECE_BYTES), b"")


def _images(target: str, kind: str, body: bytes) -> Sequence[int]:
    """Return the images that a request of version 1 asks for or has rows of. Raises NOT_ROWS for what is refused."""
    parts = urlsplit(target)
    numbers: Sequence[Any] = ()
    if parts.path.startswith(("/v1/images/", "/v1/display/")):
        numbers = [parts.path.rpartition("/")[2]]
    elif parts.path == "/v1/images":
        query = dict(parse_qsl(parts.query))
        first = int(query.get("first", 1))
        numbers = range(first, first + min(int(query.get("count", 100)), 1000))
    elif parts.path == "/v1/detections":
        if kind.startswith("application/octet-stream"):
            numbers = [row[0] for row in struct.iter_unpack("<7f", body)]
        elif kind.startswith("application/x-www-form-urlencoded"):
            numbers = parse_qs(body.decode())["image_name"]
        elif kind.startswith("text/"):
            numbers = [
                line.replace(",", " ").split()[0] for line in body.decode().splitlines() if line.strip()
            ]
        else:
            numbers = [row[0] for row in json.loads(body or b"[]")]
    return sorted({int(float(number)) for number in numbers})
