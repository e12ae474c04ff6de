"""The 385 requests that the original referee was asked, and what it answered (shared data: legacy)."""

from __future__ import annotations

import base64
import json
import re
import socket
from dataclasses import dataclass
from pathlib import Path

TEAM = "lpirc"
PASSWORD = "pass"
IMAGES = 17
SHORT_S = 1.0  # for an answer that does not come
ENDED_S = 30.0  # a connection that is kept open ends after 75 s
LENGTH = re.compile(rb"(?i)(content-length: *)(\d+)")
TOKEN = re.compile(rb"[0-9a-f]{12}\.[\w.-]+")


@dataclass(frozen=True)
class Original:
    """One request as raw bytes with the place of the token, how it was sent, and the original's answer."""

    name: str
    how: str
    request: bytes
    status: str
    body: str

    def bytes_with(self, token: str) -> bytes:
        """The request with that token; lengths that count it count the new one."""
        head, blank, body = self.request.partition(b"\r\n\r\n")
        placed = b"{T}"

        def longer(found: re.Match[bytes]) -> bytes:
            tokens = body[: int(found[2])].count(placed)
            return found[1] + b"%d" % (
                int(found[2]) + tokens * (len(token) - len(placed))
            )

        written = LENGTH.sub(longer, head) + blank + body
        # Several requests, each with a head of its own.
        if self.how == "ka3" or "pipelined" in self.name:
            added = len(token) - len(placed)
            written = LENGTH.sub(
                lambda found: found[1] + b"%d" % (int(found[2]) + added),
                self.request,
            )
        return written.replace(placed, token.encode())


def original_requests(path: Path) -> list[Original]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [
        Original(
            one["name"],
            one["how"],
            base64.b64decode(one["request_base64"]),
            one["original"]["status"],
            one["original"]["body"],
        )
        for one in lines
    ]


def answer_to(
    place: tuple[str, int],
    source: str,
    asked: Original,
    token: str,
) -> str:
    """What comes back in one line: the status, and the body with its changing parts replaced."""
    timeout_s = SHORT_S if asked.status == "none" else ENDED_S
    received = b""
    has_ended = False
    with socket.create_connection(place, timeout_s, (source, 0)) as connection:
        try:
            connection.sendall(asked.bytes_with(token))
            if asked.how == "half":
                connection.shutdown(socket.SHUT_WR)
            while not has_ended and not _is_whole(received, asked.how):
                more = connection.recv(65536)
                received += more
                has_ended = not more
        except ConnectionError:
            has_ended = True
        except TimeoutError:
            pass
    line = _line(received)
    return f"{line}, and no end" if asked.how == "eof" and not has_ended else line


def named_differences() -> dict[str, tuple[str, str]]:
    """What this referee answers otherwise, by the request's name: direct, and behind nginx."""
    found: dict[str, tuple[str, str]] = {}
    for answers in json.loads(
        Path(__file__).with_name("differences.json").read_text()
    ).values():
        for name, answer in answers.items():
            direct, behind_nginx = (
                answer if isinstance(answer, list) else (answer, answer)
            )
            found[name] = (direct, behind_nginx)
    return found


def original_line(one: Original) -> str:
    """The original's answer in the same form."""
    return f"{one.status} {one.body[:60]!r}" if one.body else one.status


def _is_whole(received: bytes, how: str) -> bool:
    """Whether a connection that is kept has brought its answer."""
    if not how.startswith("ka"):
        return False
    head, blank, body = received.partition(b"\r\n\r\n")
    stated = LENGTH.search(head)
    return bool(blank and stated and len(body) >= int(stated[2]) and how == "ka")


def _line(received: bytes) -> str:
    received = re.sub(rb"^HTTP/1.1 100 Continue\r\n\r\n", b"", received)
    if not received:
        return "none"
    if not received.startswith(b"HTTP/"):
        return "raw"
    head, _, body = received.partition(b"\r\n\r\n")
    status = head.split()[1].decode()
    body = TOKEN.sub(b"<TOKEN>", body)
    shown = body.decode("latin-1").partition("\r\n")[0][:60]
    if body.lstrip().startswith((b"<!", b"<html")):
        shown = "<HTML>"
    elif body[:2] in (b"\xff\xd8", b"PK"):
        shown = f"<{body[:2]!r} bytes>"
    elif body and b"problem+json" in head.lower():
        shown = f"<{json.loads(body)['code']}>"
    return f"{status} {shown!r}" if shown else status
