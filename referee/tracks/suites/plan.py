"""A suite of tests, (model, implementation), from a TOML file: what is to be measured, and how."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from referee.config import toml_table
from referee.errors import RefereeError
from referee.tracks.measured import LEAST, MOST
from referee.tracks.rules.aiotbench import COOLDOWN_S
from testsets.file_bytes import file_bytes

IMAGES = 5000
LONGEST_COOLDOWN_S = 24 * 3600.0
OPTIONS = {"threads": 64, "memory_mb": 1_000_000, "repeats": 1000}
"""The whole numbers that a test may set beside `timeout_s`, and up to where."""
LEAST_TIMEOUT_S, LONGEST_TIMEOUT_S = 0.01, 24 * 3600.0


@dataclass(frozen=True)
class PlannedTest:
    """A test: its model by name and by file, its MFLOPs for one image, and options of the harness."""

    model: str
    implementation: str
    file: Path
    mflops: float
    options: Mapping[str, int | float]

    @property
    def name(self) -> str:
        """The test in words."""
        return f"{self.model} ({self.implementation})"


@dataclass(frozen=True)
class SuitePlan:
    """The tests in order; `device` is what the table calls the device ("": its host name), `limit` the first images."""

    device: str
    cooldown_s: float
    limit: int
    tests: tuple[PlannedTest, ...]

    @property
    def mflops(self) -> dict[str, float]:
        """MFLOPs of one image by model."""
        return {test.model: test.mflops for test in self.tests}


def read_plan(path: Path) -> SuitePlan:
    """Read a suite; files of models are relative to it.

    Raises RefereeError `bad-suite`, naming file, test and value.
    """
    try:
        table = toml_table(file_bytes(path).decode())
    except (OSError, ValueError, RecursionError) as error:
        why = (error.strerror or error) if isinstance(error, OSError) else error
        raise RefereeError("bad-suite", f"{path} cannot be read: {why}.") from error
    rows = table.pop("tests", [])
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise _bad(
            str(path), "there is no test; add [[tests]] tables with model, implementation, file, mflops"
        )
    _require_known(str(path), table, ("device", "cooldown_s", "limit", "tests"))
    plan = SuitePlan(
        device=_text(str(path), table, "device", ""),
        cooldown_s=float(_number(str(path), table, "cooldown_s", 0, LONGEST_COOLDOWN_S, COOLDOWN_S)),
        limit=int(_whole(str(path), table, "limit", 2, 10_000_000, IMAGES)),
        tests=tuple(_test(f"{path}, test {place}", path.parent, row) for place, row in enumerate(rows, 1)),
    )
    _require_consistent(str(path), plan)
    return plan


def _test(where: str, folder: Path, row: dict[str, Any]) -> PlannedTest:
    _require_known(where, row, ("model", "implementation", "file", "mflops", "timeout_s", *OPTIONS))
    file = folder / _text(where, row, "file")
    if not file.is_file():
        raise _bad(where, f"file = {row['file']!r}: there is no file {file}")
    options: dict[str, int | float] = {
        name: _whole(where, row, name, 1, most) for name, most in OPTIONS.items() if name in row
    }
    if "timeout_s" in row:
        options["timeout_s"] = _number(where, row, "timeout_s", LEAST_TIMEOUT_S, LONGEST_TIMEOUT_S)
    return PlannedTest(
        model=_text(where, row, "model"),
        implementation=_text(where, row, "implementation"),
        file=file,
        mflops=float(_number(where, row, "mflops", LEAST, MOST)),
        options=options,
    )


def _require_consistent(where: str, plan: SuitePlan) -> None:
    for (model, implementation), uses in Counter((t.model, t.implementation) for t in plan.tests).items():
        if uses > 1:
            raise _bad(where, f"the test {model} ({implementation}) is given twice")
    for test in plan.tests:
        if plan.mflops[test.model] != test.mflops:
            raise _bad(
                where, f"the model {test.model} has {test.mflops:g} and {plan.mflops[test.model]:g} mflops"
            )


def _require_known(where: str, row: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in row:
        if key not in known:
            raise _bad(where, f"unknown key {key!r}; the keys are {', '.join(known)}")


def _text(where: str, row: Mapping[str, Any], key: str, default: str | None = None) -> str:
    value = row.get(key, default)
    if value is None:
        raise _bad(where, f"the key {key!r} is missing")
    if not isinstance(value, str) or not value.isprintable() or (not value.strip() and value != default):
        raise _bad(where, f"{key} = {value!r} must be a line of text")
    return value.strip()


def _number(
    where: str, row: Mapping[str, Any], key: str, least: float, most: float, default: float | None = None
) -> float:
    value = row.get(key, default)
    if value is None:
        raise _bad(where, f"the key {key!r} is missing")
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise _bad(where, f"{key} = {value!r} must be a number from {least:g} to {most:g}")
    return value


def _whole(
    where: str, row: Mapping[str, Any], key: str, least: int, most: int, default: int | None = None
) -> int:
    value = _number(where, row, key, least, most, default)
    if not isinstance(value, int):
        raise _bad(where, f"{key} = {value!r} must be a whole number")
    return value


def _bad(where: str, problem: str) -> RefereeError:
    return RefereeError("bad-suite", f"{where}: {problem}.")
