"""What each test of a suite lacks before it is measured, looked up on the device that measures it."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from lpirc_testsets.folder import sha256_of
from lpirc_tracks.submissions import harness
from lpirc_tracks.submissions.harness import Limits
from lpirc_tracks.suites.implementations import DeviceRuntimes, obstacle
from lpirc_tracks.suites.plan_rows import NOT_QUANTIZED, PlannedTest
from lpirc_tracks.suites.suite_plan import SuitePlan
from lpirc_tracks.suites.suite_table import SuiteRow, has_other_settings
from lpirc_tracks.track import Track
from referee.errors import ModelFault, RefereeError
from referee.presence import is_file

CHANNELS = 3
MISSING_EXTRA = "missing-extra"


class State(StrEnum):
    """`WRONG` is a fault of the suite's file, its table or a model's file, which somebody must correct."""

    MEASURED = "measured"
    FAILED = "failed"
    READY = "ready"
    MISSING = "missing"
    WRONG = "wrong"
    IMPOSSIBLE = "cannot run"


@dataclass(frozen=True)
class Readiness:
    """A test's state, with a sentence (without its full stop) that says why; "" for a test that is ready.

    `row` is its row in the table, `sha256` and `input_shape` are those of its model's file, where they are known.
    """

    test: PlannedTest
    state: State
    sentence: str = ""
    row: SuiteRow | None = None
    sha256: str = ""
    input_shape: tuple[int, ...] = ()

    @property
    def has_model(self) -> bool:
        """True if the test can be measured, or has been and its model is still there."""
        is_settled = self.state in (State.READY, State.MEASURED, State.FAILED)
        is_there = bool(self.sha256) or not self.test.is_checked
        return is_settled and is_there


def device_name(plan: SuitePlan) -> str:
    """Return the name of this device in the table."""
    return plan.device or platform.node()


@dataclass(frozen=True)
class Survey:
    """Looks at all tests of a plan with the rows of its table. Each model's file is loaded once, in its own process."""

    plan: SuitePlan
    table: Path
    rows: Iterable[SuiteRow]
    device: DeviceRuntimes
    rule: Track
    _described: dict[object, dict[str, Any]] = field(default_factory=dict)
    _sha256: dict[Path, str] = field(default_factory=dict)

    def look(self) -> list[Readiness]:
        """Return the tests in the plan's order.

        Raises RefereeError for a failure that says nothing of a model, and OSError.
        """
        name = device_name(self.plan)
        own = {
            (row.implementation, row.model): row
            for row in self.rows
            if row.device == name
        }
        found = [
            self._look_at(test, own.get((test.implementation, test.model)))
            for test in self.plan.tests
        ]
        return [_unlike_others(one, found) for one in found]

    def _look_at(self, test: PlannedTest, row: SuiteRow | None) -> Readiness:
        blank = Readiness(test, State.READY, row=row)
        file = test.file
        hindrance = self._hindrance(test)
        is_there = file is not None and is_file(file)
        if row is not None and (hindrance or not is_there):
            return _in_table(blank, row)
        if hindrance:
            return replace(blank, state=State.IMPOSSIBLE, sentence=hindrance)
        if file is None or not is_there:
            sentence = f"it can run here; put the model's file at {file}"
            return replace(blank, state=State.MISSING, sentence=sentence)
        if not test.is_checked:
            return blank if row is None else _in_table(blank, row)
        blank = replace(blank, sha256=self._sha256_of(file))
        fault = _checksum_fault(blank) or self._table_fault(blank)
        if fault:
            return replace(blank, state=State.WRONG, sentence=fault)
        return self._with_model(blank, file) if row is None else _in_table(blank, row)

    def _hindrance(self, test: PlannedTest) -> str:
        if test.published is None:
            return ""
        return obstacle(test.published, self.device, test.options)

    def _sha256_of(self, file: Path) -> str:
        if file not in self._sha256:
            self._sha256[file] = sha256_of(file)
        return self._sha256[file]

    def _table_fault(self, blank: Readiness) -> str:
        """Say whether the table has the test with another model's file or other settings; "" if not."""
        row = blank.row
        if row is None:
            return ""
        settings = blank.test.settings
        if row.model_sha256 != blank.sha256:
            other = "another model file"
        elif has_other_settings(row, settings):
            other = f"the settings {row.settings!r} instead of {settings!r}"
        else:
            return ""
        advice = "delete that line to measure it again"
        return f"{self.table} has it with {other}; {advice}"

    def _with_model(self, blank: Readiness, file: Path) -> Readiness:
        test = blank.test
        try:
            described = self._description(test, file)
        except ModelFault as fault:
            return replace(blank, state=State.WRONG, sentence=fault.sentence)
        except RefereeError as error:
            if error.code != MISSING_EXTRA:
                raise
            return replace(blank, state=State.IMPOSSIBLE, sentence=error.sentence)
        shape = tuple(described["input"]["shape"])
        found = replace(blank, input_shape=shape)
        contradiction = (
            _shape_fault(test, shape)
            or _levels_fault(test, described["input"]["dtype"])
            or _quantization_fault(test, described["outputs"])
        )
        if contradiction:
            return replace(found, state=State.WRONG, sentence=contradiction)
        return found

    def _description(self, test: PlannedTest, file: Path) -> dict[str, Any]:
        """Return the model as the harness describes it, from an earlier look where there was one."""
        given = ("memory_mb", "timeout_s", "delegate")
        options = {name: test.options.get(name) for name in given}
        key = (file, *options.values())
        if key not in self._described:
            limits = Limits(**options)  # type: ignore[arg-type]
            rule = rule_for(test, self.rule)
            self._described[key] = harness.description(file, rule, limits)
        return self._described[key]


def rule_for(test: PlannedTest, rule: Track) -> Track:
    """Return the rule with the runtime that the test's implementation prescribes."""
    published = test.published
    if published is None or published.runtime is None:
        return rule
    return replace(rule, runtime=published.runtime)


def _unlike_others(one: Readiness, found: Iterable[Readiness]) -> Readiness:
    """Return a test as it is, or as wrong if its model's file is also that of another model."""
    for other in found:
        is_other = other.test.model != one.test.model
        if is_other and one.has_model and one.sha256 and one.sha256 == other.sha256:
            sentence = (
                f"{one.test.file} is the same model as {other.test.file}, the file of "
                f"{other.test.model}; put the right file there"
            )
            return replace(one, state=State.WRONG, sentence=sentence)
    return one


def _in_table(blank: Readiness, row: SuiteRow) -> Readiness:
    state = State.FAILED if row.sentence else State.MEASURED
    return replace(blank, state=state, sentence=row.sentence)


def _checksum_fault(found: Readiness) -> str:
    """Say that the file is another than the row's; "" if the row names none, or this one."""
    stated = found.test.stated.sha256
    if stated in ("", found.sha256):
        return ""
    return (
        f"{found.test.file} has the SHA-256 {found.sha256}, but its row says {stated}; "
        "put the right file there, or correct the row"
    )


def _shape_fault(test: PlannedTest, shape: tuple[int, ...]) -> str:
    """Say how a model's input contradicts its row; "" if it does not."""
    is_first = shape[1] == CHANNELS != shape[3]
    layout = "NCHW" if is_first else "NHWC"
    height, width = shape[2:] if is_first else shape[1:3]
    stated = test.stated
    if stated.layout not in ("", layout):
        return (
            f"the input of {test.file} is {list(shape)}, which is {layout}, but its row "
            f"says layout = {stated.layout!r}; put the right file there, or correct the row"
        )
    if stated.side is not None and (height, width) != (stated.side, stated.side):
        return (
            f"the input of {test.file} is {height} by {width} pixels, but its row says "
            f"side = {stated.side}; put the right file there, or correct the row"
        )
    return ""


def _levels_fault(test: PlannedTest, dtype: str) -> str:
    given = [name for name in ("mean", "sigma") if name in test.options]
    if dtype == "uint8" and given:
        return (
            f"the input of {test.file} is uint8, which takes levels as they are, but its "
            f'row gives {" and ".join(given)}; write mean = "" and sigma = ""'
        )
    is_row = test.published is not None
    if dtype == "float32" and is_row and len(given) < 2:
        return (
            f"the input of {test.file} is float32, and its row does not say how levels of "
            "0 to 255 become its input, (level - mean) / sigma; write mean and sigma, 0 "
            "and 1 for a model that takes levels as they are"
        )
    return ""


def _quantization_fault(test: PlannedTest, outputs: list[dict[str, Any]]) -> str:
    """Say that a model for a row without quantization is quantized, as far as its outputs show it."""
    is_quantized = any(output["dtype"] == "uint8" for output in outputs)
    if test.stated.quantization != NOT_QUANTIZED or not is_quantized:
        return ""
    return (
        f"the output of {test.file} is uint8, so the model is quantized, but its row says "
        f"quantization = {NOT_QUANTIZED!r}; put the right file there, or correct the row"
    )
