"""Refuses readings of several devices, and a power that cannot be in the unit that it is taken in. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lpirc_power.errors import MeterError
from lpirc_power.foreign.column_names import Column, plain_name
from lpirc_power.foreign.table_reader import ForeignTable

OF_DEVICE: Final = frozenset(
    (
        "index", "gpu", "gpu index", "gpu name", "gpu uuid", "uuid", "pci bus id", "name", "entity id", "device",
        "device id", "device name", "sensor", "sensor id", "meter", "channel", "rail", "domain", "socket", "host",
        "hostname", "node", "serial", "serial number", "plug", "outlet",
    )
)  # fmt: skip
"""Plain heads of columns that say which device a reading is of."""
MOST: Final = 2.0
"""Ratio of a power to voltage x current that no error of a meter explains: the power is in another unit."""
UNITS_BY_RATIO: Final = {1e3: "mW", 1e6: "uW", 1e-3: "kW"}


def require_one_device(table: ForeignTable, used: Collection[int]) -> None:
    """Raise MeterError `recording-columns` if an unused column names several devices, each in several readings."""
    for place, head in enumerate(table.heads):
        if place in used or plain_name(head) not in OF_DEVICE:
            continue
        lines: dict[str, int] = {}
        for line, cells in table.rows:
            lines.setdefault(cells[place], line)
        if 1 < len(lines) < len(table.rows):
            (one, first), (other, second), *_ = lines.items()
            raise MeterError(
                "recording-columns",
                f"{table.path} holds several devices: {head!r} is {one[:40]!r} in line {first} and {other[:40]!r} in "
                f"line {second}; keep the heading and the lines of one, as with grep.",
            )


def require_its_scale(
    table: ForeignTable,
    columns: Mapping[str, Column],
    values: Mapping[str, NDArray[np.float64]],
) -> None:
    """Raise MeterError `recording-columns` if a power whose unit is not stated exceeds voltage x current by far."""
    power = columns.get("power")
    if power is None or power.is_stated or not {"voltage", "current"} <= values.keys():
        return
    product_va = np.abs(values["voltage"] * values["current"])
    power_w = np.abs(values["power"])
    known = np.isfinite(product_va) & np.isfinite(power_w) & (product_va > 0.0)
    if not known.any():
        return
    ratio = float(np.median(power_w[known] / product_va[known]))
    if ratio <= MOST:
        return
    near = min(UNITS_BY_RATIO, key=lambda one: abs(math.log(ratio / one)))
    raise MeterError(
        "recording-columns",
        f"{table.path}: the power {power.head!r}, taken as W, is {ratio:.4g} times voltage x current, which no load "
        f"can draw; state its unit, as --columns power:{UNITS_BY_RATIO[near]}={power.head}, or that of the current.",
    )
