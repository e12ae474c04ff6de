"""Readings as a Parquet file: the columns of a recording, with everything else that is known in its metadata.

Needs pyarrow, which is optional.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from lpirc_power.errors import MeterError
from lpirc_power.measurement_files.recorded_files import Group, Series
from lpirc_power.meter import Reading
from lpirc_power.recording import COLUMNS, NO_DATE
from lpirc_power.report.check_report import check_facts
from lpirc_power.report.recording_report import Recorded

METADATA_KEY: Final = "lpirc_power"
"""Key of the file's metadata; its value is a JSON document."""
RECORDING: Final = "recording"
"""Column that names the recording of a row, in a file of several."""
BATCH: Final = 50_000
_FLAGS: Final = ("over_range", "voltage_peak_over", "current_peak_over", "stopped")
_TEXTS: Final = ("state", "changed")


def write_parquet(found: Recorded | Series | Group, path: Path) -> int:
    """Write the readings of a measurement to a Parquet file, and return the number of rows.

    Raises MeterError `no-pyarrow`, `recording-empty` (no recording counts), OSError.

    A file of several recordings has the column `recording` before the others.
    """
    pa, parquet = _pyarrow()
    named = recordings_by_name(found)
    if not named:
        raise MeterError(
            "recording-empty",
            f"{found.file} has no recording that counts, so nothing is exported.",
        )
    is_single = isinstance(found, Recorded)
    schema = _schema(pa, named, is_single=is_single)
    rows = 0
    # Opened here: pyarrow takes no name that is not UTF-8, and its failures name no reason of the system's.
    with (
        path.open("wb") as file,
        parquet.ParquetWriter(file, schema, compression="zstd") as writer,
    ):
        for name, recorded in named.items():
            for batch in _batches(recorded.readings):
                columns = _columns(batch)
                if not is_single:
                    columns = {RECORDING: [_text(name)] * len(batch), **columns}
                writer.write_table(pa.Table.from_pydict(columns, schema=schema))
                rows += len(batch)
    return rows


def _text(name: str) -> str:
    """Return a name with "?" for what is no text, as in the name of a file that is not UTF-8."""
    return name.encode(errors="replace").decode()


def recordings_by_name(found: Recorded | Series | Group) -> dict[str, Recorded]:
    """Return the recordings of a measurement by name: the meter's in a group, else the file's."""
    if isinstance(found, Recorded):
        return {Path(found.file).stem: found}
    if isinstance(found, Series):
        return {Path(one.file).stem: one for one in found.recordings}
    return dict(found.recordings)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise MeterError(
            "no-pyarrow",
            "Parquet needs pyarrow, which is not installed: pip install pyarrow.",
        ) from None
    return pa, parquet


def _schema(pa: Any, named: dict[str, Recorded], *, is_single: bool) -> Any:
    fields = [pa.field(name, _type(pa, name)) for name in COLUMNS]
    documents = {name: _document(one) for name, one in named.items()}
    whole: object = documents
    if is_single:
        (whole,) = documents.values()
    else:
        fields.insert(0, pa.field(RECORDING, pa.string()))
    metadata = {METADATA_KEY: json.dumps(whole)}
    return pa.schema(fields, metadata=metadata)


def _type(pa: Any, name: str) -> Any:
    if name == "utc":
        return pa.timestamp("us", tz="UTC")
    if name in _FLAGS:
        return pa.bool_()
    return pa.string() if name in _TEXTS else pa.float64()


def _document(recorded: Recorded) -> dict[str, object]:
    record = recorded.record
    return {
        **check_facts(recorded),
        "command": None if record is None else list(record.command),
        "host": None if record is None else record.host,
        "address": None if record is None else record.address,
        "program": None if record is None else record.program,
    }


def _batches(readings: Sequence[Reading]) -> Iterator[list[Reading]]:
    for first in range(0, len(readings), BATCH):
        yield list(readings[first : first + BATCH])


def _columns(readings: Iterable[Reading]) -> dict[str, list[object]]:
    columns: dict[str, list[object]] = {name: [] for name in COLUMNS}
    for one in readings:
        for name in COLUMNS:
            columns[name].append(_cell(one, name))
    return columns


def _cell(reading: Reading, name: str) -> object:
    """Return a value for Parquet; None for the date of a recording that has no dates."""
    if name == "state":
        return reading.state.value
    if name == "utc" and reading.utc.year <= NO_DATE.year:
        return None
    value: object = getattr(reading, name)
    return value
