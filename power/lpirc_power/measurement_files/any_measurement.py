"""A measurement from whichever file: ours with or without its record, a series, a group, or another program's."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from lpirc_power.errors import MeterError
from lpirc_power.foreign.file_kind import kind_of
from lpirc_power.foreign.foreign_recording import Reader
from lpirc_power.measurement_files.foreign_measurement import (
    foreign_recorded,
    limits_of_model,
)
from lpirc_power.measurement_files.recorded_files import Group, Series, read_measurement
from lpirc_power.meter import Identity, Setup
from lpirc_power.presence import is_there
from lpirc_power.record.record_file import has_record, is_json, record_path
from lpirc_power.recording import (
    COLUMNS,
    COLUMNS_2015,
    FORMER_COLUMNS,
    require_file,
)
from lpirc_power.report.recording_report import UNKNOWN, Recorded

UNSTATED: Final = Setup(None, None, 0.25, 0)
FIRST_BYTES: Final = 4096
OF_READINGS: Final = ("", ".csv")
"""Endings of the name that was given to a series or to several meters."""
LINE_END: Final = re.compile(r"[\r\n]")


@dataclass(frozen=True)
class Stated:
    """What a person states of a file that does not say it: how it is read, and the meter with its setup.

    The update interval of `setup` counts if `is_interval_stated`; else it is the median pause between readings.
    """

    reader: Reader = field(default_factory=Reader)
    setup: Setup = UNSTATED
    model: str | None = None
    is_interval_stated: bool = False


def read_any(path: Path, stated: Stated | None = None) -> Recorded | Series | Group:
    """Return the measurement in a file.

    Raises MeterError: those of `read_measurement` and of `foreign_recorded`, `recording-stated` if a model is stated of
    a recording whose record names its meter.
    """
    stated = stated or Stated()
    path = _record_of_several(path) or path
    if stated.reader.columns or not is_own(path):
        return foreign_recorded(
            path,
            stated.reader,
            stated.setup,
            stated.model,
            is_interval_stated=stated.is_interval_stated,
        )
    found = read_measurement(path)
    if stated.model is None:
        return found
    if not isinstance(found, Recorded) or found.record is not None:
        raise MeterError(
            "recording-stated",
            f"The record of {path} names the meter and its setup; leave --model {stated.model} away.",
        )
    return _with_model(found, stated, stated.model)


def _record_of_several(path: Path) -> Path | None:
    """Return run.json for a run.csv that is not there: the name that was given to a series, or to several meters."""
    if path.suffix not in OF_READINGS or not path.name:
        return None
    beside = record_path(path)
    return beside if not is_there(path) and has_record(beside) else None


def is_own(path: Path) -> bool:
    """Return True for a record, a recording of `meter record`, or one of the 2015 driver; also for no file at all."""
    try:
        require_file(path)
        with path.open("rb") as file:
            start = file.read(FIRST_BYTES)
    except (OSError, ValueError):
        return True  # the reader of ours says what is wrong
    if kind_of(start):
        return False
    if is_json(path, start):
        return True  # no table begins so; the reader of records says what is wrong
    text = start.decode("utf-8-sig", "replace").lstrip()
    first = next(iter(LINE_END.split(text, maxsplit=1)), "").strip()
    cells = tuple(cell.strip() for cell in next(csv.reader([first]), []))
    if cells in (COLUMNS, *FORMER_COLUMNS):
        return True
    if len(cells) == len(COLUMNS_2015) and all(map(_is_number, cells)):
        return True
    return bool(path.name) and has_record(record_path(path))  # its heading was lost


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _with_model(found: Recorded, stated: Stated, model: str) -> Recorded:
    """Return a recording that has no record, with the meter's limits and the setup that a person states."""
    read = found.measured.setup
    asked = stated.setup
    setup = replace(
        asked,
        voltage_range_v=asked.voltage_range_v or read.voltage_range_v,
        current_range_a=asked.current_range_a or read.current_range_a,
    )
    if not stated.is_interval_stated:
        setup = replace(setup, update_interval_s=read.update_interval_s)
    limits = limits_of_model(model)
    measured = replace(found.measured, setup=setup, model=model, limits=limits)
    identity = Identity(UNKNOWN, model, UNKNOWN, "")
    stating = (
        f"The model {model} and the setup are those that were stated, not recorded; start and end are estimated from "
        "the readings."
    )
    unanswered = tuple(code for code in found.unanswered if code != "accuracy")
    return replace(
        found,
        identity=identity,
        measured=measured,
        doubts=(stating, *found.doubts[1:]),
        unnamed="",
        unanswered=unanswered,
    )
