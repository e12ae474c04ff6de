"""The rows of a suite's file: [[models]], as `referee suite init` writes them, and [[tests]], a person's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lpirc_tracks.measured import LEAST, MOST
from lpirc_tracks.rules.aiotbench import AIOTBENCH
from lpirc_tracks.suites.implementations import (
    IMPLEMENTATIONS,
    PROCESSOR_DELEGATES,
    Implementation,
)
from lpirc_tracks.suites.plan_table import PlanTable
from referee.presence import is_file

OPTIONS = {"threads": 64, "memory_mb": 1_000_000, "repeats": 1000}
"""The integer options that a test may set besides `timeout_s`, with their maxima."""
WORDS = ("delegate", "channels")
LEVELS = {"mean": (-1e6, 1e6), "sigma": (1e-6, 1e6)}
"""Options with a number per channel, and their bounds. WORDS has the options with a word."""
LEAST_TIMEOUT_S = 0.01
LONGEST_TIMEOUT_S = 24 * 3600.0
FIGURES = ("threads", "delegate", "channels", "mean", "sigma")
"""Options on which accuracy or time depends."""
LAYOUTS = ("NHWC", "NCHW")
LARGEST_SIDE = 1000
NOT_QUANTIZED = "none"
"""The app of AIoTBench calls the published tests those without quantization, and has others with it."""

OPTION_KEYS = ("timeout_s", *OPTIONS, *WORDS, *LEVELS)
STATED_KEYS = ("source", "sha256", "layout", "side", "quantization")
TEST_KEYS = ("model", "implementation", "file", "mflops", *OPTION_KEYS, *STATED_KEYS)
MODEL_KEYS = (
    "model",
    "framework",
    "implementations",
    "file",
    "mflops",
    *STATED_KEYS,
    "preprocessing",
    "published_percent",
    *OPTION_KEYS,
)
Options = dict[str, int | float | str]


@dataclass(frozen=True)
class Stated:
    """What a row says of its model: "" or None where it says nothing. `accuracy_percent` is the published one."""

    sha256: str = ""
    layout: str = ""
    side: int | None = None
    quantization: str = ""
    accuracy_percent: float | None = None


@dataclass(frozen=True)
class PlannedTest:
    """A test: its model by name and by file, the MFLOPs of one image, and options for the harness.

    `published` is the implementation of a row of [[models]], None for a test of one's own. `file` is None in a row
    that no runtime of the harness can run.
    """

    model: str
    implementation: str
    file: Path | None
    mflops: float
    options: Mapping[str, int | float | str]
    stated: Stated = field(default_factory=Stated)
    published: Implementation | None = None

    @property
    def name(self) -> str:
        """The name of the test in messages."""
        return f"{self.model} ({self.implementation})"

    @property
    def settings(self) -> str:
        """The options that change figures: "channels=BGR mean=104,117,123"; "default" if there are none."""
        given = [
            f"{name}={self.options[name]}" for name in FIGURES if name in self.options
        ]
        return " ".join(given) or "default"

    @property
    def is_checked(self) -> bool:
        """True if the model must be as the row says before it is measured."""
        return self.published is not None or self.stated != Stated()


def own_test(table: PlanTable, folder: Path) -> PlannedTest:
    """Return the test of a [[tests]] table, whose file must be there. Raises RefereeError `bad-suite`."""
    table.require_known(*TEST_KEYS)
    file = folder / table.text("file")
    if not is_file(file):
        raise table.bad(f"file = {table.values['file']!r}: there is no file {file}")
    return PlannedTest(
        model=table.text("model"),
        implementation=table.text("implementation"),
        file=file,
        mflops=float(table.number("mflops", LEAST, MOST)),
        options=_options(table),
        stated=_stated(table),
    )


def model_tests(
    table: PlanTable, folder: Path, common: Mapping[str, Options]
) -> Iterator[PlannedTest]:
    """Yield the tests of a [[models]] table, one for each of its implementations; its file may be missing.

    `common` are options by implementation; those of the row come first. Raises RefereeError `bad-suite`.
    """
    table.require_known(*MODEL_KEYS)
    table.word("preprocessing", (AIOTBENCH.preprocessing,), AIOTBENCH.preprocessing)
    table.text("framework", "")
    used = [_implementation(table, name) for name in table.texts("implementations")]
    is_run_here = any(one.runtime is not None for one in used)
    file = (
        folder / table.text("file") if is_run_here or "file" in table.values else None
    )
    for implementation in used:
        options = dict(common.get(implementation.name, {})) | _options(table)
        _require_published(table, implementation, options)
        yield PlannedTest(
            model=table.text("model"),
            implementation=implementation.name,
            file=file,
            mflops=float(table.number("mflops", LEAST, MOST)),
            options=options,
            stated=_stated(table),
            published=implementation,
        )


def common_options(name: str, values: Any) -> dict[str, Options]:
    """Return the options of the table [implementations], by implementation. Raises RefereeError `bad-suite`."""
    whole = PlanTable(f"{name}, [implementations]", values)
    if not isinstance(values, dict):
        raise whole.bad("it must be a table, such as [implementations.tflite_nnapi]")
    whole.require_known(*IMPLEMENTATIONS)
    found = {}
    for key, own in values.items():
        table = PlanTable(f"{name}, [implementations.{key}]", own)
        if not isinstance(own, dict):
            raise table.bad("it must be a table of options")
        table.require_known("timeout_s", *OPTIONS, "delegate")
        found[key] = _options(table)
        _require_published(table, IMPLEMENTATIONS[key], found[key])
    return found


def _implementation(table: PlanTable, name: str) -> Implementation:
    if name not in IMPLEMENTATIONS:
        known = ", ".join(IMPLEMENTATIONS)
        advice = "a test in another implementation goes into a [[tests]] table"
        raise table.bad(f"the implementation {name!r} is none of {known}; {advice}")
    return IMPLEMENTATIONS[name]


def _require_published(
    table: PlanTable, implementation: Implementation, options: Options
) -> None:
    """Refuse what would make a published test another one: several threads, an accelerator instead of the processor.

    The benchmark's app gives TensorFlow Lite one thread.
    """
    own = "a test of your own goes into a [[tests]] table"
    threads = options.get("threads", 1)
    if threads != 1:
        raise table.bad(f"threads = {threads}: AIoTBench's tests have one; {own}")
    delegate = options.get("delegate", "")
    is_on_processor = delegate in ("", *PROCESSOR_DELEGATES)
    if implementation.name == "tflite_cpu" and not is_on_processor:
        words = " or ".join(PROCESSOR_DELEGATES)
        problem = f"tflite_cpu is a test of the processor, so it must be {words}"
        raise table.bad(f"delegate = {delegate!r}: {problem}; {own}")


def _stated(table: PlanTable) -> Stated:
    table.text("source", "")
    side = accuracy = None
    if table.is_stated("side"):
        side = table.whole("side", 1, LARGEST_SIDE)
    if table.is_stated("published_percent"):
        accuracy = float(table.number("published_percent", 0, 100))
    return Stated(
        sha256=table.sha256("sha256"),
        layout=table.word("layout", LAYOUTS, ""),
        side=side,
        quantization=table.text("quantization", ""),
        accuracy_percent=accuracy,
    )


def _options(table: PlanTable) -> Options:
    options: Options = {}
    for name, most in OPTIONS.items():
        if name in table.values:
            options[name] = table.whole(name, 1, most)
    if "timeout_s" in table.values:
        options["timeout_s"] = table.number(
            "timeout_s", LEAST_TIMEOUT_S, LONGEST_TIMEOUT_S
        )
    for name in WORDS:
        if table.is_stated(name):
            options[name] = table.text(name)
    for name, ends in LEVELS.items():
        if table.is_stated(name):
            options[name] = table.levels(name, *ends)
    if options.get("channels", "RGB") not in ("RGB", "BGR"):
        raise table.bad(f"channels = {options['channels']!r} must be RGB or BGR")
    return options
