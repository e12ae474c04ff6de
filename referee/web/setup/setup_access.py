"""Who sets up a contest: the one browser that was given the code on the terminal."""

from __future__ import annotations

import ctypes
import hmac
import math
import secrets
import threading
from collections import deque
from dataclasses import dataclass, field
from multiprocessing.sharedctypes import RawValue
from typing import Any

from referee.errors import LoginRefused

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # none looks like another one
CODE_LENGTH = 8
FAILURES_ALLOWED = 10
FAILURE_MEMORY_S = 60.0
ADDRESSES_KEPT = 10_000


@dataclass(frozen=True)
class SetupCode:
    """The one-time code: 40 random bits. Every worker process of a server has the same one, and knows if it is used."""

    code: str
    secret: bytes
    _taken: Any = field(default_factory=lambda: RawValue(ctypes.c_bool, False))

    @classmethod
    def draw(cls) -> SetupCode:
        """Return a new code."""
        drawn = "".join(secrets.choice(LETTERS) for _ in range(CODE_LENGTH))
        return cls(drawn, secrets.token_bytes(32))

    @property
    def shown(self) -> str:
        """The code as people read it: ABCD-EFGH."""
        half = CODE_LENGTH // 2
        return f"{self.code[:half]}-{self.code[half:]}"

    @property
    def cookie(self) -> str:
        """The cookie of the browser that used the code."""
        return hmac.digest(self.secret, b"session", "sha256").hex()

    @property
    def csrf(self) -> str:
        """The token that the forms of that browser bear."""
        return hmac.digest(self.secret, b"csrf", "sha256").hex()

    def is_cookie(self, given: str) -> bool:
        """Return True for the cookie of the browser that used the code."""
        return self._taken.value and hmac.compare_digest(
            given.encode(), self.cookie.encode()
        )

    @property
    def is_taken(self) -> bool:
        """True once a browser has used the code."""
        return bool(self._taken.value)

    def take(self) -> bool:
        """Use the code; False if another browser has used it."""
        if self._taken.value:
            return False
        self._taken.value = True
        return True


class CodeCheck:
    """Checks the code that a browser gives. After ten wrong ones within a minute an address must wait."""

    def __init__(self, code: SetupCode) -> None:
        self._code = code
        self._lock = threading.Lock()
        self._failures: dict[str, deque[float]] = {}

    def require(self, given: str, address: str, now_s: float) -> None:
        """Use the code. Raises LoginRefused `too-many-failures`, `bad-credentials`, `setup-taken`."""
        plain = "".join(one for one in given.upper() if one.isalnum())
        with self._lock:
            self._require_few(address, now_s)
            if not hmac.compare_digest(plain.encode(), self._code.code.encode()):
                self._note(address, now_s)
                sentence = "The code is wrong; it stands on the terminal where the referee was started."
                raise LoginRefused("bad-credentials", sentence)
            if not self._code.take():
                sentence = (
                    "Another browser has used this code and sets the contest up; go on there. If that is lost, end the "
                    "referee with Ctrl-C and start it again: it prints a new code, and nothing set so far is lost."
                )
                raise LoginRefused("setup-taken", sentence)

    def _require_few(self, address: str, now_s: float) -> None:
        failures = self._failures.get(address) or deque()
        if len(failures) < FAILURES_ALLOWED:
            return
        wait_s = failures[0] + FAILURE_MEMORY_S - now_s
        if wait_s > 0:
            sentence = (
                f"Too many wrong codes from here; try again in {math.ceil(wait_s)} s."
            )
            raise LoginRefused(
                "too-many-failures", sentence, retry_after_s=math.ceil(wait_s)
            )

    def _note(self, address: str, now_s: float) -> None:
        failures = self._failures.pop(address, None) or deque(maxlen=FAILURES_ALLOWED)
        failures.append(now_s)
        self._failures[address] = failures
        if len(self._failures) > ADDRESSES_KEPT:
            del self._failures[next(iter(self._failures))]
