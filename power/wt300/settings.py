"""What the driver sets in a meter of the WT300 family, and how each setting reads back (IM WT310-17EN)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from power.errors import MeterRangeError
from power.meter import ALL_ELEMENTS, Setup
from power.wt300 import answers
from power.wt300.models import Model, listed


@dataclass(frozen=True)
class Setting:
    """A setting: its header, what is written behind it, and what the meter then answers to its query."""

    header: str
    written: str
    expected: str

    @property
    def command(self) -> str:
        """The message that makes the setting."""
        return f"{self.header} {self.written}"

    @property
    def query(self) -> str:
        """The message that asks for it."""
        return f"{self.header}?"

    def holds(self, answer: str) -> bool:
        """Whether an answer to the query tells that the setting holds."""
        return answers.same(answer, self.expected)


MODES: Final = {"rms": "RMS", "vmean": "VMEAN", "dc": "DC"}
SYNCHRONIZATIONS: Final = {"voltage": "VOLTAGE", "current": "CURRENT", "off": "OFF"}
CREST_FACTORS: Final = (3, 6)
LONGEST_TIMER_S: Final = 10000 * 3600
_ITEM: Final = ":NUMERIC:NORMAL:ITEM"
AVERAGING: Final = ":MEASURE:AVERAGING:STATE"
SCALING: Final = ":INPUT:SCALING:STATE"
OPTIONAL: Final = (AVERAGING, SCALING)
"""Settings of which only public drivers for this family tell (averaging), or of which the manual at hand shows no more
than that they exist (scaling, by the ratio of a transformer): a meter that does not know one is used without it."""

_WIRING: Final = ":INPUT:WIRING"
_MEASURING: Final = (
    # In the order in which they are put back: the crest factor forces both ranges to their maximum, and a range
    # that is set ends automatic ranging.
    *(":INPUT:CFACTOR", ":INPUT:MODE", ":INPUT:FILTER:LINE", ":INPUT:FILTER:FREQUENCY", ":INPUT:SYNCHRONIZE"),
    *(":INPUT:VOLTAGE:RANGE", ":INPUT:VOLTAGE:AUTO", ":INPUT:CURRENT:RANGE", ":INPUT:CURRENT:AUTO"),
    *(":RATE", ":INTEGRATE:MODE", ":INTEGRATE:TIMER"),
    *(AVERAGING, SCALING, ":HOLD"),
)
HOLD_OFF: Final = Setting(":HOLD", "OFF", "OFF")
FORMAT: Final = Setting(":NUMERIC:FORMAT", "ASCII", "ASCII")
TELLING: Final = (Setting(":STATUS:FILTER1", "FALL", "FALL"), FORMAT)
"""The end of an update as an event, and values as text."""


def measuring_headers(model: Model) -> tuple[str, ...]:
    """Return the settings that `measuring` may change, in the order in which they can be put back."""
    return _MEASURING if len(model.elements) == 1 else (_WIRING, *_MEASURING)


def plain(header: str, written: str) -> Setting:
    """Return a setting that reads back as it is written."""
    return Setting(header, written, written)


def talking() -> tuple[Setting, ...]:
    """Return how the two talk: plain values in long words, as text, and the end of an update as an event.

    *RST leaves headers and word length alone, so both are always set.
    """
    return (
        plain(":COMMUNICATE:HEADER", "OFF"),
        plain(":COMMUNICATE:VERBOSE", "ON"),
        *TELLING,
    )


def item(place: int, function: str) -> Setting:
    """Return the setting that makes a function of an element ("U,1") the item of a place, 1 to 255."""
    return plain(f"{_ITEM}{place}", function)


def sample_number(count: int) -> Setting:
    """Return how many items an answer of values carries, from the first on."""
    return plain(":NUMERIC:NORMAL:NUMBER", str(count))


def sample_items(functions: Sequence[str], element: str, first: int) -> tuple[Setting, ...]:
    """Return functions of one element, or of the "sum", as the items from a place on."""
    named = "SIGMA" if element == ALL_ELEMENTS else element
    # The integrator is one for all elements; whether TIME takes SIGMA the manual does not say, so ask element 1.
    items = [f"{function},{'1' if function == 'TIME' else named}" for function in functions]
    return tuple(item(place, text) for place, text in enumerate(items, start=first))


def measuring(setup: Setup, model: Model) -> tuple[Setting, ...]:
    """Return the settings of a measurement; MeterError `meter-range` for what the model does not have."""
    mode = _word(setup.mode, MODES, "mode")
    synchronization = _word(setup.synchronize, SYNCHRONIZATIONS, "synchronisation")
    crest_factor = _crest_factor(setup.crest_factor)
    rate_s = listed(setup.update_interval_s, model.rates_s, "update interval", "s")
    return (
        HOLD_OFF,
        plain(":INPUT:CFACTOR", str(crest_factor)),
        plain(":INPUT:MODE", mode),
        plain(":INPUT:FILTER:LINE", _on(setup.line_filter)),
        plain(":INPUT:FILTER:FREQUENCY", _on(setup.frequency_filter)),
        plain(":INPUT:SYNCHRONIZE", synchronization),
        *([plain(_WIRING, model.sum_wiring)] if setup.element == ALL_ELEMENTS else []),
        *_range("VOLTAGE", "V", setup.voltage_range_v, model.voltage_ranges_v(crest_factor)),
        *_range("CURRENT", "A", setup.current_range_a, model.current_ranges_a(crest_factor)),
        Setting(":RATE", f"{rate_s * 1000:.0f}MS", f"{rate_s:g}"),
        plain(":INTEGRATE:MODE", "NORMAL"),
        plain(":INTEGRATE:TIMER", _timer(setup.integrator_timer_s)),
        plain(AVERAGING, "OFF"),
        plain(SCALING, "OFF"),
    )


def _range(node: str, unit: str, wanted: float | None, choices: tuple[float, ...]) -> list[Setting]:
    auto = f":INPUT:{node}:AUTO"
    if wanted is None:
        return [plain(auto, "ON")]
    value = listed(wanted, choices, f"{node.lower()} range", unit)
    written = f"{value:g}{unit}" if value >= 1 else f"{value * 1000:g}M{unit}"
    return [plain(auto, "OFF"), Setting(f":INPUT:{node}:RANGE", written, f"{value:g}")]


def _crest_factor(wanted: int) -> int:
    if wanted not in CREST_FACTORS:
        raise MeterRangeError(f"The meter has no crest factor {wanted}; it has 3 and 6.", value=wanted)
    return wanted


def _word(wanted: str, words: dict[str, str], what: str) -> str:
    if wanted not in words:
        raise MeterRangeError(f"The meter has no {what} {wanted!r}; it has {', '.join(words)}.", value=wanted)
    return words[wanted]


def _timer(timer_s: int) -> str:
    if not 0 <= timer_s <= LONGEST_TIMER_S:
        raise MeterRangeError(
            f"The integrator's timer cannot be {timer_s} s; it takes 0 to {LONGEST_TIMER_S} s.",
            value=timer_s,
        )
    minutes, seconds = divmod(timer_s, 60)
    return f"{minutes // 60},{minutes % 60},{seconds}"


def _on(wanted: bool) -> str:
    return "ON" if wanted else "OFF"
