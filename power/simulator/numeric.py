"""The table's entries of numeric data: which values an answer carries, and how they are written."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Final

from power.simulator.command import Command, Data, flag, setting, word
from power.simulator.measuring import Figures
from power.simulator.state import LAST_ITEM, SIGMA, Item, MeterState
from power.simulator.syntax import Pattern, RefusedError, choice, engineering, integer, spelled

MAINS_HZ: Final = 60.0
FLOAT_NO_DATA: Final = bytes.fromhex("7E951BEE")
FLOAT_OVER_RANGE: Final = bytes.fromhex("7E94F56A")
_INTEGRATED: Final = frozenset(("WH", "WHP", "WHM", "AH", "AHP", "AHM"))
_NO_ITEM: Final[Item] = ("NONE", 1)


def _angle(now: Figures) -> float:
    factor = now.power_factor
    return math.degrees(math.acos(min(max(factor, -1.0), 1.0))) if math.isfinite(factor) else factor


def _reactive(now: Figures) -> float:
    apparent_va, factor = now.apparent_va, now.power_factor
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
FUNCTIONS: Final = (*_VALUES, "URANge", "IRANge", "NONE")


def parse_item(meter: MeterState, data: Data) -> Item:
    """Return the function and element that `<function>[,<element>]` names.

    An element the model does not have is refused with 222 (inferred: a value outside its bounds); so is the
    sum on a model of one element.
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
    """Return an item as the meter answers it."""
    function, element = item
    name = spelled(function, meter.settings.verbose)
    if function == "NONE":
        return name
    place = spelled(SIGMA, meter.settings.verbose) if element is None else str(element)
    return f"{name},{place}"


def _item_index(suffix: int | None) -> int:
    if suffix is None or not 1 <= suffix <= LAST_ITEM:
        raise RefusedError(114)
    return suffix


def _item(meter: MeterState, suffix: int | None, _data: Data) -> str:
    return item_text(meter, meter.settings.items.get(_item_index(suffix), _NO_ITEM))


def _put_item(meter: MeterState, suffix: int | None, data: Data) -> None:
    meter.settings.items[_item_index(suffix)] = parse_item(meter, data)


def _values(meter: MeterState, _suffix: int | None, data: Data) -> str:
    settings = meter.settings
    if len(data) > 1:
        raise RefusedError(108)
    wanted = [integer(data[0], 1, LAST_ITEM)] if data else range(1, settings.item_count + 1)
    items = [settings.items.get(index, _NO_ITEM) for index in wanted]
    numbers = [_value(meter, item) for item in items]
    if settings.float_format:
        block = b"".join(map(_single, numbers))
        return f"#4{len(block):04d}" + block.decode("latin-1")
    return ",".join([_ascii(item[0], value) for item, value in zip(items, numbers, strict=True)])


def _value(meter: MeterState, item: Item) -> float:
    function, element = item
    worth = _VALUES.get(function)
    if worth is not None:
        return worth(meter.measuring.figures(element))
    if function == "URANge":
        return meter.measuring.ranges.voltage.value()
    return meter.measuring.ranges.current.value() if function == "IRANge" else math.nan


def _ascii(function: str, value: float) -> str:
    if function == "TIME":
        return str(int(value))
    return engineering(value, 6 if function in _INTEGRATED else 5)


def _single(value: float) -> bytes:
    if math.isnan(value):
        return FLOAT_NO_DATA
    return FLOAT_OVER_RANGE if math.isinf(value) else struct.pack(">f", value)


NUMERIC: Final = (
    word(
        ":NUMeric:FORMat",
        ("ASCii", "FLOat"),
        lambda meter: "FLOat" if meter.settings.float_format else "ASCii",
        lambda meter, given: setattr(meter.settings, "float_format", given == "FLOat"),
        "Values as text, or as a block of big-endian IEEE singles.",
    ),
    flag(
        ":NUMeric:HOLD",
        lambda meter: meter.settings.numeric_hold,
        lambda meter, on: meter.set_hold("numeric_hold", on),
        "Freezes what is answered, like :HOLD.",
    ),
    setting(
        ":NUMeric[:NORMal]:NUMber",
        "<1 to 255>",
        lambda meter: str(meter.settings.item_count),
        lambda meter, given: setattr(meter.settings, "item_count", integer(given, 1, LAST_ITEM)),
        "How many items VALue? answers.",
    ),
    Command(
        Pattern(":NUMeric[:NORMal]:ITEM<n>"),
        "Which value item n, 1 to 255, is; the element is a number or SIGMa, the sum.",
        "<function>[,<element>]",
        _item,
        _put_item,
    ),
    Command(
        Pattern(":NUMeric[:NORMal]:VALue"),
        "The values of all items up to NUMber, or of item n.",
        "[<n>]",
        _values,
    ),
)
