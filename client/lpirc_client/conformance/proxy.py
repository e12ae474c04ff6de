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
FORM, PACKED = "application/x-www-form-urlencoded", "application/octet-stream"
TEXT_ROW, FORM_ROW, JSON_ROW = rb"(?m)^\s*(\d{1,9})", rb"image_name=(\d{1,9})", rb"\[\s*(\d{1,9})"
ROWS_BY_TYPE = {"text/plain": TEXT_ROW, "text/csv": TEXT_ROW, FORM: FORM_ROW}


class Proxy(ThreadingHTTPServer):
    """Listens for a client of the referee at `url`; a thread for each connection fills `exchanges`."""

    daemon_threads = True
    request_queue_size = 128
    timeout = 0.1

    def __init__(self, address: tuple[str, int], url: str) -> None:
        self.referee = urlsplit(url)
        self.numbers = itertools.count(1)
        self.exchanges: dict[int, Exchange] = {}
        self.clients: set[int] = set()
        self.newest_s, self.told_s, self.end_s = 0.0, 0.0, float("inf")
        super().__init__(address, Passage)

    def serve(self) -> None:
        """Pass on until the log-out or the end of the window, and a little longer for a client that goes on."""
        quiet_s = -1.0
        while quiet_s < 0 or (self.clients and quiet_s < LINGER_S):
            self.handle_request()
            quiet_s = time.monotonic() - max(self.end_s, self.newest_s)


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
        self.referee = http.client.HTTPConnection(
            self.server.referee.hostname or "", self.server.referee.port
        )
        try:
            super().handle()
        except OSError:  # a reset: the client did not read what it was sent
            self._note(is_unread=True)
        finally:
            self.referee.close()
            self.server.clients.remove(self.number)

    def log_message(self, *_: Any) -> None:
        """Say nothing: the report does."""

    def _pass_on(self) -> None:
        """Pass on one request and its answer. Raises OSError if the client has gone."""
        size, kind = (
            self.headers.get("Content-Length", ""),
            self.headers.get("Content-Type", "").partition(";")[0],
        )
        self.server.newest_s = started_s = time.monotonic()
        body, path = self.rfile.read(int(size) if size.isdigit() else 0), urlsplit(self.path).path
        self.place = next(self.server.numbers)
        self.server.exchanges[self.place] = Exchange(
            self.number, f"{self.command} {path.rstrip('0123456789')}", started_s,
            is_unread=size.isdigit() and len(body) < int(size), media_type=kind, images=_images(self.path, kind, body),
            key=self.headers.get("Idempotency-Key", ""), sha256=hashlib.sha256(body).hexdigest(),
        )  # fmt: skip
        is_last, self.close_connection = self.close_connection, True
        answer = None if self.server.exchanges[self.place].is_unread else self._answer_to(body)
        if answer is not None and self._pass_back(answer):
            self.close_connection = is_last or answer.will_close

    def _answer_to(self, body: bytes) -> http.client.HTTPResponse | None:
        """Return the referee's answer; None if it ends the connection instead."""
        if self.referee.sock is not None and _has_ended(self.referee.sock):
            self.referee.close()  # it was idle; the next request opens another one
        with suppress(OSError, http.client.HTTPException):
            vars(self.referee)["_http_vsn_str"] = self.request_version  # there is no public way
            self.referee.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for header in self.headers.items():
                self.referee.putheader(*header)
            with suppress(ConnectionError):  # it may refuse before it has read all
                self.referee.endheaders(body)
            return self.referee.getresponse()
        return None

    def _pass_back(self, answer: http.client.HTTPResponse) -> bool:
        """Pass the answer on, and note it; return whether it was whole."""
        has_left, content = _has_ended(self.connection), b""
        self.send_response_only(answer.status, answer.reason)
        for header in answer.getheaders():
            self.send_header(*header)
        self.end_headers()
        for piece in _pieces(answer):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if answer.chunked else piece)
            content += piece if "json" in answer.headers.get_content_type() else b""
        if answer.chunked:
            self.wfile.write(b"0\r\n\r\n")
        if answer.length:
            return False
        wait_s, left_ms = (answer.headers.get(name, "") for name in ("Retry-After", "X-Window-Remaining-Ms"))
        now_s, retry_after_s = time.monotonic(), float(wait_s) if wait_s.isdigit() else 0.0
        self._note(ended_s=now_s, status=answer.status, is_unread=has_left, retry_after_s=retry_after_s)
        with suppress(ValueError):
            self._note(answer=json.loads(content))
        seen = self.server.exchanges[self.place]
        if seen.started_s >= self.server.told_s:  # an answer that comes late must not undo a log-out
            self.server.told_s, is_out = seen.started_s, seen.route in LOGOUT and seen.status == 200
            if is_out or left_ms.isdigit():
                self.server.end_s = now_s if is_out else now_s + int(left_ms) / 1000
        return True

    def _note(self, **facts: Any) -> None:
        if self.place in self.server.exchanges:
            self.server.exchanges[self.place] = replace(self.server.exchanges[self.place], **facts)


def _has_ended(connection: socket.socket) -> bool:
    """Whether the other end has ended the connection, or its sending side. Raises OSError if it has reset it."""
    with suppress(BlockingIOError):
        return not connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    return False


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
    if parts.path != "/v1/detections":
        return [int(image) for image in re.findall(r"^/v1/(?:images|display)/(\d{1,9})$", parts.path)]
    if kind == PACKED:
        rows = struct.iter_unpack("<7f", body[: len(body) // 28 * 28])
        return sorted({int(row[0]) for row in rows if 0 < row[0] < 1e9})
    return sorted({int(image) for image in re.findall(ROWS_BY_TYPE.get(kind, JSON_ROW), body)})
