"""Present faults of the simulated meter; set through the control socket, invisible to its clients."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

NEVER: Final = float("-inf")


class Faults:
    """Faults, each with the time at which it ends.

    Any thread may set faults that affect answers, or wait for their end.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._closed = False
        self.heal()

    def heal(self) -> None:
        """End every fault."""
        with self._changed:
            self.no_data_until_s = self.over_range_until_s = self.clip_until_s = NEVER
            self.busy_after_start_s = 0.0
            self._hung_until_s = NEVER
            self.slow_s = 0.0
            self.wrong_answer: str | None = None
            self._changed.notify_all()

    def until(self, seconds: float) -> float:
        """Return the time that is the given number of seconds from now."""
        return self._clock() + seconds

    def hang(self, seconds: float) -> None:
        """Suspend all answers for the given number of seconds."""
        with self._changed:
            self._hung_until_s = self.until(seconds)

    def wait_while_hung(self) -> None:
        """Block until answers may be given again."""
        if self._hung_until_s == NEVER:
            return
        with self._changed:
            while (
                not self._closed and (left_s := self._hung_until_s - self._clock()) > 0
            ):
                self._changed.wait(left_s)

    def spoil(self, answer: str) -> str:
        """Return the answer, delayed or replaced if such a fault is set."""
        if self.slow_s:
            with self._changed:
                self._changed.wait_for(
                    lambda: self._closed or not self.slow_s, self.slow_s
                )
        if self.wrong_answer is not None:
            with self._changed:
                answer = self.wrong_answer or ""
                self.wrong_answer = None
        return answer

    def close(self) -> None:
        """Unblock every waiting thread."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def active(self) -> dict[str, object]:
        """Return the active faults, by the words that set them, with their value or remaining seconds."""
        now_s = self._clock()
        lasting = {
            "nan": self.no_data_until_s,
            "over-range": self.over_range_until_s,
            "clip": self.clip_until_s,
            "hang": self._hung_until_s,
        }
        found: dict[str, object] = {}
        for word, until_s in lasting.items():
            if until_s > now_s:
                found[word] = round(until_s - now_s, 3)
        found |= {"slow": self.slow_s * 1000 or None, "wrong": self.wrong_answer}
        found["busy-after-start"] = self.busy_after_start_s or None
        return {word: value for word, value in found.items() if value is not None}
