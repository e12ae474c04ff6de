"""What the driver sets in a meter of the WT300 family, and how each setting reads back (IM WT310-17EN)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from lpirc_power.errors import MeterRangeError
from lpirc_power.meter import (
    ALL_ELEMENTS,
    CREST_FACTORS,
    MODES,
    SYNCHRONIZE,
    Identity,
    IntegratorState,
    Setup,
    Status,
    Unconfirmed,
)  # fmt: skip
from lpirc_power.wt300 import answers
from lpirc_power.wt300.models import Model, listed

AUTOMATIC: Final = "AUTO"
LONGEST_INTERVAL_S: Final = 60.0
"""More than any meter of the family has: 20 s."""
ROUND_S: Final = 2.0
"""Every setting is asked for once in this time, or in one update if that is longer."""
Ask = Callable[[str], str]
"""Sends a query and returns its answer without a header."""


@dataclass(frozen=True)
class Setting:
    """A setting: its header, what is written behind it, and what the meter then answers to its query.

    Nothing is `expected` of what the meter may change at once, by itself.
    """

    header: str
    written: str
    expected: str | None

    @property
    def command(self) -> str:
        """The message that makes the setting."""
        return f"{self.header} {self.written}"

    @property
    def query(self) -> str:
        """The message that asks for it."""
        return f"{self.header}?"

    def holds(self, answer: str) -> bool:
        """Whether an answer to the query confirms the setting."""
        return self.expected is None or answers.same(answer, self.expected)

    def contradicts(self, answer: str) -> bool:
        """Whether an answer says that something else is set; text without meaning does not."""
        return not self.holds(answer) and answers.understood(
            answer, self.expected or ""
        )


def difference(setting: Setting, answer: str) -> str:
    """Return, as one phrase, how an answer differs from a setting; `Unconfirmed` if it has no meaning."""
    if setting.contradicts(answer):
        return f"{setting.command} was set, it is {answer}"
    return Unconfirmed(f"{setting.command} was set, it answered {answer!r}")


LONGEST_TIMER_S: Final = 10000 * 3600
_ITEM: Final = ":NUMERIC:NORMAL:ITEM"
AVERAGING: Final = ":MEASURE:AVERAGING:STATE"
SCALING: Final = ":INPUT:SCALING:STATE"
NUMERIC_HOLD: Final = ":NUMERIC:HOLD"
MAXIMUM_HOLD: Final = ":MEASURE:MHOLD"
PANEL_LOCKS: Final = (
    (":COMMUNICATE:REMOTE", ":COMMUNICATE:LOCKOUT"),
    (":SYSTEM:KLOCK",),
)
"""What locks the keys of a panel, the last of each alone; the first that a meter knows is used."""
OPTIONAL: Final = (
    AVERAGING,
    SCALING,
    NUMERIC_HOLD,
    MAXIMUM_HOLD,
    *(lock[-1] for lock in PANEL_LOCKS),
)
"""Averaging and both holds are known from public drivers only, scaling by a transformer's ratio by name only, locks of
the panel are untried: a meter without them is used as it is."""

_WIRING: Final = ":INPUT:WIRING"
_MEASURING: Final = (
    # In the order in which they are restored: the crest factor forces both ranges to their maximum, and a range
    # that is set ends automatic ranging.
    *(
        ":INPUT:CFACTOR",
        ":INPUT:MODE",
        ":INPUT:FILTER:LINE",
        ":INPUT:FILTER:FREQUENCY",
        ":INPUT:SYNCHRONIZE",
    ),
    *(
        ":INPUT:VOLTAGE:RANGE",
        ":INPUT:VOLTAGE:AUTO",
        ":INPUT:CURRENT:RANGE",
        ":INPUT:CURRENT:AUTO",
    ),
    *(":RATE", ":INTEGRATE:MODE", ":INTEGRATE:TIMER"),
    *(AVERAGING, SCALING, NUMERIC_HOLD, MAXIMUM_HOLD, ":HOLD"),
)
_AUTOMATIC: Final = {
    f":INPUT:{node}:RANGE": f":INPUT:{node}:AUTO" for node in ("VOLTAGE", "CURRENT")
}
HOLDS: Final = tuple(
    Setting(header, "OFF", "OFF") for header in (":HOLD", NUMERIC_HOLD, MAXIMUM_HOLD)
)
"""What makes a meter answer values of some time ago, or their maxima, as if they were readings."""
TALKING: Final = (
    Setting(":COMMUNICATE:HEADER", "OFF", "OFF"),
    Setting(":COMMUNICATE:VERBOSE", "ON", "ON"),
)
"""Plain values in long words. *RST leaves both alone, so they are always set."""
FORMAT: Final = Setting(":NUMERIC:FORMAT", "ASCII", "ASCII")
_FILTER: Final = ":STATUS:FILTER"
TELLING: Final = (Setting(f"{_FILTER}1", "FALL", "FALL"), FORMAT)
"""The end of an update as an event, and values as text."""


def measuring_headers(model: Model) -> tuple[str, ...]:
    """Return the settings that `measuring` may change, in the order in which they can be restored."""
    return _MEASURING if len(model.elements) == 1 else (_WIRING, *_MEASURING)


def latches(flags: answers.Flags) -> tuple[Setting, ...]:
    """Return the settings that latch, until the next sample, that integrating ended or that one of the flags rose."""
    # The filter of a bit of the condition register has the number after the bit's.
    return (
        plain(f"{_FILTER}2", "FALL"),
        *(plain(f"{_FILTER}{bit + 1}", "RISE") for bit in flags.bits),
    )


def plain(header: str, written: str) -> Setting:
    """Return a setting that reads back as it is written."""
    return Setting(header, written, written)


def item(place: int, function: str) -> Setting:
    """Return the setting that makes a function of an element ("U,1") the item of a place, 1 to 255."""
    return plain(f"{_ITEM}{place}", function)


def sample_number(count: int) -> Setting:
    """Return how many items an answer of values carries, from the first on."""
    return plain(":NUMERIC:NORMAL:NUMBER", str(count))


def sample_items(
    functions: Sequence[str], element: str, first: int
) -> tuple[Setting, ...]:
    """Return functions of one element, or of the "sum", as the items from a place on."""
    # The integrator is one for all elements, so TIME goes without; ranges are common to them, and have no sum.
    whole = {"TIME": "TIME"}
    if element == ALL_ELEMENTS:
        whole |= {"URANGE": "URANGE,1", "IRANGE": "IRANGE,1"}
    named = "SIGMA" if element == ALL_ELEMENTS else element
    items = (whole.get(function, f"{function},{named}") for function in functions)
    return tuple(item(place, text) for place, text in enumerate(items, start=first))


def measuring(setup: Setup, model: Model) -> tuple[Setting, ...]:
    """Return the settings of a measurement; MeterError `meter-range` for what the model does not have."""
    mode = _word(setup.mode, MODES, "mode")
    synchronization = _word(setup.synchronize, SYNCHRONIZE, "synchronisation")
    crest_factor = setup.crest_factor
    if crest_factor not in CREST_FACTORS:
        raise MeterRangeError(
            f"The meter has no crest factor {crest_factor}; it has 3 and 6."
        )
    rate_s = listed(setup.update_interval_s, model.rates_s, "update interval", "s")
    return (
        *HOLDS,
        plain(":INPUT:CFACTOR", str(crest_factor)),
        plain(":INPUT:MODE", mode),
        plain(":INPUT:FILTER:LINE", _on(setup.line_filter)),
        plain(":INPUT:FILTER:FREQUENCY", _on(setup.frequency_filter)),
        plain(":INPUT:SYNCHRONIZE", synchronization),
        *([plain(_WIRING, model.sum_wiring)] if setup.element == ALL_ELEMENTS else []),
        *_range(
            "VOLTAGE", "V", setup.voltage_range_v, model.voltage_ranges_v(crest_factor)
        ),
        *_range(
            "CURRENT", "A", setup.current_range_a, model.current_ranges_a(crest_factor)
        ),
        Setting(":RATE", f"{rate_s * 1000:.0f}MS", f"{rate_s:g}"),
        plain(":INTEGRATE:MODE", "NORMAL"),
        plain(":INTEGRATE:TIMER", _timer(setup.integrator_timer_s)),
        plain(AVERAGING, "OFF"),
        plain(SCALING, "OFF"),
    )


def _range(
    node: str, unit: str, wanted: float | None, choices: tuple[float, ...]
) -> list[Setting]:
    auto = f":INPUT:{node}:AUTO"
    if wanted is None:
        return [plain(auto, "ON")]
    value = listed(wanted, choices, f"{node.lower()} range", unit)
    written = f"{value:g}{unit}" if value >= 1 else f"{value * 1000:g}M{unit}"
    return [plain(auto, "OFF"), Setting(f":INPUT:{node}:RANGE", written, f"{value:g}")]


def _word(wanted: str, words: Sequence[str], what: str) -> str:
    if wanted not in words:
        raise MeterRangeError(
            f"The meter has no {what} {wanted!r}; it has {', '.join(words)}."
        )
    return wanted.upper()


def _timer(timer_s: int) -> str:
    if not 0 <= timer_s <= LONGEST_TIMER_S:
        raise MeterRangeError(
            f"The integrator's timer cannot be {timer_s} s; it takes 0 to {LONGEST_TIMER_S} s."
        )
    minutes, seconds = divmod(timer_s, 60)
    return f"{minutes // 60},{minutes % 60},{seconds}"


def _on(wanted: bool) -> str:
    return "ON" if wanted else "OFF"


class FormerSettings:
    """The settings found in a meter, each as it was when it was first asked for.

    Give the same one to every `Wt300` that is opened on a meter: a driver made after a lost link finds what an
    earlier one has set, not what was there before. `is_due` says that the meter was set up, and the settings are to be
    restored; `undone` is what differed from the run's and was put right before its final reading; `locks` keeps its
    panel locked; `events` are those that the meter has reported, and so forgotten, since the last update that was read.
    """

    def __init__(self) -> None:
        self.is_due = False
        self.undone: list[str] = []
        self.locks: tuple[Setting, ...] = ()
        self.events = 0
        self._owner: Identity | None = None
        self._found: dict[str, str] = {}

    def belong_to(self, identity: Identity) -> None:
        """Forget everything if it was found in another meter."""
        if self._owner != identity:
            self.forget()
            self._owner = identity

    def forget(self) -> None:
        """Forget everything; the next settings that are kept are the former ones."""
        self._found.clear()
        self.undone.clear()
        self.locks = ()
        self.events = 0
        self.is_due = False

    def keep(
        self, headers: Iterable[str], ask: Callable[[Sequence[str]], Sequence[str]]
    ) -> None:
        """Ask for every setting that is not known yet, by its header; `ask` answers many questions."""
        unknown = [header for header in headers if header not in self._found]
        self._found.update(
            zip(unknown, ask([f"{header}?" for header in unknown]), strict=True)
        )

    def settings(self, first: Sequence[str]) -> list[Setting]:
        """Return those of `first` in its order, then the others, and last how the meter answers.

        A range is not insisted on where the meter chose it: setting it again would end automatic ranging.
        """
        measuring = [header for header in first if header in self._found]
        talking = [header for header in self._found if header not in first]
        talking.sort(key=lambda header: header.startswith(":COMMUNICATE"))
        chosen = {
            ranging
            for ranging, auto in _AUTOMATIC.items()
            if answers.same(self._found.get(auto, ""), "ON")
        }
        return [
            Setting(
                header,
                self._found[header],
                None if header in chosen else self._found[header],
            )
            for header in (*measuring, *talking)
        ]


def status(
    ask: Ask,
    model: Model,
    state: Callable[[], IntegratorState],
    errors: Callable[[], tuple[str, ...]],
) -> Status:
    """Return the present settings, the integrator's state, and last the errors, those of the questions included."""
    return Status(
        voltage_range_v=_present_range(ask(":INPUT:VOLTAGE:RANGE?")),
        voltage_auto=answers.boolean(ask(":INPUT:VOLTAGE:AUTO?")),
        current_range_a=_present_range(ask(":INPUT:CURRENT:RANGE?")),
        current_auto=answers.boolean(ask(":INPUT:CURRENT:AUTO?")),
        update_interval_s=interval_s(ask, model),
        mode=_named(MODES, ask(":INPUT:MODE?")),
        crest_factor=crest_factor(ask),
        line_filter=answers.boolean(ask(":INPUT:FILTER:LINE?")),
        frequency_filter=answers.boolean(ask(":INPUT:FILTER:FREQUENCY?")),
        synchronize=_named(SYNCHRONIZE, ask(":INPUT:SYNCHRONIZE?")),
        state=state(),
        errors=errors(),
    )


def crest_factor(ask: Ask) -> int:
    """Return the crest factor, 3 or 6."""
    # E models have a third one, A6: that of 6 with automatic ranging that looks at the rms value only.
    return 6 if ask(":INPUT:CFACTOR?").upper() in ("6", "A6") else 3


def interval_s(ask: Ask, model: Model) -> float:
    """Return the update interval."""
    # E models can follow the signal's period; no other figure than the shortest interval is known then.
    answer = ask(":RATE?")
    interval_s = (
        model.rates_s[0] if answer.upper() == AUTOMATIC else answers.value(answer)
    )
    if not 0 < interval_s <= LONGEST_INTERVAL_S:
        raise answers.strange(answer, "an update interval")
    return interval_s


def _present_range(answer: str) -> float:
    # EXTERNAL,0.05: the range of a current sensor at the socket for one, in volts; no amperes are known then.
    return math.nan if answer.upper().startswith("EXT") else answers.value(answer)


def _named(words: Sequence[str], answer: str) -> str:
    # Short words are beginnings of the long ones; none of those of a setting begins another.
    short = answer.lower()
    return next((word for word in words if short and word.startswith(short)), short)


class Watch:
    """The settings of a run, asked for in turn with its updates: one that changes in mid-run shows within seconds."""

    def __init__(self, settings: Sequence[Setting], interval_s: float) -> None:
        self._interval_s = interval_s
        self._begin(settings)

    def _begin(self, settings: Sequence[Setting]) -> None:
        self._settings = tuple(settings)
        self._turns = itertools.cycle(self._settings)
        self._at_once = min(
            len(settings), math.ceil(len(settings) * self._interval_s / ROUND_S)
        )

    def add(self, settings: Sequence[Setting]) -> None:
        """Watch these settings too; those that are watched already are not asked for twice."""
        new = [one for one in settings if one not in self._settings]
        if new:
            self._begin([*self._settings, *new])

    def differing(self, query: Ask) -> str:
        """Ask for the next settings, in one message; return what differs from them, "" if nothing does."""
        asked = list(itertools.islice(self._turns, self._at_once))
        # An answer that got lost or garbled on its way is not a setting that was changed.
        return _differing(asked, query) and _differing(asked, query)


def _differing(asked: Sequence[Setting], query: Ask) -> str:
    answer = query(";".join(setting.query for setting in asked))
    found = answers.parts(answer)
    if len(found) != len(asked):
        return f"the settings cannot be read back (the meter answers {answer!r})"
    return "; ".join(
        f"{setting.command} was set, it is {one}"
        for setting, one in zip(asked, found, strict=True)
        if setting.contradicts(one)
    )
