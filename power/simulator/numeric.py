"""The NUMeric group: which values an answer carries, and how they are written."""

from __future__ import annotations

import math
import struct
from typing import Final

from power.simulator.refusals import RefusedError
from power.simulator.settings import LAST_ITEM
from power.simulator.state import MeterState
from power.simulator.values import choice, engineering, integer, spelled

FUNCTIONS: Final = (
    *("U", "I", "P", "S", "Q", "LAMBda", "PHI", "FU", "FI"),
    *("UPPeak", "UMPeak", "IPPeak", "IMPeak", "PPPeak", "PMPeak"),
    *("TIME", "WH", "WHP", "WHM", "AH", "AHP", "AHM", "URANge", "IRANge", "NONE"),
)
MAINS_HZ: Final = 60.0
FLOAT_NO_DATA: Final = bytes.fromhex("7E951BEE")
FLOAT_OVER_RANGE: Final = bytes.fromhex("7E94F56A")


def number_format(meter: MeterState) -> str:
    """Answer :NUMeric:FORMat?."""
    return spelled("FLOat" if meter.settings.float_format else "ASCii", meter.settings.verbose)


def put_number_format(meter: MeterState, text: str) -> None:
    """Obey :NUMeric:FORMat."""
    meter.settings.float_format = choice(text, ("ASCii", "FLOat")) == "FLOat"


def item_count(meter: MeterState) -> str:
    """Answer :NUMeric:NUMber?."""
    return str(meter.settings.item_count)


def put_item_count(meter: MeterState, text: str) -> None:
    """Obey :NUMeric:NUMber."""
    meter.settings.item_count = integer(text, 1, LAST_ITEM)


def item(meter: MeterState, suffix: int | None, _data: tuple[str, ...]) -> str:
    """Answer :NUMeric:ITEM<n>?."""
    function = meter.settings.items.get(_item_index(suffix), "NONE")
    word = spelled(function, meter.settings.verbose)
    return word if function == "NONE" else f"{word},1"


def put_item(meter: MeterState, suffix: int | None, data: tuple[str, ...]) -> None:
    """Obey :NUMeric:ITEM<n> <function>[,<element>]; this model has element 1 only."""
    if not data:
        raise RefusedError(109)
    if len(data) > 2:
        raise RefusedError(108)
    function = choice(data[0], FUNCTIONS)
    if len(data) == 2:
        integer(data[1], 1, 1)
    meter.settings.items[_item_index(suffix)] = function


def values(meter: MeterState, _suffix: int | None, data: tuple[str, ...]) -> str:
    """Answer :NUMeric:VALue? [n]: all items up to NUMber, or the one asked for."""
    last = meter.settings.item_count
    wanted = [integer(data[0], 1, LAST_ITEM)] if data else list(range(1, last + 1))
    functions = [meter.settings.items.get(index, "NONE") for index in wanted]
    numbers = [_value(meter, function) for function in functions]
    if meter.settings.float_format:
        block = b"".join(_single(value) for value in numbers)
        return f"#4{len(block):04d}" + block.decode("latin-1")
    return ",".join(_ascii(function, value) for function, value in zip(functions, numbers, strict=True))


def _item_index(suffix: int | None) -> int:
    if suffix is None or not 1 <= suffix <= LAST_ITEM:
        raise RefusedError(114)
    return suffix


def _ascii(function: str, value: float) -> str:
    if function == "TIME":
        return str(int(value))
    return engineering(value, 6 if function in ("WH", "WHP", "AH", "AHP", "WHM", "AHM") else 5)


def _single(value: float) -> bytes:
    if math.isnan(value):
        return FLOAT_NO_DATA
    return FLOAT_OVER_RANGE if math.isinf(value) else struct.pack(">f", value)


def _value(meter: MeterState, function: str) -> float:
    measured, integral = _measured(meter), _integrated(meter)
    return measured.get(function, integral.get(function, math.nan))


def _integrated(meter: MeterState) -> dict[str, float]:
    measuring = meter.measuring
    return {
        # Stretches of time add up to a hair less than a whole second.
        "TIME": math.floor(measuring.elapsed_s + 1e-6),
        "WH": measuring.energy_wh,
        "WHP": measuring.energy_wh,
        "WHM": 0.0,
        "AH": measuring.charge_ah,
        "AHP": measuring.charge_ah,
        "AHM": 0.0,
        "URANge": measuring.ranges.voltage_v(),
        "IRANge": measuring.ranges.current_a(),
    }


def _measured(meter: MeterState) -> dict[str, float]:
    now = meter.measuring.values
    factor = now.power_factor
    angle = math.degrees(math.acos(min(max(factor, -1.0), 1.0))) if math.isfinite(factor) else math.nan
    frequency_hz = MAINS_HZ if math.isfinite(now.voltage_v) else math.nan
    return {
        "U": now.voltage_v,
        "I": now.current_a,
        "P": now.power_w,
        "S": now.apparent_va,
        "Q": now.apparent_va * math.sin(math.radians(angle)),
        "LAMBda": factor,
        "PHI": angle,
        "FU": frequency_hz,
        "FI": frequency_hz,
        "UPPeak": now.voltage_v * math.sqrt(2.0),
        "UMPeak": -now.voltage_v * math.sqrt(2.0),
        "IPPeak": now.current_a * math.sqrt(2.0),
        "IMPeak": -now.current_a * math.sqrt(2.0),
        "PPPeak": 2.0 * now.power_w,
        "PMPeak": 0.0 * now.power_w,
    }
