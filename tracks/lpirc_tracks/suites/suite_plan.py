"""The plan of a suite, a TOML file: which (model, implementation) tests to measure, and how."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lpirc_testsets.file_bytes import file_bytes
from lpirc_tracks.measured import LEAST, MOST
from lpirc_tracks.rules.aiotbench import COOLDOWN_S
from referee.config import toml_table
from referee.errors import RefereeError
from referee.presence import is_file

IMAGES = 5000
LONGEST_COOLDOWN_S = 24 * 3600.0
OPTIONS = {"threads": 64, "memory_mb": 1_000_000, "repeats": 1000}
"""The integer options that a test may set besides `timeout_s`, with their maxima."""
WORDS = ("delegate", "channels")
LEVELS = {"mean": (-1e6, 1e6), "sigma": (1e-6, 1e6)}
"""Options with a number per channel, and their bounds. WORDS has the options with a word.
"""
LEAST_TIMEOUT_S = 0.01
LONGEST_TIMEOUT_S = 24 * 3600.0


@dataclass(frozen=True)
class PlannedTest:
    """A test: its model by name and by file, the MFLOPs of one image, and options for the harness."""

    model: str
    implementation: str
    file: Path
    mflops: float
    options: Mapping[str, int | float | str]

    @property
    def name(self) -> str:
        """The name of the test in messages."""
        return f"{self.model} ({self.implementation})"


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
    try:
        values = toml_table(file_bytes(path).decode())
    except (OSError, ValueError, RecursionError) as error:
        why = (error.strerror or error) if isinstance(error, OSError) else error
        raise RefereeError("bad-suite", f"{path} cannot be read: {why}.") from error
    table = _Table(str(path), values)
    rows = values.get("tests", [])
    if (
        not isinstance(rows, list)
        or not rows
        or not all(isinstance(row, dict) for row in rows)
    ):
        raise table.bad(
            "there is no test; add [[tests]] tables with model, implementation, file, mflops"
        )
    table.require_known("device", "cooldown_s", "limit", "tests")
    plan = SuitePlan(
        device=table.text("device", ""),
        cooldown_s=float(table.number("cooldown_s", 0, LONGEST_COOLDOWN_S, COOLDOWN_S)),
        limit=table.whole("limit", 2, 10_000_000, IMAGES),
        tests=tuple(
            _test(_Table(f"{path}, test {n}", row), path.parent)
            for n, row in enumerate(rows, 1)
        ),
    )
    for (model, implementation), uses in Counter(
        (t.model, t.implementation) for t in plan.tests
    ).items():
        if uses > 1:
            raise table.bad(f"the test {model} ({implementation}) is given twice")
    for test in plan.tests:
        if plan.mflops[test.model] != test.mflops:
            figures = f"{test.mflops:g} and {plan.mflops[test.model]:g} mflops"
            raise table.bad(f"the model {test.model} has {figures}")
    return plan


@dataclass(frozen=True)
class _Table:
    """A table of the file, with its name for messages. All methods raise RefereeError `bad-suite`."""

    name: str
    values: Mapping[str, Any]

    def bad(self, problem: str) -> RefereeError:
        return RefereeError("bad-suite", f"{self.name}: {problem}.")

    def require_known(self, *known: str) -> None:
        for key in self.values:
            if key not in known:
                raise self.bad(f"unknown key {key!r}; the keys are {', '.join(known)}")

    def get(self, key: str, default: Any) -> Any:
        value = self.values.get(key, default)
        if value is None:
            raise self.bad(f"the key {key!r} is missing")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        value = self.get(key, default)
        is_line = (
            isinstance(value, str)
            and value.isprintable()
            and (value.strip() or value == default)
        )
        if not is_line:
            raise self.bad(f"{key} = {value!r} must be a line of text")
        return str(value).strip()

    def number(
        self, key: str, least: float, most: float, default: float | None = None
    ) -> float:
        value = self.get(key, default)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not least <= value <= most
        ):
            raise self.bad(
                f"{key} = {value!r} must be a number from {least:g} to {most:g}"
            )
        return value

    def whole(self, key: str, least: int, most: int, default: int | None = None) -> int:
        value = self.number(key, least, most, default)
        if not isinstance(value, int):
            raise self.bad(f"{key} = {value!r} must be a whole number")
        return value

    def levels(self, key: str, least: float, most: float) -> str:
        """Return one number for all channels, or a list of three, as the harness's option takes it."""
        value = self.values[key]
        each = value if isinstance(value, list) and len(value) == 3 else [value]
        numbers = [
            replace(self, values={key: one}).number(key, least, most) for one in each
        ]
        return ",".join(map(repr, numbers))


def _test(table: _Table, folder: Path) -> PlannedTest:
    table.require_known(
        "model",
        "implementation",
        "file",
        "mflops",
        "timeout_s",
        *OPTIONS,
        *WORDS,
        *LEVELS,
    )
    file = folder / table.text("file")
    if not is_file(file):
        raise table.bad(f"file = {table.values['file']!r}: there is no file {file}")
    options: dict[str, int | float | str] = {
        name: table.whole(name, 1, most)
        for name, most in OPTIONS.items()
        if name in table.values
    }
    if "timeout_s" in table.values:
        options["timeout_s"] = table.number(
            "timeout_s", LEAST_TIMEOUT_S, LONGEST_TIMEOUT_S
        )
    options |= {name: table.text(name) for name in WORDS if name in table.values}
    options |= {
        name: table.levels(name, *ends)
        for name, ends in LEVELS.items()
        if name in table.values
    }
    if options.get("channels", "RGB") not in ("RGB", "BGR"):
        raise table.bad(f"channels = {options['channels']!r} must be RGB or BGR")
    mflops = float(table.number("mflops", LEAST, MOST))
    return PlannedTest(
        table.text("model"), table.text("implementation"), file, mflops, options
    )
