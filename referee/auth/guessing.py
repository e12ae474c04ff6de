"""Limits password guessing for each client address and each team. It checks only one password at a time."""

from __future__ import annotations

import math
from collections import deque
from concurrent.futures import ThreadPoolExecutor

from referee.auth.passwords import decoy_hash, matches, was_right
from referee.errors import LoginRefused, RefereeError
from referee.operating_system import lower_priority

FAILURES_ALLOWED = 10
FAILURE_MEMORY_S = 60.0
PAIRS_KEPT = 10_000  # of an address and a team; more than can fail in a minute
WAITING_AT_MOST = 64
WAITING_OF_AN_ADDRESS = 16
NICENESS = 5  # if much higher, a busy host would hardly ever check a password


class PasswordChecks:
    """Checks passwords in a low-priority thread: an Argon2 hash takes tens of milliseconds of processor time.

    A password that was correct once since the server's start is accepted without a check. So nobody who guesses a
    team's password can lock the team out, from any address.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "passwords", lower_priority, (NICENESS,))
        self._failures: dict[
            int, deque[float]
        ] = {}  # by hash, since a name can be long; the newest last
        self._waiting: list[str] = []

    def require(
        self,
        address: str,
        team: str,
        stored: str | None,
        password: str,
        now_s: float,
    ) -> None:
        """Check `password` against the hash `stored`, which is None for an unknown team.

        Raises LoginRefused `bad-credentials`, `too-many-failures`; RefereeError `too-many-requests` if too many checks
        wait.
        """
        if stored is not None and was_right(stored, password):
            return
        pair = hash((address, team))
        self._require_few(pair, now_s)
        if (
            self._waiting.count(address) >= WAITING_OF_AN_ADDRESS
            or len(self._waiting) >= WAITING_AT_MOST
        ):
            sentence = "Too many log-ins wait to be checked; try again in 1 s."
            raise RefereeError("too-many-requests", sentence, retry_after_s=1)
        self._waiting.append(address)
        try:
            is_right = self._thread.submit(
                self._check,
                pair,
                stored,
                password,
                now_s,
            ).result()
        finally:
            self._waiting.remove(address)
        if not is_right:
            raise LoginRefused("bad-credentials", "Team or password is wrong.")

    def _check(
        self,
        pair: int,
        stored: str | None,
        password: str,
        now_s: float,
    ) -> bool:
        self._require_few(
            pair,
            now_s,
        )  # checked again, so that of many sent at once those above the limit cost no hash
        if matches(stored or decoy_hash(), password) and stored is not None:
            return True
        failures = self._failures.pop(pair, None) or deque(maxlen=FAILURES_ALLOWED)
        failures.append(now_s)
        self._failures[pair] = failures
        if len(self._failures) > PAIRS_KEPT:
            del self._failures[next(iter(self._failures))]
        return False

    def _require_few(self, pair: int, now_s: float) -> None:
        failures = self._failures.get(pair) or deque()
        wait_s = (
            failures[0] + FAILURE_MEMORY_S - now_s
            if len(failures) == FAILURES_ALLOWED
            else 0.0
        )
        if wait_s > 0:
            sentence = f"Too many failed log-ins within {FAILURE_MEMORY_S:.0f} s; try again in {math.ceil(wait_s)} s."
            raise LoginRefused(
                "too-many-failures",
                sentence,
                retry_after_s=math.ceil(wait_s),
            )
