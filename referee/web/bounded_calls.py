"""Calls of a plug-in's code that may hang: each is waited for at most so long, and only so many may hang at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


class Hangs(Exception):
    """A call has not ended in time, or too many before it have not."""


class BoundedCalls:
    """Makes calls in threads of their own. One that has not ended within `limit_s` is given up, though it runs on.

    While `most` of them run on, no further call is made.
    """

    def __init__(self, limit_s: float, most: int) -> None:
        self._limit_s = limit_s
        self._most = most
        self._given_up: set[Future[object]] = set()
        self._lock = threading.Lock()

    def __call__(self, work: Callable[[], T]) -> T:
        """Return what the call returns, or raise what it raises. Raises Hangs."""
        with self._lock:
            self._given_up = {one for one in self._given_up if not one.done()}
            if len(self._given_up) >= self._most:
                raise Hangs(f"{self._most} earlier calls have not ended")
        future: Future[T] = Future()
        # A daemon, since the server must end whatever hangs.
        threading.Thread(target=_carry_out, args=(future, work), daemon=True).start()
        try:
            return future.result(self._limit_s)
        except TimeoutError:
            if future.done():  # its own
                raise
            with self._lock:
                self._given_up.add(future)  # type: ignore[arg-type] # its type is not used
            raise Hangs(f"it did not end within {self._limit_s:g} s") from None


def _carry_out(future: Future[T], work: Callable[[], T]) -> None:
    try:
        future.set_result(work())
    except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
        future.set_exception(error)
