"""A cache whose values are made by one thread at a time: of many requests at once, one renders and the others wait.

With `functools.lru_cache` each of 500 requests that come in the same moment renders the new board for itself. They take
turns in the middle of it, so all end late, when the board has changed again: the server never catches up.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
_NONE = object()


def made_once(most: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that keeps the `most` newest values of a function of hashable arguments.

    A value that is kept is returned without a lock. What the function raises is not kept.
    """

    def decorate(make: Callable[P, R]) -> Callable[P, R]:
        kept: dict[Hashable, R] = {}
        lock = threading.Lock()

        @wraps(make)
        def value(*args: P.args, **kwargs: P.kwargs) -> R:
            key = (args, *kwargs.items())
            found = kept.get(key, _NONE)
            if found is _NONE:
                with lock:
                    found = kept.get(key, _NONE)
                    if found is _NONE:
                        found = make(*args, **kwargs)
                        if len(kept) >= most:
                            del kept[next(iter(kept))]
                        kept[key] = found
            return found  # type: ignore[return-value]

        return value

    return decorate
