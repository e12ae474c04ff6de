"""The table that a suite's run writes test by test; `referee suite score` reads it, and a later run goes on with it."""

from __future__ import annotations

import csv
import fcntl
import io
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from referee.errors import RefereeError
from referee.files.atomic_write import require_place, write_whole
from referee.files.tables import read_table
from referee.tracks.rules.aiotbench import SuiteTest
from referee.tracks.suites.files import FLOPS_COLUMNS, measured_of


@dataclass(frozen=True)
class SuiteRow:
    """A test that was run: accuracy and time as text, blank where it failed, and `sentence` then tells why.

    `model_sha256` and `images_sha256` tell of which model file and images it is.
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

    @property
    def test(self) -> SuiteTest:
        """What the scores are made of."""
        figures = (float(cell) if cell else None for cell in (self.accuracy_percent, self.time_ms))
        return SuiteTest(self.device, self.implementation, self.model, *figures)


COLUMNS = tuple(field.name for field in fields(SuiteRow))


@contextmanager
def turn(path: Path) -> Iterator[None]:
    """Write to the table, and measure, alone: two at once would slow each other down and lose each other's tests.

    Raises RefereeError `suite-busy`, `bad-table` where the path is no place for a table.
    """
    try:
        require_place(path)
    except OSError as error:
        raise RefereeError(
            "bad-table", f"{path}: {error.strerror}; choose another file with --out."
        ) from error
    folder = os.open(path.parent, os.O_RDONLY)  # the system lets go of the lock if we die
    try:
        _lock(folder, path.parent)
        yield
    finally:
        os.close(folder)


def _lock(folder: int, name: Path) -> None:
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RefereeError(
            "suite-busy", f"Another suite is being run into {name}; run this one after it."
        ) from None


def read_log(path: Path) -> list[SuiteRow]:
    """The rows of a table that a run has begun; none where there is no such file.

    Raises RefereeError `unreadable-file`, `bad-table`.
    """
    if not path.exists():
        return []
    rows = []
    for line in read_table(path, COLUMNS):
        if (measured_of(line) == (None, None)) != bool(line.cells["sentence"]):
            raise line.bad(
                "a test has either figures or a sentence that tells why it failed; delete this line"
            )
        rows.append(SuiteRow(**{column: line.cells[column] for column in COLUMNS}))
    return rows


def write_log(path: Path, rows: Iterable[SuiteRow]) -> None:
    """Write the table: whole, or not at all."""
    _write(path, COLUMNS, [asdict(row) for row in rows])


def write_flops(path: Path, mflops: Mapping[str, float]) -> None:
    """Write the MFLOPs as `referee suite score --flops` reads them."""
    _write(path, FLOPS_COLUMNS, [{"model": model, "mflops": value} for model, value in mflops.items()])


def row_of(rows: Iterable[SuiteRow], wanted: SuiteRow, path: Path) -> SuiteRow | None:
    """The row of the same test in an earlier run; None where it has not come to it.

    Raises RefereeError `suite-changed` when that was another model file or other images.
    """
    key = (wanted.device, wanted.implementation, wanted.model)
    for row in rows:
        if (row.device, row.implementation, row.model) != key:
            continue
        for what, before, now in (
            ("model file", row.model_sha256, wanted.model_sha256),
            ("images", row.images_sha256, wanted.images_sha256),
        ):
            if before != now:
                raise RefereeError(
                    "suite-changed",
                    f"{path} has {wanted.model} ({wanted.implementation}) with other {what}; delete that line to "
                    "measure it again, or choose another file with --out.",
                )
        return row
    return None


def _write(path: Path, columns: Iterable[str], rows: Iterable[Mapping[str, object]]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(path, text.getvalue().encode())
