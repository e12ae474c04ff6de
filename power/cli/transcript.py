"""What goes over a link, word by word: every message with its raw answer, and which call of the driver it is for."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final, cast

from power.clocks import real_clocks
from power.errors import MeterError
from power.meter import Meter, Setup

LINK: Final = logging.getLogger("power.visa.link")
"""The log in which a link tells what is sent, as text, and what comes back, as bytes."""


@dataclass
class Exchange:
    """A message, when it was sent, and its answer with the terminator; None if there was none."""

    sent_s: float
    sent: str
    answer: str | None = None
    took_ms: float = 0.0


class Transcript(logging.Handler):
    """Owns what is said over every link while it is `opened`.

    `conversation` is the part that belongs to calls of `meter`, in the form that the driver's tests play: `=` is a
    call, with the code of its failure behind a `!`; `>` is a message, `<` its answer, `!` that none came.
    """

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.exchanges: list[Exchange] = []
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
        now_s, said = real_clocks().monotonic(), cast("tuple[str | bytes]", record.args)[0]
        if isinstance(said, str):
            self.exchanges.append(Exchange(now_s, said))
        else:
            last = self.exchanges[-1]
            last.answer, last.took_ms = said.decode("latin-1"), round(1e3 * (now_s - last.sent_s), 3)

    def meter(self, meter: Meter) -> Meter:
        """Return a meter each of whose calls is a step of the conversation."""
        return cast("Meter", _Told(meter, self))

    @contextlib.contextmanager
    def step(self, *words: str) -> Iterator[None]:
        """Note a step of the conversation, and what is said in it; what it raises goes on."""
        first, failure = len(self.exchanges), ""
        try:
            yield
        except MeterError as error:
            failure = f" ! {error.code}"
            raise
        finally:
            self.conversation += ["", f"= {' '.join(words)}{failure}"]
            for said in self.exchanges[first:]:
                heard = "!" if said.answer is None else "< " + said.answer.rstrip("\r\n")
                self.conversation += [f"> {said.sent}", *([heard] if "?" in said.sent else [])]


@dataclass
class _Told:
    real: Meter
    transcript: Transcript

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*given: str | Setup) -> Any:
            with self.transcript.step(name, *map(_words, given)):
                return getattr(self.real, name)(*given)

        return call


def _words(given: str | Setup) -> str:
    return given if isinstance(given, str) else " ".join(f"{k}={v}" for k, v in asdict(given).items())
