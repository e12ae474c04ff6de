"""Transcript of a link: every message with its raw answer, grouped by driver call."""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Iterator
from typing import Any, Final, cast

from lpirc_power.clocks import real_clocks
from lpirc_power.errors import MeterError, MeterLost, MeterTimeout

LINK: Final = logging.getLogger("lpirc_power.visa.link")
"""Logger in which a link records sent messages as text and answers as bytes."""


class Transcript(logging.Handler):
    """Records the messages and answers of every link while `opened` is active.

    `exchanges` holds one entry per message; its `answer` is None if there was no answer. `conversation` holds the
    messages of steps, in the format that the driver's tests replay. A line with `=` starts a step, with the code of its
    failure after a `!`. `>` is a message, `<` its answer, and `!` the reason for a missing answer.
    """

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.exchanges: list[dict[str, Any]] = []
        self.conversation: list[str] = []

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Record during a with statement."""
        LINK.addHandler(self)
        LINK.setLevel(logging.DEBUG)
        try:
            yield
        finally:
            LINK.removeHandler(self)
            LINK.setLevel(logging.NOTSET)

    def emit(self, record: logging.LogRecord) -> None:
        """Add a message, the answer to the last one, or the time by which the last one was sent."""
        now_s = real_clocks().monotonic()
        if not record.args:
            self.exchanges[-1]["sent_s"] = now_s
            return
        said = cast("tuple[str | bytes]", record.args)[0]
        if isinstance(said, str):
            self.exchanges.append(
                {"sent": said, "answer": None, "sent_s": now_s, "took_ms": 0.0}
            )
        else:
            took_ms = round(1e3 * (now_s - self.exchanges[-1]["sent_s"]), 3)
            self.exchanges[-1] |= {"answer": said.decode("latin-1"), "took_ms": took_ms}

    def last_written_s(self) -> float:
        """Return the host's time by which the last message without an answer was sent; infinity if all were answered.

        Over VXI-11, the meter confirms by then that it has the message.
        """
        return max(
            (one["sent_s"] for one in self.exchanges if one["answer"] is None),
            default=math.inf,
        )

    @contextlib.contextmanager
    def step(self, *words: str) -> Iterator[None]:
        """Record a with statement as a step of the conversation; exceptions pass through."""
        first = len(self.exchanges)
        failure = ""
        try:
            yield
        except MeterError as error:
            failure = f" ! {error.code}"
            raise
        finally:
            self.conversation += ["", f"= {' '.join(words)}{failure}"]
            silence = MeterLost.CODE if MeterLost.CODE in failure else MeterTimeout.CODE
            for said in self.exchanges[first:]:
                heard = (
                    "! " + silence
                    if said["answer"] is None
                    else "< " + said["answer"].rstrip("\r\n")
                )
                self.conversation += [
                    f"> {said['sent']}",
                    *([heard] if "?" in said["sent"] else []),
                ]
