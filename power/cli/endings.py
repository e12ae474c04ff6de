"""What ends a command from outside: Ctrl-C, SIGTERM, and SIGHUP when its terminal goes away."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final

ENDINGS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def on_endings(act: Callable[[int, FrameType | None], Any]) -> Iterator[None]:
    """Have them call `act` meanwhile, from the main thread; a SIGHUP that is ignored, as under nohup, stays so.

    A SIGINT that is ignored does not: a shell ignores it for whatever a script starts with `&`, and `kill -INT` is how
    the script then ends a recording.
    """
    heeded = [one for one in ENDINGS if one is not signal.SIGHUP or signal.getsignal(one) != signal.SIG_IGN]
    former = {number: signal.signal(number, act) for number in heeded}
    try:
        yield
    finally:
        for number, before in former.items():
            signal.signal(number, before)


def interrupt(number: int, _frame: FrameType | None) -> None:
    """Interrupt as Ctrl-C does, with the signal's number: what a command cleans up at its end is cleaned up.

    Only the first one does: timeout(1) signals its child and then the group, which must not cut the cleaning up.
    """
    for one in ENDINGS:
        if signal.getsignal(one) is interrupt:
            # Not SIG_IGN: of a signal that came meanwhile Python would print that it is ignored.
            signal.signal(one, _nothing)
    raise KeyboardInterrupt(number)


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """Leave the command to its cleaning up."""
