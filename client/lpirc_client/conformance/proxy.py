"""Stands between a client and the referee: passes everything on unaltered, and notes what it was."""

from __future__ import annotations

import hashlib
import http.client
import itertools
import json
import re
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from lpirc_client.conformance.rules import LOGOUT, Exchange

PIECE_BYTES = 16384
LINGER_S = 3.0  # after the end of the run, for a client that goes on
# Where a row's image is, by the kind of body.
IMAGE_OF_ROW = {
    "application/x-www-form-urlencoded": rb"image_name=(\d{1,9})",
    "text/plain": rb"(?m)^\s*(\d{1,9})",
    "text/csv": rb"(?m)^\s*(\d{1,9})",
}
IMAGE_OF_JSON_ROW = rb"\[\s*(\d{1,9})"


class Proxy(ThreadingHTTPServer):
    """Listens for a client of the referee at `url`; a thread for each connection fills `exchanges`."""

    daemon_threads = True
    timeout = 0.1

    def __init__(self, address: tuple[str, int], url: str) -> None:
        self.numbers = itertools.count(1)
        self.exchanges: dict[int, Exchange] = {}
        self.clients: set[int] = set()
        self.end_s = float("inf")
        self.referee = urlsplit(url)
        super().__init__(address, Passage)

    def serve(self) -> None:
        """Pass on until the log-out or the end of the window, and a little longer for a client that goes on."""
        quiet_s = -1.0
        while quiet_s < 0 or (self.clients and quiet_s < LINGER_S):
            self.handle_request()
            newest_s = self.exchanges[max(self.exchanges)].started_s if self.exchanges else 0.0
            quiet_s = time.monotonic() - max(self.end_s, newest_s)

    def seen(self) -> list[Exchange]:
        """Return what was seen, in order."""
        return [self.exchanges[place] for place in sorted(self.exchanges)]


class Passage(BaseHTTPRequestHandler):
    """A connection of the client, with one to the referee of its own."""

    server: Proxy
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __getattr__(self, name: str) -> Any:
        """Take every method: the base class looks for do_GET and so on."""
        if name.startswith("do_"):
            return self._pass_on
        raise AttributeError(name)

    def handle(self) -> None:
        """Pass on until one side ends it."""
        self.number = self.place = next(self.server.numbers)
        self.server.clients.add(self.number)
        where = self.server.referee
        self.referee = http.client.HTTPConnection(where.hostname or "", where.port)
        try:
            super().handle()
        except (OSError, ValueError):  # a reset: the client did not read what it was sent
            self._note(is_unread=True)
        finally:
            self.referee.close()
            self.server.clients.remove(self.number)

    def log_message(self, *_: Any) -> None:
        """Say nothing: the report does."""

    def _pass_on(self) -> None:
        """Pass on one request and its answer. Raises OSError if the client has gone."""
        size, started_s = int(self.headers.get("Content-Length") or 0), time.monotonic()
        body, kind = (
            self.rfile.read(size),
            self.headers.get_content_type() if "Content-Type" in self.headers else "",
        )
        self.place, is_cut = next(self.server.numbers), len(body) < size
        self.server.exchanges[self.place] = Exchange(
            self.number, self.command, self.path, started_s, is_unread=is_cut
        )
        sha256, images = hashlib.sha256(body).hexdigest(), _images(self.path, kind, body)
        has_token, key = "Authorization" in self.headers, self.headers.get("Idempotency-Key", "")
        self._note(media_type=kind, sha256=sha256, images=images, has_token=has_token, key=key)
        answer = None if is_cut else self._answer_to(body)
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
        wait_s, left_ms = (answer.headers.get(name, "") for name in ("Retry-After", "X-Window-Remaining-Ms"))
        now_s, document = time.monotonic(), json.loads(content or b"{}")
        self._note(ended_s=now_s, status=answer.status, answer=document, is_unread=has_left)
        self._note(retry_after_s=float(wait_s) if wait_s.isdigit() else 0.0)
        if self.server.exchanges[self.place].route in LOGOUT and answer.status == 200:
            self.server.end_s = now_s
        elif left_ms.isdigit():
            self.server.end_s = now_s + int(left_ms) / 1000

    def _has_left(self) -> bool:
        """Whether the client has ended the connection, or its sending side. Raises OSError if it has reset it."""
        with suppress(BlockingIOError):
            return not self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        return False

    def _note(self, **facts: Any) -> None:
        if self.place in self.server.exchanges:
            self.server.exchanges[self.place] = replace(self.server.exchanges[self.place], **facts)


def _pieces(answer: http.client.HTTPResponse) -> Iterator[bytes]:
    with suppress(OSError, http.client.HTTPException):
        yield from iter(partial(answer.read, PIECE_BYTES), b"")


def _images(target: str, kind: str, body: bytes) -> Sequence[int]:
    """Return the images that a request of version 1 asks for or has rows of."""
    parts = urlsplit(target)
    if parts.path == "/v1/images":
        query = dict(re.findall(r"(first|count)=(\d{1,9})(?!\d)", parts.query))
        first = int(query.get("first", 1))
        return range(first, first + min(int(query.get("count", 100)), 1000))
    if parts.path == "/v1/detections" and kind == "application/octet-stream":
        rows = struct.iter_unpack("<7f", body[: len(body) // 28 * 28])
        return sorted({int(row[0]) for row in rows if 0 < row[0] < 1e9})
    if parts.path == "/v1/detections":
        return sorted({int(image) for image in re.findall(IMAGE_OF_ROW.get(kind, IMAGE_OF_JSON_ROW), body)})
    return [int(image) for image in re.findall(r"^/v1/(?:images|display)/(\d{1,9})$", parts.path)]
