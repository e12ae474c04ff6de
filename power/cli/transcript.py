"""What goes over a link, word by word: every message with its raw answer, and which call of the driver it is for."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final, cast

from power.errors import MeterError
from power.meter import Meter, Setup

LINK: Final = "power.visa.link"
"""The log in which a link tells what is sent, as text, and what comes back, as bytes."""


@dataclass
class Exchange:
    """A message, when it was sent, and its answer with the terminator; None if there was none."""

    sent_s: float
    sent: str
    answer: str | None = None
    took_ms: float | None = None

    @property
    def lines(self) -> list[str]:
        """The exchange in a conversation; a question that stayed without an answer is marked by `!`."""
        if self.answer is None:
            return [f"> {self.sent}", *(["!"] if "?" in self.sent else [])]
        return [f"> {self.sent}", "< " + self.answer.rstrip("\r\n")]


class Transcript(logging.Handler):
    """Owns what was said over every link since it was opened.

    `conversation` is the part of it that belongs to calls of `Told`, in the form of the conversations that the driver's
    tests play: `=` is a call, with the code of its failure behind a `!`, `>` a message, `<` its answer.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        super().__init__(logging.DEBUG)
        self.exchanges: list[Exchange] = []
        self.conversation: list[str] = []
        self._monotonic = monotonic

    @contextlib.contextmanager
    def opened(self) -> Iterator[Transcript]:
        """Listen for the length of a with statement."""
        log = logging.getLogger(LINK)
        log.addHandler(self)
        before = log.level
        log.setLevel(logging.DEBUG)
        try:
            yield self
        finally:
            log.removeHandler(self)
            log.setLevel(before)

    def emit(self, record: logging.LogRecord) -> None:
        """Take what was sent or heard."""
        now_s, said = self._monotonic(), cast("tuple[str | bytes]", record.args)[0]
        if isinstance(said, bytes):
            last = self.exchanges[-1]
            last.answer, last.took_ms = said.decode("latin-1"), round(1e3 * (now_s - last.sent_s), 3)
        else:
            self.exchanges.append(Exchange(now_s, said))

    def told(self, action: str, call: Callable[..., Any], *given: Any) -> Any:
        """Make a call that is a step of the conversation; what it raises goes on."""
        first, words, failure = len(self.exchanges), [action, *map(_words, given)], ""
        try:
            found = call(*given)
        except MeterError as error:
            failure = f" ! {error.code}"
            raise
        else:
            words[1:1] = [str(len(found))] if action == "changes" else []
        finally:
            said = [line for exchange in self.exchanges[first:] for line in exchange.lines]
            self.conversation += ["", f"= {' '.join(words)}{failure}", *said]
        return found


class Told:
    """A meter, each of whose calls is a step of a transcript. Stands for power.meter.Meter."""

    def __init__(self, meter: Meter, transcript: Transcript) -> None:
        self._meter = meter
        self._transcript = transcript

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *given: self._transcript.told(name, getattr(self._meter, name), *given)


def _words(given: str | Setup) -> str:
    if isinstance(given, str):
        return given
    return " ".join(f"{name}={_word(value)}" for name, value in asdict(given).items())


def _word(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return {"None": "auto", "True": "on", "False": "off"}.get(str(value), str(value))
