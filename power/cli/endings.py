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
    """Have them call `act` meanwhile, from the main thread; a SIGHUP that is ignored, as under nohup, stays so."""
    heeded = [one for one in ENDINGS if one is not signal.SIGHUP or signal.getsignal(one) != signal.SIG_IGN]
    former = {number: signal.signal(number, act) for number in heeded}
    try:
        yield
    finally:
        for number, before in former.items():
            signal.signal(number, before)


def interrupt(number: int, _frame: FrameType | None) -> None:
    """Interrupt as Ctrl-C does, with the signal's number: what a command cleans up at its end is cleaned up."""
    raise KeyboardInterrupt(number)
