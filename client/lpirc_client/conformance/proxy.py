"""Passes everything between a client and the referee on unchanged, and records it."""

from __future__ import annotations

import hashlib
import http.client
import itertools
import json
import re
import socket
import struct
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any
from urllib.parse import urlsplit

from lpirc_client.answers import ANSWERS_PATH
from lpirc_client.conformance.client_rules import LOGOUT, Exchange
from lpirc_client.operating_system import FREES_PORTS_LATE
from lpirc_client.rows import PACKED_TYPE

PIECE_BYTES = 16384
LINGER_S = 3.0  # after the end of the run, for a client that goes on
TEXT_ROW = rb"(?m)^\s*(\d{1,9})"
JSON_ROW = rb"\[\s*(\d{1,9})"
ANSWER = rb'"image(?:_id)?"\s*:\s*(\d{1,9})'
FORM = "application/x-www-form-urlencoded"
ROWS_BY_TYPE = {
    "text/plain": TEXT_ROW,
    "text/csv": TEXT_ROW,
    FORM: rb"image_name=(\d{1,9})",
}


class Proxy(ThreadingTCPServer):
    """Accepts a client of the referee at `url`; one thread per connection adds to `exchanges`."""

    allow_reuse_address = FREES_PORTS_LATE
    daemon_threads = True
    request_queue_size = 128
    timeout = 0.1

    def __init__(
        self,
        address: tuple[str, int],
        url: str,
    ) -> None:
        self.referee = urlsplit(url)
        self.numbers = itertools.count(1)
        self.exchanges: dict[int, Exchange] = {}
        self.clients: set[int] = set()
        self.asking: set[int] = set()
        self.known_s = 0.0
        self.end_s = float("inf")
        self.is_out = False
        super().__init__(address, Passage)

    def serve(self) -> None:
        """Pass on until the log-out or the end of the window, and a little longer in case the client continues."""
        while True:
            self.handle_request()
            over_s = time.monotonic() - self.end_s
            may_go_on = over_s < LINGER_S and (self.clients or not self.is_out)
            if over_s >= 0 and not self.asking and not may_go_on:
                return

    def note_window(
        self,
        seen: Exchange,
        left_ms: str,
    ) -> None:
        """Update the end of the run from a complete answer; a late answer must not undo a log-out."""
        if seen.started_s < self.known_s:
            return
        self.known_s = seen.started_s
        now_s = time.monotonic()
        if seen.route in LOGOUT and seen.status == 200:
            self.is_out = True
            left_ms = "0"
        if left_ms.isdecimal():
            self.end_s = (
                now_s + int(left_ms) / 1000 if int(left_ms) else min(self.end_s, now_s)
            )


class Passage(BaseHTTPRequestHandler):
    """One connection of the client, and the connection to the referee that belongs to it."""

    server: Proxy
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __getattr__(self, name: str) -> Any:
        """Return the same handler for every method: the base class looks for do_GET and so on."""
        if name.startswith("do_"):
            return self._pass_on
        raise AttributeError(name)

    def handle(self) -> None:
        """Pass requests on until either side closes the connection."""
        self.number = self.place = next(self.server.numbers)
        self.referee: socket.socket | None = None
        self.server.clients.add(self.number)
        try:
            super().handle()
        except OSError:  # a reset: the client did not read what it was sent
            self._note(is_unread=True)
        finally:
            if self.referee is not None:
                self.referee.close()
            self.server.asking.discard(self.number)
            self.server.clients.remove(self.number)

    def log_message(self, *_: Any) -> None:
        """Print nothing: the report covers it."""

    def send_error(
        self,
        code: int,
        message: str | None = None,
        explain: str | None = None,
    ) -> None:
        """Refuse a request that is not HTTP, in the referee's form, and record it."""
        now_s = time.monotonic()
        answer = {"detail": f"This is not HTTP: {message}"}
        refused = Exchange(
            self.number,
            "? /v1/",
            now_s,
            now_s,
            int(code),
            answer,
        )
        self.server.exchanges[next(self.server.numbers)] = refused
        self.wfile.write(
            b"HTTP/1.1 %d Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            % code
        )
        self.close_connection = True

    def _pass_on(self) -> None:
        """Pass on one request and its answer. Raises OSError if the client has gone."""
        started_s = time.monotonic()
        length = self.headers.get("Content-Length", "0")
        has_end = (
            re.fullmatch(r"\d{1,8}", length) and "Transfer-Encoding" not in self.headers
        )
        body = self.rfile.read(int(length)) if has_end else b""
        is_cut = bool(has_end) and len(body) < int(length)
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        target = self.path[len(self.server.referee.path.rstrip("/")) :]
        path = urlsplit(target).path
        self.place = next(self.server.numbers)
        self.server.exchanges[self.place] = Exchange(
            self.number,
            f"{self.command} {path.rstrip('0123456789')}",
            started_s,
            is_unread=is_cut,
            media_type=kind,
            images=_images(target, kind, body),
            key=self.headers.get("Idempotency-Key", ""),
            sha256=hashlib.sha256(body).hexdigest() if has_end else "",
        )
        is_last = self.close_connection
        self.close_connection = True
        self.server.asking.add(self.number)
        answer = None if is_cut else self._answer_to(body)
        if answer is None or answer.will_close:
            self._note(is_ended_by_referee=not is_last)
        if answer is not None and self._pass_back(answer):
            self.close_connection = is_last or answer.will_close or not has_end
        self.server.asking.discard(self.number)
        if not has_end:  # chunked, or huge: refused. What is left, unread, would reset the connection
            with suppress(OSError):
                self.connection.shutdown(socket.SHUT_WR)
                self.connection.settimeout(LINGER_S)
                while self.connection.recv(PIECE_BYTES):
                    pass

    def _answer_to(self, body: bytes) -> http.client.HTTPResponse | None:
        """Return the referee's answer to the request; None if it gives none."""
        head = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        with suppress(OSError, http.client.HTTPException):
            if self.referee is not None and _has_ended(
                self.referee
            ):  # it was idle for too long
                self.referee.close()
                self.referee = None
            if self.referee is None:
                to = self.server.referee
                self.referee = socket.create_connection(
                    (to.hostname or "", to.port or 80)
                )
            with suppress(ConnectionError):  # it may refuse before it has read all
                self.referee.sendall(
                    f"{self.requestline}\r\n{head}\r\n".encode("latin-1") + body
                )
            answer = http.client.HTTPResponse(self.referee, method=self.command)
            answer.begin()
            return answer
        return None

    def _pass_back(self, answer: http.client.HTTPResponse) -> bool:
        """Pass the answer on and record it; return True if it was complete."""
        has_left = _has_ended(self.connection)
        content = b""
        piece = b"-"
        is_chunked = answer.chunked and self.command != "HEAD"
        is_json = "json" in answer.getheader("Content-Type", "")
        lines = [f"HTTP/{answer.version / 10} {answer.status} {answer.reason}"]
        lines += [f"{name}: {value}" for name, value in answer.getheaders()]
        self.wfile.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        while piece:
            try:
                piece = answer.read(PIECE_BYTES)
            except (OSError, http.client.HTTPException):
                return False
            self.wfile.write(
                b"%x\r\n%b\r\n" % (len(piece), piece) if is_chunked else piece
            )
            content += piece if is_json else b""
        if answer.length:
            return False
        wait_s = answer.getheader("Retry-After", "")
        retry_after_s = float(wait_s) if wait_s.isdecimal() else 0.0
        self._note(
            ended_s=time.monotonic(), status=answer.status, retry_after_s=retry_after_s
        )
        if has_left:
            self._note(is_unread=True)
        with suppress(ValueError):
            document = json.loads(content)
            self._note(answer=document if isinstance(document, dict) else {})
        left_ms = answer.getheader("X-Window-Remaining-Ms", "")
        self.server.note_window(self.server.exchanges[self.place], left_ms)
        return True

    def _note(self, **facts: Any) -> None:
        if self.place in self.server.exchanges:
            self.server.exchanges[self.place] = replace(
                self.server.exchanges[self.place], **facts
            )


def _has_ended(connection: socket.socket) -> bool:
    """Return True if the peer has closed the connection or its sending side. Raises OSError if the peer reset it."""
    timeout_s = connection.gettimeout()
    connection.settimeout(0)
    try:
        return not connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    finally:
        connection.settimeout(timeout_s)


def _images(
    target: str,
    kind: str,
    body: bytes,
) -> Sequence[int]:
    """Return the numbers of the images that a request of HTTP version 1 fetches or posts rows for."""
    parts = urlsplit(target)
    if parts.path == "/v1/images":
        query = dict(re.findall(r"(first|count)=(\d{1,9})(?!\d)", parts.query))
        first = int(query.get("first", 1))
        return range(first, first + min(int(query.get("count", 100)), 1000))
    if parts.path == ANSWERS_PATH:
        return sorted({int(image) for image in re.findall(ANSWER, body)})
    if parts.path != "/v1/detections":
        return [
            int(image)
            for image in re.findall(r"^/v1/(?:images|display)/(\d{1,9})$", parts.path)
        ]
    if kind == PACKED_TYPE:
        rows = struct.iter_unpack("<7f", body[: len(body) // 28 * 28])
        return sorted({int(row[0]) for row in rows if 0 < row[0] < 1e9})
    return sorted(
        {int(image) for image in re.findall(ROWS_BY_TYPE.get(kind, JSON_ROW), body)}
    )
