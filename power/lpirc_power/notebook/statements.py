"""What a person states in Python of a file that does not say it: the options of `meter check` as arguments."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypedDict

from lpirc_power.errors import MeterError
from lpirc_power.foreign.decimal_sign import SIGNS
from lpirc_power.foreign.foreign_recording import Reader
from lpirc_power.measurement_files.any_measurement import UNSTATED, Stated
from lpirc_power.reading_problem import is_number
from lpirc_power.record.setup_values import require_setup_values


class Statements(TypedDict, total=False):
    """How a file of another program is read, and the meter that made it, with its setup in the names of `open_meter`.

    `columns` is "power:mW=Load,time=Stamp", `interval_s` the seconds from reading to reading of a file without times,
    `decimal` its decimal sign; `model`, as "WT310E", states the limits of error.
    """

    columns: str
    interval_s: float
    decimal: str
    model: str
    voltage_range_v: float | None
    current_range_a: float | None
    update_interval_s: float
    mode: str
    crest_factor: int
    line_filter: bool
    frequency_filter: bool
    synchronize: str
    element: str
    ambient_change_c: float


def stated_of(given: Statements) -> Stated:
    """Return what is stated.

    Raises MeterError `recording-stated` for columns, an interval, a decimal sign or a model that cannot be,
    MeterRangeError for a setup that cannot be, TypeError for an argument that there is not.
    """
    settings = dict(given)
    columns = given.get("columns", "")
    interval_s = given.get("interval_s")
    decimal = given.get("decimal")
    model = given.get("model")
    if not isinstance(columns, str):
        raise _wrong(
            f'columns is {columns!r:.60}; give a text as "power:mW=Load,time=Stamp"'
        )
    if not isinstance(model, str | None):
        raise _wrong(f'model is {model!r:.60}; give a text as "WT310E"')
    if not (interval_s is None or is_number(interval_s)):
        raise _wrong(f"interval_s is {interval_s!r:.60}, not a number")
    for name in ("columns", "interval_s", "decimal", "model"):
        settings.pop(name, None)
    setup = replace(UNSTATED, **settings)  # type: ignore[arg-type]
    require_setup_values(setup)
    if interval_s is not None and not 0 < interval_s < math.inf:
        raise _wrong(f"interval_s is {interval_s:g}; give the seconds between readings")
    if decimal is not None and decimal not in SIGNS:
        raise _wrong(f"decimal is {decimal!r}; give {' or '.join(map(repr, SIGNS))}")
    reader = Reader(columns, interval_s, setup.mode == "dc", decimal)
    is_interval_stated = "update_interval_s" in settings
    return Stated(reader, setup, model, is_interval_stated)


def _wrong(said: str) -> MeterError:
    return MeterError("recording-stated", f"{said}.")
