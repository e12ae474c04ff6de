"""Passwords that were right, remembered for some minutes: checking an Argon2 hash takes tens of milliseconds.

What is kept is a digest keyed with a secret of this process, of the last right password of each team.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

REMEMBERED_S = 300.0
REMEMBERED = 256  # teams


class KnownPasswords:
    """Bound to the stored hash: a password that was changed since is not known."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)
        self._known: dict[str, tuple[bytes, float]] = {}

    def knows(self, team: str, password_hash: str, password: str, now_s: float) -> bool:
        """Whether this password was right for this hash not long ago; `now_s` is of the monotonic clock."""
        digest, until_s = self._known.get(team, (b"", 0.0))
        return now_s < until_s and hmac.compare_digest(digest, self._digest(password_hash, password))

    def remember(self, team: str, password_hash: str, password: str, now_s: float) -> None:
        """Take note of a password that was right."""
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        self._known[team] = self._digest(password_hash, password), now_s + REMEMBERED_S

    def _digest(self, password_hash: str, password: str) -> bytes:
        told = password_hash.encode() + b"\0" + password.encode("utf-8", "surrogatepass")
        return hmac.digest(self._secret, told, hashlib.sha256)
