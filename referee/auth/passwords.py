"""Team passwords: only Argon2 hashes are kept, and guessing is limited per client address and team."""

from __future__ import annotations

import hmac
import math
import secrets
import threading
from collections import deque
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from referee.errors import LoginRefused

FAILURES_ALLOWED = 10
FAILURES_OF_AN_ADDRESS = 50
FAILURE_MEMORY_S = 60.0
HASHES_AT_ONCE = 2  # each takes 64 MiB for some tens of milliseconds
RIGHT_PASSWORDS_KEPT = 256

_hasher = PasswordHasher()
_key = secrets.token_bytes(32)
_right: dict[str, bytes] = {}  # by stored hash, a digest of the password with a key of this process


def hash_password(password: str) -> str:
    """The Argon2id hash to keep instead of the password."""
    return _hasher.hash(_as_bytes(password))


def matches(password_hash: str, password: str) -> bool:
    """Whether `password` is the one hashed; a right one is remembered."""
    try:
        _hasher.verify(password_hash, _as_bytes(password))
    except (Argon2Error, InvalidHashError):
        return False
    if len(_right) >= RIGHT_PASSWORDS_KEPT:
        _right.clear()
    _right[password_hash] = _digest(password)
    return True


def was_right(password_hash: str, password: str) -> bool:
    """Whether `matches` has found so before: a team that waits for its heat logs in each second."""
    return hmac.compare_digest(_right.get(password_hash, b""), _digest(password))


@cache
def decoy_hash() -> str:
    """Checked when the team is unknown: the time a log-in takes must not tell which teams exist."""
    return hash_password(secrets.token_hex())


def _digest(password: str) -> bytes:
    return hmac.digest(_key, _as_bytes(password), "sha256")


def _as_bytes(password: str) -> bytes:
    # JSON and the environment can hold what UTF-8 cannot; as a password it is as good as any.
    return password.encode("utf-8", "surrogatepass")


class FailureLimit:
    """Counts failed log-ins per client address and team: no one can guess on, nor lock a team out from elsewhere.

    It also counts per address over all teams, since a check of an Argon2 hash costs the host tens of milliseconds.
    """

    def __init__(self) -> None:
        self.hashing = threading.BoundedSemaphore(HASHES_AT_ONCE)
        self._failures: dict[tuple[str, str | None], deque[float]] = {}
        self._lock = threading.Lock()

    def check(self, address: str, team: str, now_s: float) -> None:
        """Raise RefereeError `too-many-failures` with `retry_after_s` when this client has to wait."""
        with self._lock:
            self._forget(now_s)
            waits_s = [self._wait_s((address, team), FAILURES_ALLOWED, now_s)]
            waits_s.append(self._wait_s((address, None), FAILURES_OF_AN_ADDRESS, now_s))
        wait_s = math.ceil(max(waits_s))
        if wait_s > 0:
            raise LoginRefused(
                "too-many-failures",
                f"Too many failed log-ins within {FAILURE_MEMORY_S:.0f} s; try again in {wait_s} s.",
                retry_after_s=wait_s,
            )

    def count(self, address: str, team: str, now_s: float) -> None:
        """Count one failure."""
        with self._lock:
            self._failures.setdefault((address, team), deque(maxlen=FAILURES_ALLOWED)).append(now_s)
            self._failures.setdefault((address, None), deque(maxlen=FAILURES_OF_AN_ADDRESS)).append(now_s)

    def _wait_s(self, key: tuple[str, str | None], allowed: int, now_s: float) -> float:
        recent = self._failures.get(key)
        return 0.0 if recent is None or len(recent) < allowed else recent[0] + FAILURE_MEMORY_S - now_s

    def _forget(self, now_s: float) -> None:
        for key, times in list(self._failures.items()):
            while times and times[0] <= now_s - FAILURE_MEMORY_S:
                times.popleft()
            if not times:
                del self._failures[key]
