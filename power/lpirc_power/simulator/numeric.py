"""Command table entries of numeric data: which values an answer contains, and how they are written."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Final

from lpirc_power.simulator.command_table import (
    Command,
    Data,
    only,
    remembered,
    setting,
    switch,
)
from lpirc_power.simulator.figures import Figures
from lpirc_power.simulator.instrument_state import (
    LAST_ITEM,
    PRESETS,
    SIGMA,
    Item,
    MeterState,
)
from lpirc_power.simulator.syntax import (
    Pattern,
    RefusedError,
    choice,
    engineering,
    integer,
    spelled,
)

MAINS_HZ: Final = 60.0
FLOAT_NO_DATA: Final = bytes.fromhex("7E951BEE")
FLOAT_OVER_RANGE: Final = bytes.fromhex("7E94F56A")
_INTEGRATED: Final = frozenset(("WH", "WHP", "WHM", "AH", "AHP", "AHM"))
_WITHOUT_ELEMENT: Final = ("TIME", "MATH")
_NO_ITEM: Final[Item] = ("NONE", 1)


def _angle(now: Figures) -> float:
    factor = now.power_factor
    return (
        math.degrees(math.acos(min(max(factor, -1.0), 1.0)))
        if math.isfinite(factor)
        else factor
    )


def _reactive(now: Figures) -> float:
    apparent_va = now.apparent_va
    factor = now.power_factor
    if not math.isfinite(apparent_va) or apparent_va == 0:
        return apparent_va
    return apparent_va * math.sqrt(max(1.0 - factor * factor, 0.0))


def _frequency(now: Figures) -> float:
    if now.voltage_v == 0:
        return math.inf  # shown as "Error"
    return MAINS_HZ if math.isfinite(now.voltage_v) else math.nan


_VALUES: Final[dict[str, Callable[[Figures], float]]] = {
    "U": lambda now: now.voltage_v,
    "I": lambda now: now.current_a,
    "P": lambda now: now.power_w,
    "S": lambda now: now.apparent_va,
    "Q": _reactive,
    "LAMBda": lambda now: now.power_factor,
    "PHI": _angle,
    "FU": _frequency,
    "FI": _frequency,
    "UPPeak": lambda now: now.voltage_peak_v,
    "UMPeak": lambda now: -now.voltage_peak_v,
    "IPPeak": lambda now: now.current_peak_a,
    "IMPeak": lambda now: -now.current_peak_a,
    "PPPeak": lambda now: now.voltage_peak_v * now.current_peak_a,
    "PMPeak": lambda now: 0.0 * now.power_w,
    "TIME": lambda now: now.elapsed_s,
    # Rounded far below what is shown, so sums that cancel out are exactly 0.
    "WH": lambda now: round(now.plus_wh + now.minus_wh, 12),
    "WHP": lambda now: now.plus_wh,
    "WHM": lambda now: now.minus_wh,
    "AH": lambda now: now.charge_ah,
    "AHP": lambda now: now.charge_ah,
    "AHM": lambda _now: 0.0,
}
_MATH: Final[dict[str, Callable[[Figures, float, float], float]]] = {
    "CFU": lambda now, _a, _b: now.voltage_peak_v / now.voltage_v,
    "CFI": lambda now, _a, _b: now.current_peak_a / now.current_a,
    "AVW": lambda now, _a, _b: (now.plus_wh + now.minus_wh) * 3600 / now.elapsed_s,
    "ADD": lambda _now, a, b: a + b,
    "SUB": lambda _now, a, b: a - b,
    "MUL": lambda _now, a, b: a * b,
    "DIV": lambda _now, a, b: a / b,
    "DIVA": lambda _now, a, b: a / (b * b),
    "DIVB": lambda _now, a, b: a * a / b,
}
MATHS: Final = "CFU1 CFU2 CFU3 CFI1 CFI2 CFI3 AVW1 AVW2 AVW3 ADD SUB MUL DIV DIVA DIVB"
FUNCTIONS: Final = (*_VALUES, "URANge", "IRANge", "MATH", "NONE")


def parse_item(meter: MeterState, data: Data) -> Item:
    """Return the function and element named by `<function>[,<element>]`.

    An element that the model does not have is refused with 222 (inferred: a value outside its bounds), and so is the
    sum on a model with one element.
    """
    if not data:
        raise RefusedError(109)
    if len(data) > 2:
        raise RefusedError(108)
    function = choice(data[0], FUNCTIONS)
    if len(data) == 1:
        return function, 1
    if data[1][:1].isalpha():
        choice(data[1], (SIGMA,))
        if len(meter.model.elements) == 1:
            raise RefusedError(222)
        return function, None
    element = integer(data[1], 1, 3)
    if element not in meter.model.elements:
        raise RefusedError(222)
    return function, element


def item_text(meter: MeterState, item: Item) -> str:
    """Return an item in the form of the meter's answer."""
    function, element = item
    name = spelled(function, meter.settings.verbose)
    if function == "NONE" or (
        meter.settings.dialect.brief and function in _WITHOUT_ELEMENT
    ):
        return name
    place = spelled(SIGMA, meter.settings.verbose) if element is None else str(element)
    return f"{name},{place}"


def items_command(
    pattern: str, most: int, items: Callable[[MeterState], dict[int, Item]], text: str
) -> Command:
    """Return the command that sets and queries the items numbered 1 to `most`."""
    return Command(
        Pattern(pattern),
        text,
        "<function>[,<element>]",
        lambda meter, suffix, _data: item_text(
            meter, items(meter).get(suffix or 1, _NO_ITEM)
        ),
        lambda meter, suffix, data: items(meter).__setitem__(
            suffix or 1, parse_item(meter, data)
        ),
        most=most,
    )


def _asked(meter: MeterState, data: Data) -> list[Item]:
    if len(data) > 1:
        raise RefusedError(108)
    wanted = (
        [integer(data[0], 1, LAST_ITEM)]
        if data
        else range(1, meter.settings.item_count + 1)
    )
    return [meter.settings.items.get(index, _NO_ITEM) for index in wanted]


def _values(meter: MeterState, _suffix: int | None, data: Data) -> str:
    settings = meter.settings
    items = _asked(meter, data)
    numbers = [_value(meter, item) for item in items]
    if settings.words.get("format") == "FLOat":
        block = b"".join(map(_single, numbers))
        length = f"{len(block)}" if settings.dialect.brief else f"{len(block):04d}"
        return f"#{len(length)}{length}" + block.decode("latin-1")
    return ",".join(
        [_ascii(item[0], value) for item, value in zip(items, numbers, strict=True)]
    )


def _value(meter: MeterState, item: Item) -> float:
    function, element = item
    worth = _VALUES.get(function)
    if worth is not None:
        return worth(meter.measuring.figures(element))
    if function == "MATH":
        return _math(meter)
    if function == "URANge":
        return meter.measuring.ranges.voltage.value()
    return meter.measuring.ranges.current.value() if function == "IRANge" else math.nan


def _displayed(meter: MeterState, place: int) -> float:
    """Return the value in a field of the display; NaN if it cannot be used in a computation."""
    function, element = meter.settings.display[place]
    worth = _VALUES.get(function)
    if worth is None:
        return math.nan
    return worth(meter.measuring.figures(element))


def _math(meter: MeterState) -> float:
    name = meter.settings.words.get("math", MATHS[:4])
    figures = meter.measuring.figures
    element = int(name[-1]) if name[-1].isdecimal() else meter.model.elements[0]
    a = _displayed(meter, 1)
    b = _displayed(meter, 2)
    try:
        return _MATH[name.rstrip("123")](figures(element), a, b)
    except ZeroDivisionError:
        return math.inf


def _span(data: Data) -> range:
    """Return the range of items selected by ALL or `<n>[,<n>]`."""
    if len(data) > 2:
        raise RefusedError(108)
    if only(data[:1]).upper() == "ALL":
        return range(1, LAST_ITEM + 1)
    first = integer(data[0], 1, LAST_ITEM)
    last = integer(data[-1], 1, LAST_ITEM)
    return range(first, last + 1)


def _clear(meter: MeterState, _suffix: int | None, data: Data) -> None:
    for index in _span(data):
        meter.settings.items.pop(index, None)


def _delete(meter: MeterState, _suffix: int | None, data: Data) -> None:
    gone = _span(data)
    items = meter.settings.items
    kept = [
        items.get(index, _NO_ITEM)
        for index in range(1, LAST_ITEM + 1)
        if index not in gone
    ]
    meter.settings.items = dict(enumerate(kept, start=1))


def _header(meter: MeterState, _suffix: int | None, data: Data) -> str:
    # As sibling instruments name them: U-E1, U-SIGMA.
    names = (item_text(meter, item) for item in _asked(meter, data))
    return ",".join(name.replace(",", "-E").replace("-ES", "-S") for name in names)


def _ascii(function: str, value: float) -> str:
    if function == "TIME":
        return str(int(value))
    return engineering(value, 6 if function in _INTEGRATED else 5)


def _single(value: float) -> bytes:
    if math.isnan(value):
        return FLOAT_NO_DATA
    return FLOAT_OVER_RANGE if math.isinf(value) else struct.pack(">f", value)


def _put_count(meter: MeterState, text: str) -> None:
    meter.settings.item_count = (
        LAST_ITEM if text.upper() == "ALL" else integer(text, 1, LAST_ITEM)
    )


NUMERIC: Final = (
    remembered(
        ":NUMeric:FORMat",
        "format",
        "ASCii FLOat",
        "Values as text, or as big-endian IEEE singles.",
    ),
    switch(":NUMeric:HOLD", "numeric_hold", "Freezes the answered values, like :HOLD."),
    setting(
        ":NUMeric[:NORMal]:NUMber",
        "{<1 to 255>|ALL}",
        lambda meter: str(meter.settings.item_count),
        _put_count,
        "How many items VALue? answers.",
    ),
    items_command(
        ":NUMeric[:NORMal]:ITEM<n>",
        LAST_ITEM,
        lambda meter: meter.settings.items,
        "Which value item n, 1 to 255, is; the element is a number or SIGMa, the sum.",
    ),
    Command(
        Pattern(":NUMeric[:NORMal]:PRESet"),
        "Sets the items to one of four preset lists; list 1 is the factory setting.",
        "<1 to 4>",
        write=lambda meter, _suffix, data: meter.settings.preset(
            PRESETS[integer(only(data), 1, 4) - 1]
        ),
    ),
    Command(
        Pattern(":NUMeric[:NORMal]:CLEar"),
        "Makes items NONE.",
        "{ALL|<n>[,<n>]}",
        write=_clear,
    ),
    Command(
        Pattern(":NUMeric[:NORMal]:DELete"),
        "Takes items out.",
        "<n>[,<n>]",
        write=_delete,
    ),
    Command(
        Pattern(":NUMeric[:NORMal]:HEADer"),
        "The names of what VALue? answers.",
        "[<n>]",
        _header,
    ),
    Command(
        Pattern(":NUMeric[:NORMal]:VALue"),
        "The values of all items up to NUMber, or of item n.",
        "[<n>]",
        _values,
    ),
)
