"""Command: an entry of the table of commands, with functions for the usual kinds of entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lpirc_power.simulator.instrument_state import MeterState
from lpirc_power.simulator.syntax import (
    Pattern,
    RefusedError,
    boolean,
    choice,
    engineering,
    number,
    register,
    spelled,
)

Data = tuple[str, ...]
Query = Callable[[MeterState, int | None, Data], str]
Write = Callable[[MeterState, int | None, Data], None]
Get = Callable[[MeterState], str]
Put = Callable[[MeterState, str], None]
IsOn = Callable[[MeterState], bool]
Turn = Callable[[MeterState, bool], None]


@dataclass(frozen=True)
class Command:
    """An entry of the command table: its header, its data as in the manuals, a line of help, and its functions.

    `locked`: the integrator must be reset before the meter accepts it. `waits`: it may block. `most` is the largest
    number <n> in its header.
    """

    pattern: Pattern
    help: str
    data: str = ""
    query: Query | None = None
    write: Write | None = None
    locked: bool = False
    waits: bool = False
    most: int = 0

    @property
    def is_setting(self) -> bool:
        """Return True if its answers carry a header when headers are on; common commands and pure queries do not."""
        return (
            self.query is not None
            and self.write is not None
            and not self.pattern.text.startswith("*")
        )

    def said(self, meter: MeterState, suffix: int | None, answer: str) -> str:
        """Return an answer, preceded by its header if headers are on."""
        settings = meter.settings
        if not self.is_setting or not settings.header:
            return answer
        return f"{self.pattern.spelled(settings.verbose, suffix, settings.dialect.brief)} {answer}"

    @property
    def forms(self) -> str:
        """The command's written forms: as a query, with its data, or both."""
        header = self.pattern.text
        written = f"{header} {self.data}".strip()
        if self.write is None:
            return f"{header}? {self.data}".strip()
        return written if self.query is None else f"{written}, {header}?"


def only(data: Data) -> str:
    """Return the only datum; RefusedError 109 if there is none, 108 if there are several."""
    if not data:
        raise RefusedError(109)
    if len(data) > 1:
        raise RefusedError(108)
    return data[0]


def query(
    pattern: str,
    answer: Callable[[MeterState], object],
    text: str,
    locked: bool = False,
) -> Command:
    """Return a command without data that is only a query."""
    return Command(
        Pattern(pattern),
        text,
        query=lambda meter, _suffix, _data: str(answer(meter)),
        locked=locked,
    )


def action(pattern: str, act: Callable[[MeterState], None], text: str) -> Command:
    """Return a command without data that performs an action."""
    return Command(
        Pattern(pattern), text, write=lambda meter, _suffix, _data: act(meter)
    )


def setting(
    pattern: str, data: str, get: Get, put: Put, text: str, locked: bool = False
) -> Command:
    """Return a setting with one datum."""
    return Command(
        Pattern(pattern),
        text,
        data,
        lambda meter, _suffix, _data: get(meter),
        lambda meter, _suffix, given: put(meter, only(given)),
        locked,
    )


def word(
    pattern: str,
    words: Sequence[str],
    get: Get,
    put: Put,
    text: str,
    locked: bool = False,
) -> Command:
    """Return a setting whose value is one of a few words."""
    return setting(
        pattern,
        "{" + "|".join(words) + "}",
        lambda meter: spelled(get(meter), meter.settings.verbose),
        lambda meter, given: put(meter, choice(given, words)),
        text,
        locked,
    )


def flag(
    pattern: str, get: IsOn, put: Turn, text: str, locked: bool = False
) -> Command:
    """Return an on/off setting; it answers 1 or 0."""
    return setting(
        pattern,
        "{ON|OFF}",
        lambda meter: str(int(get(meter))),
        lambda meter, given: put(meter, boolean(given)),
        text,
        locked,
    )


def switch(pattern: str, name: str, text: str, locked: bool = False) -> Command:
    """Return an on/off setting stored in `Settings` under the given name."""
    return flag(
        pattern,
        lambda meter: getattr(meter.settings, name),
        lambda meter, on: meter.switch(name, on),
        text,
        locked,
    )


def remembered(
    pattern: str, key: str, given: str, text: str, locked: bool = False
) -> Command:
    """Return a setting with one of a few words (`given`, the first is the default), stored in `Settings.words[key]`."""
    words = given.split()
    return word(
        pattern,
        words,
        lambda meter: meter.settings.words.get(key, words[0]),
        lambda meter, chosen: meter.settings.words.__setitem__(key, chosen),
        text,
        locked,
    )


def ratio(pattern: str, key: str, text: str, unit: str = "") -> Command:
    """Return a numeric setting, 1 by default, stored in `Settings.numbers` under `key` for all elements."""
    return Command(
        Pattern(pattern),
        text,
        "<number>",
        lambda meter, _suffix, _data: engineering(
            meter.settings.numbers.get(key, 1.0), 5
        ),
        lambda meter, _suffix, data: meter.settings.numbers.__setitem__(
            key, number(only(data), unit)
        ),
    )


def mask(pattern: str, name: str, highest: int, text: str) -> Command:
    """Return a setting whose value is a register of the status system."""
    return setting(
        pattern,
        "<register>",
        lambda meter: str(getattr(meter.status, name)),
        lambda meter, given: setattr(meter.status, name, register(given, highest)),
        text,
    )
