"""The plan of a suite, a TOML file: which (model, implementation) tests to measure, and how."""

from __future__ import annotations

import shlex
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lpirc_testsets.errors import TestSetError
from lpirc_testsets.file_bytes import file_bytes, utf8_text
from lpirc_testsets.system_failures import reason_of
from lpirc_tracks.rules.aiotbench import COOLDOWN_S
from lpirc_tracks.suites.plan_rows import (
    PlannedTest,
    common_options,
    model_tests,
    own_test,
)
from lpirc_tracks.suites.plan_table import PlanTable
from referee.config import toml_table
from referee.config.toml_slips import not_toml
from referee.errors import RefereeError

IMAGES = 5000
LONGEST_COOLDOWN_S = 24 * 3600.0
KEYS = ("device", "cooldown_s", "limit", "tests", "models", "implementations")


@dataclass(frozen=True)
class SuitePlan:
    """The tests in order.

    `device` is the device's name in the table ("": the host name), `limit` the number of images.
    """

    device: str
    cooldown_s: float
    limit: int
    tests: tuple[PlannedTest, ...]

    @property
    def mflops(self) -> dict[str, float]:
        """Return the MFLOPs of one image by model."""
        return {test.model: test.mflops for test in self.tests}


def read_plan(path: Path) -> SuitePlan:
    """Read a suite; paths of model files are relative to its file.

    Raises RefereeError `bad-suite`, naming file, test and value.
    """
    if path.suffix.lower() == ".csv":
        raise RefereeError(
            "bad-suite",
            f"{path} is a table, and the plan of a suite is a TOML file, as `referee suite init aiotbench` makes it; "
            f"for the scores of a table: referee suite score {shlex.quote(str(path))} --suite FOLDER",
        )
    values = _values(path)
    table = PlanTable(str(path), values)
    own = _rows(values.get("tests", []))
    models = _rows(values.get("models", []))
    if own is None or models is None or not own + models:
        raise table.bad(
            "there is no test; add [[tests]] tables with model, implementation, file, mflops"
        )
    table.require_known(*KEYS)
    plan = SuitePlan(
        device=table.text("device", ""),
        cooldown_s=float(table.number("cooldown_s", 0, LONGEST_COOLDOWN_S, COOLDOWN_S)),
        limit=table.whole("limit", 2, 10_000_000, IMAGES),
        tests=tuple(_tests(path, values, models, own)),
    )
    _require_consistent(table, plan)
    return plan


def _values(path: Path) -> dict[str, Any]:
    try:
        text = utf8_text(path, file_bytes(path))
        return toml_table(text)
    except TestSetError as error:
        raise RefereeError("bad-suite", f"{error.sentence}.") from error
    except tomllib.TOMLDecodeError as error:
        why = not_toml(text, error)
        raise RefereeError("bad-suite", f"{path} cannot be read: {why}.") from error
    except (OSError, ValueError, RecursionError) as error:
        why = reason_of(error) if isinstance(error, OSError) else str(error)
        raise RefereeError("bad-suite", f"{path} cannot be read: {why}.") from error


def _rows(value: Any) -> list[dict[str, Any]] | None:
    """Return an array of tables, or None if it is something else."""
    is_array = isinstance(value, list) and all(isinstance(row, dict) for row in value)
    return value if is_array else None


def _tests(
    path: Path,
    values: dict[str, Any],
    models: list[dict[str, Any]],
    own: list[dict[str, Any]],
) -> Iterator[PlannedTest]:
    common = common_options(str(path), values.get("implementations", {}))
    for number, row in enumerate(models, 1):
        table = PlanTable(f"{path}, model {number}", row)
        yield from model_tests(table, path.parent, common)
    for number, row in enumerate(own, 1):
        yield own_test(PlanTable(f"{path}, test {number}", row), path.parent)


def _require_consistent(table: PlanTable, plan: SuitePlan) -> None:
    """Refuse a test that is given twice, and a model with two numbers of FLOPs."""
    for (model, implementation), uses in Counter(
        (t.model, t.implementation) for t in plan.tests
    ).items():
        if uses > 1:
            raise table.bad(f"the test {model} ({implementation}) is given twice")
    for test in plan.tests:
        if plan.mflops[test.model] != test.mflops:
            figures = f"{test.mflops:g} and {plan.mflops[test.model]:g} mflops"
            raise table.bad(f"the model {test.model} has {figures}")
