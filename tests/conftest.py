"""For all tests: machines are shared, so no example of Hypothesis fails for being slow; there are 25, always the same.

`--hypothesis-profile=thorough` looks for what so few examples do not find.

What is imported is compiled once, even where the environment says to keep no compiled code: each of the processes that
share the tests, and each command that they start, would else compile all of it anew.
"""

from __future__ import annotations

import gc
import os
import sys

from hypothesis import HealthCheck, settings

from tests.browser import browser  # noqa: F401 - a fixture for all
from tests.forbidden import as_on_python_3_14, open_folder, unprivileged  # noqa: F401 - for all, too

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Each process that imports NumPy would else have a thread more, which looks for work all the time at first.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
gc.disable()
_FORGIVING = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
settings.register_profile("shared", _FORGIVING, derandomize=True, max_examples=25)
settings.register_profile("thorough", _FORGIVING, max_examples=1000)
settings.load_profile("shared")


def pytest_collection_finish() -> None:
    """The garbage collector need not look through five thousand tests, neither while they are collected nor later."""
    gc.freeze()
    gc.enable()
