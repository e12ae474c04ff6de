"""A second, small implementation of the wire contract, on a real socket, that can fail on request."""

from __future__ import annotations

import hashlib
import io
import json
import socket
import struct
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

PASSWORD = "geheim"
RULES = {
    "metric": "lpirc",
    "least_map": 0.1,
    "setup": {"mode": "rms", "element": "1"},
}
RULES_SHA256 = hashlib.sha256(
    b'{"least_map":0.1,"metric":"lpirc","setup":{"element":"1","mode":"rms"}}'
).hexdigest()

Fault = tuple[int, str] | str
"""A status with that problem, or a broken connection before or after the request took effect."""


@dataclass
class Referee:
    """One team, one run; counts requests by "METHOD /path" and keeps every accepted row."""

    images: list[bytes] = field(
        default_factory=lambda: [b"jpeg %d" % n for n in range(1, 6)]
    )
    categories: list[dict[str, Any]] = field(
        default_factory=lambda: [{"id": 7, "name": "red-disc"}]
    )
    health: dict[str, Any] = field(
        default_factory=dict
    )  # beside what an old referee says
    run: str | int = "r1"
    rules: dict[str, Any] = field(default_factory=lambda: RULES)
    readings_a_body: int = 4
    window_s: float = 60.0
    opened_at: float | None = None
    phase: str = "armed"
    rows: list[list[float]] = field(default_factory=list)
    keys: dict[str, dict[str, Any]] = field(default_factory=dict)
    posts: list[bytes] = field(default_factory=list)
    requests: Counter[str] = field(default_factory=Counter)
    connections: set[Any] = field(default_factory=set)
    faults: dict[str, list[Fault]] = field(default_factory=dict)
    lies_about_hash: bool = False
    warnings: list[str] = field(default_factory=list)
    has_batches: bool = True
    cut_bytes: int | None = (
        None  # the connection breaks after this many bytes of each image or batch
    )
    elapsed_s: float | None = None  # in the answer to a logout
    gives_receipts: bool = False
    log: dict[str, Any] | None = None  # the newest link of the log, in each 202
    alters: tuple[int, str] | None = (
        None  # (number, key) of a receipt, 0: the closing one
    )
    skips: int = 0  # bodies of another process of the team before the first one
    head: str = "ab" * 32  # of the chain
    stop_s: float = (
        0.0  # a logout is answered so late, as by a referee with a slow meter
    )
    provisional: Callable[[], dict[str, Any]] | None = (
        None  # in the answer to a question for the status
    )
    port: int = 0
    _changed: threading.Condition = field(default_factory=threading.Condition)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def remaining_s(self) -> float:
        return (
            0.0
            if self.opened_at is None
            else self.opened_at + self.window_s - time.monotonic()
        )

    def until(self, holds: Callable[[], object]) -> None:
        """Wait until `holds` is true after some request."""
        with self._changed:
            assert self._changed.wait_for(holds, 15)

    def changed(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def problem(
        self,
        status: int,
        code: str,
        **facts: Any,
    ) -> tuple[int, dict[str, Any]]:
        return status, {
            "type": "about:blank",
            "title": code,
            "status": status,
            "detail": f"It is {code}.",
            "code": code,
            **facts,
        }

    def answer(
        self,
        method: str,
        path: str,
        headers: Any,
        body: bytes,
    ) -> tuple[int, dict[str, Any] | bytes]:
        if path == "/v1/health":
            return 200, {
                "status": "ok",
                "contest": "double",
                "version": "0",
                **self.health,
            }
        if (method, path) == ("POST", "/v1/session"):
            return self.log_in(json.loads(body))
        if headers.get("Authorization") != "Bearer token-1":
            return self.problem(401, "bad-token")
        if path == "/v1/session" and method == "GET":
            shown: dict[str, Any] = (
                {} if self.provisional is None else {"provisional": self.provisional()}
            )
            shown["detections_accepted"] = len(self.rows)
            shown["images_served"] = sum(
                count
                for name, count in self.requests.items()
                if name.startswith("GET /v1/images")
            )
            return 200, {
                "phase": self.phase,
                "remaining_s": self.remaining_s,
                **shown,
            }
        over = self.phase == "closed" or self.remaining_s <= 0
        if over and not (method == "DELETE" and self.gives_receipts):
            return self.problem(409, "window-closed")
        if path == "/v1/session":
            self.phase = "closed"
            time.sleep(self.stop_s)
            closing = (
                {"receipt": self._altered(0, self._closing())}
                if self.gives_receipts
                else {}
            )
            return 200, {
                "run": self.run,
                "phase": "closed",
                "elapsed_s": self.elapsed_s,
                **closing,
            }
        if path == "/v1/detections":
            return self.take(headers, body)
        if path.startswith("/v1/images?"):
            return self._batch(path)
        number = int(path.rpartition("/")[2])
        return (
            (200, self.images[number - 1])
            if 1 <= number <= len(self.images)
            else self.problem(404, "image-unknown")
        )

    def _batch(self, path: str) -> tuple[int, dict[str, Any] | bytes]:
        if not self.has_batches:
            return self.problem(404, "not-found")
        query = parse_qs(urlsplit(path).query)
        first = int(query["first"][0])
        count = int(query["count"][0])
        if not 1 <= first <= len(self.images):
            return self.problem(404, "image-unknown")
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
            for number, jpeg in enumerate(
                self.images[first - 1 : first - 1 + count],
                start=first,
            ):
                archive.writestr(f"{number}.jpg", jpeg)
        return 200, packed.getvalue()

    def log_in(self, wanted: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if wanted != {"team": "alpha", "password": PASSWORD}:
            return self.problem(401, "bad-credentials")
        if self.phase == "closed":
            return self.problem(409, "not-armed")
        self.phase = "open"
        self.opened_at = self.opened_at or time.monotonic()
        return 201, {
            "token": "token-1",
            "run": self.run,
            "images": len(self.images),
            "window_s": self.window_s,
            "remaining_s": self.remaining_s,
            "categories": self.categories,
            "rules": self.rules if self.gives_receipts else None,
            "rules_sha256": RULES_SHA256 if self.gives_receipts else None,
        }

    def take(
        self,
        headers: Any,
        body: bytes,
    ) -> tuple[int, dict[str, Any]]:
        """The status and the document with which a body is answered; a test may put another method in its place."""
        key = headers["Idempotency-Key"]
        if key in self.keys:
            return 202, self.keys[key]
        rows = rows_of(body)
        known = {category["id"] for category in self.categories}
        problems = [
            {"line": i, "detail": f"category {row[1]}"}
            for i, row in enumerate(rows, 1)
            if row[1] not in known
        ]
        if problems:
            return self.problem(422, "bad-rows", problems=problems)
        self.rows += rows
        self.posts.append(body)
        digest = "0" * 64 if self.lies_about_hash else hashlib.sha256(body).hexdigest()
        self.keys[key] = {
            "accepted": len(rows),
            "received_total": len(self.rows),
            "sha256": digest,
        }
        if self.warnings:
            self.keys[key]["warnings"] = self.warnings
        if self.gives_receipts:
            self._chain(self.keys[key])
        if self.log is not None:
            self.keys[key]["log"] = self.log
        return 202, self.keys[key]

    def _chain(self, answer: dict[str, Any]) -> None:
        """Give the answer a receipt, from the text in docs/receipts.md."""
        number = len(self.posts) + self.skips
        previous = self.head
        utc = "2026-06-20T13:30:01+00:00"
        figures = [
            previous,
            number,
            answer["sha256"],
            utc,
            answer["accepted"],
            answer["received_total"],
        ]
        readings = self.readings_a_body * number
        meter = "ab" * 32
        text = "\n".join(
            ["lpirc-receipt-2", *map(str, [*figures, readings, meter]), ""]
        )
        self.head = hashlib.sha256(text.encode()).hexdigest()
        receipt = {
            "form": 2,
            "number": number,
            "previous": previous,
            "link": self.head,
            "received_utc": utc,
        }
        receipt |= {"readings": readings, "meter": meter}
        answer["receipt"] = self._altered(number, receipt)

    def _closing(self) -> dict[str, Any]:
        posts = len(self.posts) + self.skips
        signed = {
            "log": "cd" * 32,
            "signature": "ef" * 64,
            "public_key": "01" * 32,
        }
        return {
            "run": self.run,
            "posts": posts,
            "head": self.head,
            **signed,
        }

    def _altered(
        self,
        number: int,
        receipt: dict[str, Any],
    ) -> dict[str, Any]:
        if self.alters and self.alters[0] == number:
            receipt[self.alters[1]] = (
                0 if isinstance(receipt[self.alters[1]], int) else "00" * 32
            )
        return receipt


def rows_of(body: bytes) -> list[list[float]]:
    """Return the rows of a body, JSON or packed float32."""
    if body[:1] == b"[":
        return json.loads(body)  # type: ignore[no-any-return]
    return [
        [int(image), int(category), *rest]
        for image, category, *rest in struct.iter_unpack("<7f", body)
    ]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    referee: Referee

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except ConnectionError:
            self.close_connection = True

    def _serve(self) -> None:
        referee = self.referee
        name = f"{self.command} {self.path}"
        referee.requests[name] += 1
        referee.connections.add(self.client_address)
        referee.changed()
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fault = next(iter(referee.faults.get(name, ())), None)
        if fault is not None:
            referee.faults[name].pop(0)
        if fault == "drop-before":
            self.close_connection = True
            return
        if isinstance(fault, tuple):
            status, content = (
                referee.problem(*fault) if fault[1] else (fault[0], b"<html>")
            )
        else:
            status, content = referee.answer(
                self.command,
                self.path,
                self.headers,
                body,
            )
        referee.changed()
        if fault == "drop-after":
            self.close_connection = True
            return
        self._reply(status, content)

    def _reply(
        self,
        status: int,
        content: dict[str, Any] | bytes,
    ) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        kind = (
            "image/jpeg"
            if isinstance(content, bytes)
            else "application/json"
            if status < 400
            else "application/problem+json"
        )
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        if self.referee.opened_at is not None:
            self.send_header(
                "X-Window-Remaining-Ms",
                str(max(0, int(self.referee.remaining_s * 1000))),
            )
        if status == 429:
            self.send_header("Retry-After", "30")
        self.end_headers()
        if self.referee.cut_bytes is not None and isinstance(content, bytes):
            data = data[: self.referee.cut_bytes]
            self.close_connection = True
        self.wfile.write(data)

    do_GET = do_POST = do_DELETE = _serve  # noqa: N815 - named by http.server

    def log_message(self, format: str, *args: Any) -> None:
        pass
