"""Recordings read back from their files: `read_recorded` for one, `read_measurement` also for a series or a group."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lpirc_power.energy import Measurement
from lpirc_power.energy.budget import BUDGET_VERSION
from lpirc_power.energy.reading_columns import ReadingColumns
from lpirc_power.errors import MeterError
from lpirc_power.measurement_files.bare_recording import (
    CLOCK_STEP_S,
    NO_IDENTITY,
    clock_steps,
    end_s_of,
    read_alone,
    start_s_of,
    step_sentence,
)
from lpirc_power.measurement_files.known_meter import as_known
from lpirc_power.meter import IntegratorState, Reading
from lpirc_power.presence import is_there
from lpirc_power.record.document import (
    AnyRecord,
    Ended,
    GroupRecord,
    LeftOut,
    Mark,
    Moment,
    Record,
    SeriesRecord,
)
from lpirc_power.record.record_file import has_record, is_json, read_record, record_path
from lpirc_power.record.surviving_rows import surviving
from lpirc_power.recording import read_readings, reading_of, require_file
from lpirc_power.report.group_report import Group
from lpirc_power.report.incomplete import why_not_counted
from lpirc_power.report.recording_report import Recorded
from lpirc_power.report.series_report import (
    ATTEMPT,
    WARM_UP,
    Series,
    attempt_names,
    warm_up_name,
)

__all__ = ["Group", "Series", "doubts_of", "read_measurement", "read_recorded"]

NOT_OF_CUT: Final = ("range-changed",)
"""Checks that a recording without an end cannot confirm: the settings were not read back."""
DRIFT: Final = 5e-4
"""Largest relative drift of a host's clocks against each other, while the wall clock is being slewed."""


def read_measurement(path: Path) -> Recorded | Series | Group:
    """Return the recording, series or group in a file: a CSV file of readings, or a record.

    Raises MeterError as `read_recorded`.
    """
    if not _is_json(path):
        return read_recorded(path)
    record = read_record(path)
    folder = path.parent
    _require_once(record, path)
    if isinstance(record, SeriesRecord):
        return _series(record, path)
    if isinstance(record, GroupRecord):
        whole = [one for one in record.members if not one.failed]
        found = {one.name: read_recorded(folder / one.record) for one in whole}
        return Group(record, found, str(path))
    return _recorded_by(record, path)


def _series(record: SeriesRecord, path: Path) -> Series:
    """Return a series; an attempt whose files no longer hold what they held is left out, too, with why."""
    left_out = [*record.left_out]
    listed = _readable(ATTEMPT, record.recordings, path.parent, left_out)
    found = _attempts_among(listed, left_out)
    before = _readable(WARM_UP, record.warm_up, path.parent, left_out)
    counted: dict[str, Recorded] = {}
    for name, one in zip(attempt_names(found), found, strict=True):
        if why := why_not_counted(one):
            file = record_path(Path(one.file)).name
            left_out.append(LeftOut(name, f"{one.file} {why}.", file))
        else:
            counted[name] = one
    attempts = tuple(counted.values())
    return Series(record, attempts, before, str(path), tuple(left_out), tuple(counted))


def _attempts_among(
    listed: Sequence[Recorded], left_out: list[LeftOut]
) -> tuple[Recorded, ...]:
    """Return the recordings that were made as attempts; one that was made to warm up goes to `left_out`."""
    found = []
    for one in listed:
        name = warm_up_name(one)
        if not name:
            found.append(one)
            continue
        why = f"{one.file} was recorded as {name}, and is listed as an attempt."
        left_out.append(LeftOut(name, why, record_path(Path(one.file)).name))
    return tuple(found)


def _readable(
    kind: str, names: Sequence[str], folder: Path, left_out: list[LeftOut]
) -> tuple[Recorded, ...]:
    """Return the recordings that can be read; the others go to `left_out`."""
    found = []
    for name in names:
        try:
            found.append(read_recorded(folder / name))
        except MeterError as error:
            left_out.append(LeftOut(f"{kind} in {name}", error.sentence, name))
    return tuple(found)


def _require_once(record: AnyRecord, path: Path) -> None:
    """Raise MeterError if a record of several names a recording twice: it would count as another attempt."""
    names: list[str] = []
    if isinstance(record, SeriesRecord):
        names = [*record.warm_up, *record.recordings]
    elif isinstance(record, GroupRecord):
        names = [one.record for one in record.members]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise MeterError(
            "recording-record", f"{path} cannot be used: it names {twice[0]} twice."
        )


def read_recorded(path: Path) -> Recorded:
    """Return the recording in a CSV file of readings or in its record, with what is known of it.

    A CSV file without a record has no identity and no limits of error; a recording that was cut off has its energy up
    to its last row. `doubts` say both. Raises MeterError: those of `read_recording`, those of `read_record`, and
    `recording-record` if the record belongs to another CSV file, or is of a series or a group.
    """
    if _is_json(path):
        return _recorded_by(_single(read_record(path), path), path)
    if not path.name:  # a folder such as "." or "/": its reader says so
        return read_alone(path)
    beside = record_path(path)
    if not has_record(beside):
        return read_alone(path)
    record = _single(read_record(beside), beside)
    if not is_there(path) and path.suffix != Path(record.file).suffix:
        raise MeterError(
            "recording-unreadable",
            f"There is no file {path}; {beside.name} is the record of {record.file}.",
        )
    return _with_record(record, beside, path)


def _single(record: AnyRecord, path: Path) -> Record:
    if isinstance(record, Record):
        return record
    raise MeterError(
        "recording-record",
        f"{path} is the record of a {record.kind}, where that of one recording is needed; give the file of one of "
        "its recordings.",
    )


def _recorded_by(record: Record, path: Path) -> Recorded:
    csv = path.with_suffix(".csv")
    if not csv.is_file():  # the pair may have been renamed
        csv = path.with_name(record.file)
    return _with_record(record, path, csv)


def _is_json(path: Path) -> bool:
    try:
        require_file(path)
        with path.open("rb") as file:
            return is_json(path, file.read(64))
    except (OSError, ValueError):
        return False  # its reader says why


def _with_record(record: Record, path: Path, csv: Path) -> Recorded:
    if record.ended is None:
        return _cut(record, path, csv, read_readings(csv, cut=True))
    ended = record.ended
    readings = _rows(record, ended, path, csv)
    rows = len(readings)
    final = reading_of(ended.row)
    doubts = doubts_of(record, readings)
    if rows < ended.readings:
        if not readings or readings[-1] != final:
            readings.append(final)
        doubts += (_missing_words(ended, rows, csv),)
    _require_marks(ended.marks, path)
    started = record.started
    measured, differing = as_known(ended.measured, record)
    return Recorded(
        identity=NO_IDENTITY if started is None else started.identity,
        measured=measured,
        readings=readings,
        idle=None if started is None else started.idle,
        link_events=ended.links,
        file=str(csv),
        rows=rows,
        marks=ended.marks,
        record=record,
        doubts=(*_other_rules(record), *differing, *doubts),
    )


def _missing_words(ended: Ended, rows: int, csv: Path) -> str:
    """Return what is known of a file that holds so many rows, fewer than there were readings."""
    missing = ended.readings - rows
    words = f"{missing} of {ended.readings} readings are not in {csv}; the checks know only the others."
    if 0 < rows < ended.rows:
        words += " Whether these are as they were recorded is not known: the SHA-256 in the record is that of all rows."
    return words


def _rows(record: Record, ended: Ended, path: Path, csv: Path) -> ReadingColumns:
    """Return the readings in a CSV file whose record has an end, also if a power failure has cut the file."""
    content = _content(csv)
    if hashlib.sha256(content).hexdigest() == ended.sha256 and not ended.damage:
        return read_readings(csv) if ended.rows else ReadingColumns()
    from_s = -math.inf if record.started is None else record.started.start.monotonic_s
    to_s = reading_of(ended.row).monotonic_s
    lines = content.splitlines(keepends=True)
    found = surviving(lines, from_s, to_s)
    is_cut = len(found) < ended.rows and _is_cut(lines, len(found))
    if not (is_cut or ended.damage):
        raise _of_another(path, csv)
    return found


def _is_cut(lines: Sequence[bytes], rows: int) -> bool:
    """Return True if a file holds so many rows below its heading, and at its end no more than one cut line."""
    return len(lines) <= rows + 2


def _content(csv: Path) -> bytes:
    """Return what is in a CSV file; nothing if there is none, since its record has the energy."""
    try:
        require_file(csv)
        return csv.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise MeterError(
            "recording-unreadable",
            f"The recording {csv} cannot be read: {error.strerror}.",
        ) from error


def _cut(
    record: Record, path: Path, csv: Path, readings: Sequence[Reading]
) -> Recorded:
    """Return a recording whose record has no end: its energy is that of the last row."""
    _require_marks(record.marks, path)
    last = readings[-1]
    started = record.started
    first = Moment(readings[0].monotonic_s, readings[0].utc)
    start = Moment(start_s_of(readings), first.utc)
    if started is not None:
        start = started.start
    if abs(_step_s(start, first)) > CLOCK_STEP_S:
        raise _of_another(path, csv)
    identity = NO_IDENTITY if started is None else started.identity
    measured = Measurement(
        integrator_wh=last.energy_wh,
        integrator_s=last.integrator_s,
        start_s=start.monotonic_s,
        end_s=max(end_s_of(readings), start.monotonic_s),
        setup=record.setup,
        model=identity.model,
        limits=None,
        official=started is not None and started.standing.official,
        standing=None if started is None else started.standing,
    )
    measured, _ = as_known(measured, record)
    cut = _cut_words(readings, start.monotonic_s)
    return Recorded(
        identity=identity,
        measured=measured,
        readings=readings,
        idle=None if started is None else started.idle,
        link_events=(),
        file=str(csv),
        rows=len(readings),
        marks=record.marks,
        record=record,
        doubts=(*_other_rules(record), cut, *clock_steps(readings)),
        unanswered=NOT_OF_CUT,
    )


def _cut_words(readings: Sequence[Reading], start_s: float) -> str:
    """Return what is known of a recording that was cut off, by its last row."""
    ran_s = end_s_of(readings) - start_s
    if readings[-1].state is IntegratorState.START:
        return (
            "The recording was cut off: its energy and its checks are those up to the last row, "
            f"{ran_s:.1f} s after the start; what the meter counted after it is not known."
        )
    return (
        "The recording was cut off at its end, as by a full disk: by the last row the integrator was stopped about "
        f"{ran_s:.1f} s after the start, with this energy; whether the work was over is not known."
    )


def _other_rules(record: Record) -> tuple[str, ...]:
    """Return a sentence if the recording program computed uncertainties by other rules than this one does."""
    version = record.budget_version
    if version == BUDGET_VERSION:
        return ()
    which = "later" if version > BUDGET_VERSION else "earlier"
    return (
        f"It was recorded by a version that computes uncertainties by {which} rules (budget version {version}); those "
        f"here are by version {BUDGET_VERSION}, so they may differ from what it said then.",
    )


def doubts_of(record: Record, readings: Sequence[Reading]) -> tuple[str, ...]:
    """Return sentences about how a recording ended, what happened to its file, and to the host's clock."""
    ended = record.ended
    # A clock that was set, and set back, shows between two readings alone.
    found = clock_doubts(record) or clock_steps(readings)
    if ended is not None and ended.damage:
        found = (ended.damage, *found)
    if ended is not None and ended.interrupted:
        end_s = ended.measured.elapsed_s
        was = f"The recording was interrupted {end_s:.1f} s after the start, before its work or its time was over."
        found = (was, *found)
    return found


def clock_doubts(record: Record) -> tuple[str, ...]:
    """Return a sentence if the host's wall clock was set during a recording."""
    if record.started is None or record.ended is None:
        return ()
    start = record.started.start
    end = record.ended.end
    step_s = _step_s(start, end)
    if abs(step_s) <= CLOCK_STEP_S + DRIFT * (end.monotonic_s - start.monotonic_s):
        return ()
    return step_sentence(step_s)


def _step_s(start: Moment, end: Moment) -> float:
    """Return by how much the wall clock went further than the monotonic one between two moments."""
    return (end.utc - start.utc).total_seconds() - (end.monotonic_s - start.monotonic_s)


def _require_marks(marks: Sequence[Mark], path: Path) -> None:
    for mark in marks:
        end_s = mark.begin_s if mark.end_s is None else mark.end_s
        if not (math.isfinite(mark.begin_s + end_s) and mark.begin_s <= end_s):
            raise MeterError(
                "recording-record",
                f"{path} cannot be used: the mark {mark.name[:80]!r} goes from {mark.begin_s:g} s to {end_s:g} s.",
            )


def _of_another(path: Path, csv: Path) -> MeterError:
    return MeterError(
        "recording-record",
        f"{path} is not the record of {csv} as it is now: the readings are of another recording, or were changed. Give "
        f"both files as they were recorded, or move {path.name} away to read {csv.name} alone.",
    )
