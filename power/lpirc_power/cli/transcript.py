"""A transcript of a link: every message with its raw answer, and the call of the driver that it is for."""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Iterator
from typing import Any, Final, cast

from lpirc_power.clocks import real_clocks
from lpirc_power.errors import MeterError, MeterLost, MeterTimeout

LINK: Final = logging.getLogger("lpirc_power.visa.link")
"""The log in which a link tells what is sent, as text, and what comes back, as bytes."""


class Transcript(logging.Handler):
    """Owns what is said over every link while it is `opened`: `exchanges`, whose `answer` is None if there was none.

    `conversation` is the part that belongs to steps, in the form that the driver's tests play: `=` is a step, with the
    code of its failure behind a `!`; `>` is a message, `<` its answer, `!` why none came.
    """

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.exchanges: list[dict[str, Any]] = []
        self.conversation: list[str] = []

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Listen for the length of a with statement."""
        LINK.addHandler(self)
        LINK.setLevel(logging.DEBUG)
        try:
            yield
        finally:
            LINK.removeHandler(self)
            LINK.setLevel(logging.NOTSET)

    def emit(self, record: logging.LogRecord) -> None:
        """Take what was sent or heard."""
        now_s = real_clocks().monotonic()
        said = cast("tuple[str | bytes]", record.args)[0]
        if isinstance(said, str):
            self.exchanges.append(
                {"sent": said, "answer": None, "sent_s": now_s, "took_ms": 0.0}
            )
        else:
            took_ms = round(1e3 * (now_s - self.exchanges[-1]["sent_s"]), 3)
            self.exchanges[-1] |= {"answer": said.decode("latin-1"), "took_ms": took_ms}

    def last_written_s(self) -> float:
        """Return the host's time at which the last message without an answer was sent; infinity without one."""
        return max(
            (one["sent_s"] for one in self.exchanges if one["answer"] is None),
            default=math.inf,
        )

    @contextlib.contextmanager
    def step(self, *words: str) -> Iterator[None]:
        """Note a step of the conversation, and what is said in it; what it raises goes on."""
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
