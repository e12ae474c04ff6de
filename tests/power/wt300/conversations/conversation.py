"""Conversations with a meter as text files: what is sent, what is answered, and which step of the driver asks.

A line begins with what it is:

    #  a comment
    %  options of the simulated meter
    =  a step of the driver, `= start`; with the code of its failure behind it if it must fail, `= zero ! meter-busy`
    -  a step of somebody else at the same meter, whom the driver's test leaves out
    >  a message sent
    <  its answer
    !  the code of the failure that came in place of an answer; only the driver's test plays that
    ~  a pattern for that answer where it varies by nature: times, noise, whether an update came in between
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent


@dataclass
class Exchange:
    """A message, and its answer if it asks."""

    message: str
    answer: str | None = None
    pattern: str | None = None
    failure: str | None = None

    def fits(
        self,
        answer: str | None,
    ) -> bool:
        if self.pattern is None or answer is None:
            return answer == self.answer
        return re.fullmatch(self.pattern, answer) is not None


@dataclass
class Step:
    """What is done, and the exchanges that belong to it."""

    action: str
    failure: str | None = None
    by_driver: bool = True
    exchanges: list[Exchange] = field(default_factory=list)


@dataclass
class Conversation:
    """A file."""

    name: str
    options: tuple[str, ...] = ()
    steps: list[Step] = field(default_factory=list)

    @property
    def exchanges(self) -> list[Exchange]:
        return [exchange for step in self.steps for exchange in step.exchanges]


def conversations() -> list[Conversation]:
    """Return every conversation of this folder."""
    return [
        parse(path.stem, path.read_text("utf-8")) for path in sorted(HERE.glob("*.txt"))
    ]


def parse(
    name: str,
    text: str,
) -> Conversation:
    """Return the conversation that a file's text tells; ValueError names a line that says nothing."""
    told = Conversation(name)
    for number, line in enumerate(text.splitlines(), start=1):
        mark, _, rest = line.partition(" ")
        try:
            _tell(told, mark, rest.strip())
        except (IndexError, ValueError):
            raise ValueError(f"{name}.txt, line {number}: {line!r}") from None
    return told


def _tell(
    told: Conversation,
    mark: str,
    rest: str,
) -> None:
    if mark == "%":
        told.options = (*told.options, *rest.split())
    elif mark in ("=", "-"):
        action, _, failure = rest.partition("!")
        told.steps.append(Step(action.strip(), failure.strip() or None, mark == "="))
    elif mark == ">":
        told.steps[-1].exchanges.append(Exchange(rest))
    elif mark == "<":
        told.steps[-1].exchanges[-1].answer = rest
    elif mark == "!":
        told.steps[-1].exchanges[-1].failure = rest
    elif mark == "~":
        exchange = told.steps[-1].exchanges[-1]
        assert exchange.answer is not None
        exchange.pattern = rest
        if not exchange.fits(exchange.answer):
            raise ValueError(rest)
    elif mark and not mark.startswith("#"):
        raise ValueError(mark)
