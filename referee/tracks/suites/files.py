"""AIoTBench's tables from CSV files: the tests, and the FLOPs of the models."""

from __future__ import annotations

from pathlib import Path

from referee.errors import RefereeError
from referee.files.tables import TableRow, read_table
from referee.tracks.measured import LEAST, MOST
from referee.tracks.rules.aiotbench import SuiteTest

TEST_COLUMNS = ("device", "implementation", "model", "accuracy_percent", "time_ms")
FLOPS_COLUMNS = ("model", "mflops")


def read_flops(path: Path) -> dict[str, float]:
    """MFLOPs of one image by model. Raises RefereeError `unreadable-file`, `bad-table`."""
    found: dict[str, float] = {}
    for row in read_table(path, FLOPS_COLUMNS):
        model = row.text("model")
        if model in found:
            raise row.bad(f"the model {model!r} is listed twice")
        found[model] = row.number("mflops", LEAST, MOST)
    return found


def read_tests(path: Path, mflops: dict[str, float]) -> tuple[SuiteTest, ...]:
    """The tests in the order of the file; a test whose accuracy and time are both blank is a missing one.

    Raises RefereeError `unreadable-file`, `bad-table` with file, line and value, `unknown-flops` for a model without
    FLOPs.
    """
    found: dict[tuple[str, str, str], SuiteTest] = {}
    for row in read_table(path, TEST_COLUMNS):
        device, implementation, model = (row.text(column) for column in TEST_COLUMNS[:3])
        key = (device, implementation, model)
        if key in found:
            raise row.bad(f"the test {', '.join(key)} is listed twice")
        if model not in mflops:
            names = ", ".join(mflops)
            sentence = (
                f"{path}: line {row.line}: the model {model!r} has no FLOPs; those of {names} are known"
            )
            raise RefereeError("unknown-flops", sentence, model=model, line=row.line)
        found[key] = SuiteTest(*key, *measured_of(row))
    return tuple(found.values())


def measured_of(row: TableRow) -> tuple[float, float] | tuple[None, None]:
    """A test's accuracy in percent and time in ms, or neither. Raises RefereeError `bad-table`."""
    accuracy, time = row.cells["accuracy_percent"], row.cells["time_ms"]
    if not accuracy and not time:
        return None, None
    if not accuracy or not time:
        blank, given = ("accuracy_percent", "time_ms") if not accuracy else ("time_ms", "accuracy_percent")
        raise row.bad(f"{given} = {row.cells[given]} stands without {blank}; give both, or neither")
    return row.number("accuracy_percent", 0, 100), row.number("time_ms", LEAST, MOST)
