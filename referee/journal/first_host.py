"""Finds out whether the host that serves a contest is dead: no signs of life, and no answer over HTTP."""

from __future__ import annotations

import http.client
import logging
import ssl
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

from referee.clock import Clock
from referee.errors import RefereeError
from referee.journal.beats import Beat, read_beat

logger = logging.getLogger(__name__)
DEFAULT_PORTS = {"http": 80, "https": 443}
ANSWER_S = 1.0
"""Timeout for an HTTP answer of the first host."""


@dataclass(frozen=True)
class Address:
    """The HTTP address of the first host, from `http://HOST:PORT`."""

    host: str
    port: int
    is_tls: bool

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def read_address(text: str) -> Address:
    """Parse the address of a referee server. Raises RefereeError `host-unknown`."""
    try:
        parts = urlsplit(text)
        host = parts.hostname
        port = parts.port
    except ValueError:
        host = None
        port = None
    if host is None or parts.scheme not in DEFAULT_PORTS:
        words = "write it as http://HOST:PORT"
        raise RefereeError(
            "host-unknown", f"{text!r} is not the address of a referee; {words}."
        )
    return Address(host, port or DEFAULT_PORTS[parts.scheme], parts.scheme == "https")


def answers(address: Address) -> bool:
    """Return True if the referee server at this address reports that it is healthy."""
    connection: http.client.HTTPConnection
    if address.is_tls:
        # Only whether it answers matters, and no content is trusted, so its certificate is not checked.
        trusting = ssl._create_unverified_context()  # noqa: S323, SLF001
        connection = http.client.HTTPSConnection(
            address.host, address.port, timeout=ANSWER_S, context=trusting
        )
    else:
        connection = http.client.HTTPConnection(
            address.host, address.port, timeout=ANSWER_S
        )
    try:
        connection.request("GET", "/v1/health")
        return connection.getresponse().status == HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


class FirstHost:
    """The host that owns an epoch.

    It is dead if it gave no sign of life for `after_s` seconds and does not answer over HTTP. A server that was stopped
    in order, or has not started yet, is not dead. An unreadable sign of life counts as missing.
    """

    def __init__(
        self, journal: Path, epoch: int, address: Address, after_s: float, clock: Clock
    ) -> None:
        self.epoch = epoch
        self._journal = journal
        self._address = address
        self._after_s = after_s
        self._clock = clock
        self._beat: Beat | None = None
        self._since_s = clock.monotonic_s()
        self._said = False

    def is_dead(self) -> bool:
        """Check once whether the host is dead. This takes up to ANSWER_S if its signs of life are missing."""
        now_s = self._clock.monotonic_s()
        beat = read_beat(self._journal, self.epoch)
        if beat is not None and beat != self._beat:
            self._beat = beat
            self._since_s = now_s
            self._said = False
        if self._beat is not None and self._beat.is_ended:
            self._say(
                "the first host at %s was shut down cleanly; to take over: referee standby --now",
                self._address,
            )
            return False
        if self._beat is None or now_s - self._since_s < self._after_s:
            return False
        if not answers(self._address):
            return True
        words = (
            "no sign of life of %s has reached the journal for %.0f s, but the host answers: check its mount of the "
            "journal"
        )
        self._say(words, self._address, self._after_s)
        return False

    def _say(self, words: str, *values: object) -> None:
        """Log a warning once, until the next sign of life."""
        if not self._said:
            logger.warning(words, *values)
        self._said = True
