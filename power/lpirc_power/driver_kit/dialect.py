"""Checks of a family of VISA meters: forms of answers that instruments of one command set differ in."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lpirc_power.driver_kit.bench import Bench
from lpirc_power.driver_kit.finding import Finding, judged, not_tried
from lpirc_power.errors import MeterDriverError, MeterError
from lpirc_power.meter import Meter, Reading, Setup, VisaLink

NUMBER: Final = re.compile(r"[+-]?\d+\.\d*(?:E[+-]?\d+)?", re.IGNORECASE)
WORD: Final = re.compile(r"[A-Z]{5,}")
IRREGULAR: Final = {"TIMEUP": "TIM"}
NO_DATA: Final = ("NAN", "9.91E+37")
OVER_RANGE: Final = ("INF", "9.9E+37")
"""Words and numbers for no data and for over range; the numbers are those of SCPI-1999, volume 1, section 7.2.1."""
HUGE: Final = 1e30

Change = Callable[[str, str], str]
"""From a message and its answer to the answer in another form."""


@dataclass
class Spoken:
    """A link whose answers have another form; implements lpirc_power.meter.VisaLink."""

    link: VisaLink
    change: Change

    def write(self, message: str) -> None:
        """Send a message that has no answer."""
        self.link.write(message)

    def query(self, message: str, timeout_ms: int | None = None) -> str:
        """Send a message and return its answer in the other form."""
        return self.change(message, self.link.query(message, timeout_ms))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.link, name)

    def close(self) -> None:
        """Close the session."""
        self.link.close()


def plain(_message: str, answer: str) -> str:
    """Return the answer as it is."""
    return answer


def with_headers(message: str, answer: str) -> str:
    """Return the answer with the header of each question before its answer, as `:HEADER value`."""
    asked = [one.strip() for one in message.split(";")]
    questions = [one for one in asked if one.partition(" ")[0].endswith("?")]
    answers = answer.split(";")
    if len(answers) != len(questions):
        return answer
    said = []
    for question, one in zip(questions, answers, strict=True):
        header = question.partition(" ")[0].removesuffix("?")
        is_common = header.startswith("*") or one.startswith(":")
        said.append(one if is_common else f"{header} {one}")
    return ";".join(said)


def short(_message: str, answer: str) -> str:
    """Return the answer with its words shortened by SCPI's rule: four letters, or three before a vowel."""
    if '"' in answer or answer.count(",") > 2:  # an error's text; *IDN?
        return answer

    def shortened(found: re.Match[str]) -> str:
        word = found[0]
        if word in IRREGULAR:
            return IRREGULAR[word]
        return word[:3] if word[3] in "AEIOU" else word[:4]

    return WORD.sub(shortened, answer)


def numbers_as(word: str) -> Change:
    """Return the change that puts a word in place of each measured number."""
    return lambda _message, answer: NUMBER.sub(word, answer)


def dialects(bench: Bench, setup: Setup) -> Iterator[Finding]:
    """`no-data`, `over-range`, `headers`, `short-words`: other forms of answers mean the same."""
    if bench.subject.is_scheme:
        yield not_tried(
            "dialect",
            "The kit does not know the words on the link of a Scheme; `rubbish` sends some without a meaning.",
        )
        return
    speech = Spoken(_NoLink(), plain)
    with contextlib.ExitStack() as stack:
        meter = stack.enter_context(contextlib.closing(_meter(bench, speech)))
        meter.configure(setup)
        bench.clocks.pause(2 * setup.update_interval_s)
        yield _empty(meter, speech, bench)
        yield _over(meter, speech, bench)
        for code, change in (("headers", with_headers), ("short-words", short)):
            if bench.is_scpi:
                yield _alike(meter, speech, code, change, setup)
            else:
                yield not_tried(code, "If the instrument speaks SCPI, add --scpi.")
        speech.change = plain
        meter.restore()


class _NoLink:
    """Stands for a link until there is one."""

    def write(self, message: str) -> None:
        """Do nothing."""

    def query(self, message: str, timeout_ms: int | None = None) -> str:
        """Return nothing."""
        return ""

    def close(self) -> None:
        """Do nothing."""


def _meter(bench: Bench, speech: Spoken) -> Meter:
    from lpirc_power.addresses.visa_address import identity
    from lpirc_power.visa.introduction import introduction
    from lpirc_power.visa.link import Link
    from lpirc_power.visa.resources import resource_of

    resource = resource_of(bench.address)
    link = Link(resource.name, resource.backend, baud=resource.baud)
    speech.link = link
    found = identity(introduction(link, keeps_answers=resource.host is None))
    made: Meter = bench.subject.kind().meter(speech, found, bench.clocks)
    return made


def _shown(reading: Reading) -> tuple[float, ...]:
    return (
        reading.voltage_v,
        reading.current_a,
        reading.power_w,
        reading.energy_wh,
    )


def _misread(
    meter: Meter,
    speech: Spoken,
    bench: Bench,
    words: Sequence[str],
    is_number: Callable[[float], bool],
) -> list[str]:
    """Return how a driver reads words that stand for no number; `is_number` says which value is one all the same."""
    problems = []
    for word in words if bench.is_scpi else words[:1]:
        speech.change = numbers_as(word)
        bench.clocks.pause(2 * bench.interval_s)  # a driver may show its last update
        try:
            reading = meter.read()
        except MeterDriverError:
            raise
        except Exception as error:  # noqa: BLE001 - the driver's code may raise anything
            problems.append(f"{word} raises {type(error).__name__}: {error}")
            continue
        if any(map(is_number, _shown(reading))):
            problems.append(f"{word} is read as a number, {reading.power_w:.4g} W")
    speech.change = plain
    return problems


def _empty(meter: Meter, speech: Spoken, bench: Bench) -> Finding:
    def is_number(value: float) -> bool:
        return abs(value) > HUGE

    problems = _misread(meter, speech, bench, NO_DATA, is_number)
    return judged(
        "no-data",
        problems,
        "A value without data is read as NaN.",
        "NaN is no data; a run without data at its start is usual.",
    )


def _over(meter: Meter, speech: Spoken, bench: Bench) -> Finding:
    def is_number(value: float) -> bool:
        return HUGE < abs(value) < math.inf

    problems = _misread(meter, speech, bench, OVER_RANGE, is_number)
    return judged(
        "over-range",
        problems,
        "A value over range is not read as a number.",
        "Over range is infinity in the value, and over_range is True.",
    )


def _alike(
    meter: Meter, speech: Spoken, code: str, change: Change, setup: Setup
) -> Finding:
    problems = []
    calls: tuple[tuple[str, Callable[[], object]], ...] = (
        ("state", meter.state),
        ("changes", lambda: meter.changes(setup)),
        ("power", lambda: math.isnan(meter.read().power_w)),
        ("mode", lambda: meter.status().mode),
    )
    for name, call in calls:
        speech.change = plain
        before = call()
        speech.change = change
        try:
            after = call()
        except MeterDriverError:
            raise
        except (MeterError, Exception) as error:  # noqa: BLE001 - the driver's code may raise anything
            problems.append(f"`{name}` raises {type(error).__name__}: {error}")
            continue
        if after != before:
            problems.append(f"`{name}` is {after!r}, not {before!r}")
    speech.change = plain
    return judged(
        code,
        [one.removesuffix(".") for one in problems],
        "Answers in this form mean the same.",
        "Strip headers, and compare words by their short form: another program may have set the form of answers.",
    )
