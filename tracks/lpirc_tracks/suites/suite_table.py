"""AIoTBench's CSV tables: the tests and FLOPs that scores are computed from, and the table written by a run."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from lpirc_score.files.atomic_write import require_writable, write_atomically
from lpirc_score.files.csv_tables import TableRow, read_table, table_bytes
from lpirc_tracks.measured import LEAST, MOST
from lpirc_tracks.rules.aiotbench import SuiteTest
from referee.errors import RefereeError
from referee.presence import is_there

TEST_COLUMNS = ("device", "implementation", "model", "accuracy_percent", "time_ms")
FLOPS_COLUMNS = ("model", "mflops")


@dataclass(frozen=True)
class SuiteRow:
    """A test that was run: accuracy and time as text, both blank if it failed, with the reason in `sentence`.

    `model_sha256` and `images_sha256` identify the model file and the images, `settings` are those of its test; "" in
    a table of an earlier version, which has no such column.
    """

    device: str
    implementation: str
    model: str
    accuracy_percent: str
    time_ms: str
    images: str
    model_sha256: str
    images_sha256: str
    sentence: str
    settings: str = ""

    @property
    def test(self) -> SuiteTest:
        """Return the test in the form that is scored."""
        accuracy = _number(self.accuracy_percent)
        time = _number(self.time_ms)
        return SuiteTest(self.device, self.implementation, self.model, accuracy, time)


def _number(cell: str) -> float | None:
    return float(cell) if cell else None


COLUMNS = tuple(field.name for field in fields(SuiteRow))
NEEDED_COLUMNS = COLUMNS[:-1]
"""Tables of earlier versions lack `settings`."""


def read_flops(path: Path) -> dict[str, float]:
    """Return the MFLOPs of one image by model. Raises RefereeError `unreadable-file`, `bad-table`."""
    found: dict[str, float] = {}
    for row in read_table(path, FLOPS_COLUMNS):
        model = row.text("model")
        if model in found:
            raise row.bad(f"the model {model!r} is listed twice")
        found[model] = row.number("mflops", LEAST, MOST)
    return found


def write_flops(path: Path, mflops: Mapping[str, float]) -> None:
    """Write the MFLOPs in the format that `read_flops` reads."""
    rows = [{"model": model, "mflops": value} for model, value in mflops.items()]
    write_atomically(path, table_bytes(FLOPS_COLUMNS, rows))


def read_tests(path: Path, mflops: Mapping[str, float]) -> tuple[SuiteTest, ...]:
    """Return the tests in the order of the file; a test with blank accuracy and time is missing.

    Raises RefereeError `unreadable-file`, `bad-table` with file, line and value, `unknown-flops` for a model without
    FLOPs.
    """
    found: dict[tuple[str, str, str], SuiteTest] = {}
    for row in read_table(path, TEST_COLUMNS):
        device, implementation, model = (
            row.text(column) for column in TEST_COLUMNS[:3]
        )
        key = (device, implementation, model)
        if key in found:
            raise row.bad(f"the test {', '.join(key)} is listed twice")
        if model not in mflops:
            where = f"{path}: line {row.line}"
            known = ", ".join(mflops)
            sentence = f"{where}: the model {model!r} is not listed with its FLOPs; the listed models are {known}"
            raise RefereeError("unknown-flops", sentence, model=model, line=row.line)
        found[key] = SuiteTest(*key, *_figures(row))
    return tuple(found.values())


def read_rows(path: Path) -> list[SuiteRow]:
    """Return the rows of the table of an earlier run; none if the file does not exist.

    Raises RefereeError `not-accessible`, `unreadable-file`, `bad-table`.
    """
    rows = []
    seen = set()
    for line in read_table(path, NEEDED_COLUMNS) if is_there(path) else []:
        if (_figures(line) == (None, None)) != bool(line.cells["sentence"]):
            raise line.bad(
                "a test must have either figures or a sentence that says why it failed; delete this line"
            )
        cells = {column: line.cells.get(column, "") for column in COLUMNS}
        row = SuiteRow(**cells)
        key = (row.device, row.implementation, row.model)
        if key in seen:
            raise line.bad(f"the test {', '.join(key)} is listed twice")
        seen.add(key)
        rows.append(row)
    return rows


def write_rows(path: Path, rows: Iterable[SuiteRow]) -> None:
    """Write the whole table atomically."""
    write_atomically(path, table_bytes(COLUMNS, map(asdict, rows)))


def row_of(rows: Iterable[SuiteRow], wanted: SuiteRow, path: Path) -> SuiteRow | None:
    """Return the row of the same test in an earlier run, or None if that run has not measured the test.

    Raises RefereeError `suite-changed` if the earlier run had another model file, other images or other settings.
    """
    key = (wanted.device, wanted.implementation, wanted.model)
    row = next(
        (one for one in rows if (one.device, one.implementation, one.model) == key),
        None,
    )
    changed = "" if row is None else _difference(row, wanted)
    if changed:
        line = (
            f"{path} has {wanted.model} ({wanted.implementation}) with other {changed}"
        )
        advice = (
            "delete that line to measure it again, or choose another file with --out."
        )
        raise RefereeError("suite-changed", f"{line}; {advice}")
    return row


def has_other_settings(row: SuiteRow, wanted: str) -> bool:
    """Return True if a row was measured with other settings, as far as the table knows."""
    return bool(row.settings) and row.settings != wanted


def _difference(row: SuiteRow, wanted: SuiteRow) -> str:
    """Name what a row was measured with and is not so any more; "" if nothing."""
    if row.model_sha256 != wanted.model_sha256:
        return "model file"
    if row.images_sha256 != wanted.images_sha256:
        return "images"
    return "settings" if has_other_settings(row, wanted.settings) else ""


@contextmanager
def table_lock(path: Path) -> Iterator[None]:
    """Hold the lock of the table's folder: two suites would slow each other down and overwrite each other's tests.

    Raises RefereeError `suite-busy`, `bad-table` if no table can be written.
    """
    try:
        require_writable(path)
    except OSError as error:
        sentence = f"The table {path} cannot be written: {error.strerror}; choose another file with --out."
        raise RefereeError("bad-table", sentence) from error
    folder = os.open(
        path.parent, os.O_RDONLY
    )  # the operating system releases the lock if we die
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sentence = (
                f"Another suite is being run into {path.parent}; run this one after it."
            )
            raise RefereeError("suite-busy", sentence) from None
        yield
    finally:
        os.close(folder)


def _figures(row: TableRow) -> tuple[float, float] | tuple[None, None]:
    """Return a test's accuracy in percent and time in ms, or None for both. Raises RefereeError `bad-table`."""
    accuracy = row.cells["accuracy_percent"]
    time = row.cells["time_ms"]
    if not accuracy and not time:
        return None, None
    if not accuracy or not time:
        blank, given = (
            ("accuracy_percent", "time_ms")
            if not accuracy
            else ("time_ms", "accuracy_percent")
        )
        raise row.bad(
            f"{given} = {row.cells[given]} is given without {blank}; give both, or neither"
        )
    return row.number("accuracy_percent", 0, 100), row.number("time_ms", LEAST, MOST)
