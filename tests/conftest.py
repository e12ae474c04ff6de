"""For all tests: machines are shared, so no example of Hypothesis fails for being slow; there are 25, always the same.

`--hypothesis-profile=thorough` looks for what so few examples do not find.

What is imported is compiled once, even where the environment says to keep no compiled code: each of the processes that
share the tests, and each command that they start, would else compile all of it anew.
"""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, settings

from tests import skipped, slow
from tests.browser import browser  # noqa: F401 - a fixture for all
from tests.forbidden import as_on_python_3_14, open_folder, unprivileged  # noqa: F401 - for all, too

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Each process that imports NumPy would else have a thread more, which looks for work all the time at first.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
gc.disable()
_FORGIVING = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("shared", _FORGIVING, derandomize=True, max_examples=25)
settings.register_profile("thorough", _FORGIVING, max_examples=1000)
settings.load_profile("shared")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--skipped-last-time`."""
    skipped.add_option(parser)


def pytest_collection_modifyitems(
    config: pytest.Config,
    items: list[pytest.Item],
) -> None:
    """Mark slow modules; `--skipped-last-time`."""
    slow.mark(items)
    skipped.keep_only_skipped(config, items)


def pytest_configure(config: pytest.Config) -> None:
    """Hypothesis looks for what refers to its random numbers; since Python 3.14 it does not see what is frozen here."""
    warning = "It looks like `register_random` was passed an object"
    config.addinivalue_line(
        "filterwarnings",
        f"ignore:{warning}:hypothesis.errors.HypothesisWarning",
    )
    skipped.check(config)


def pytest_collection_finish() -> None:
    """The garbage collector need not look through five thousand tests, neither while they are collected nor later."""
    gc.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count the skipped tests by reason: what a bare machine lacks is seen at a glance."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ") for report in reports
    )
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count} skipped: {reason}")
    names = [report.nodeid for report in reports]
    skipped.record(terminalreporter.config, names)


@pytest.fixture(autouse=True)
def no_database_is_left_open() -> Iterator[None]:
    """Whoever opens a database closes it.

    A forgotten connection stays open until the garbage collector comes, and from Python 3.13 on warns then: in whatever
    test runs at that moment.
    """
    before = _open_databases()
    yield
    left = _open_databases() - before
    assert not left, f"opened and not closed: {', '.join(left)}"


def _open_databases() -> Counter[str]:
    """How often this process has each database open."""
    found: Counter[str] = Counter()
    for descriptor in os.listdir("/proc/self/fd"):  # noqa: PTH208 - before and after each test: pathlib takes thrice as long
        # Closed meanwhile, as the one of this listing is.
        with suppress(FileNotFoundError):
            name = os.readlink(f"/proc/self/fd/{descriptor}").removesuffix(" (deleted)")  # noqa: PTH115 - so does this
            # ONNX Runtime keeps one of its own in the home folder, open until the process ends.
            found[name] += name.endswith(".db") and "/.onnxruntime/" not in name
    return found
