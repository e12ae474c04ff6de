"""The driver before a simulated meter in each form of answers that is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lpirc_power.simulator.instrument_state import DIALECTS


@pytest.fixture(params=DIALECTS)
def dialect(request: Any) -> str:
    """The form in which the simulated meter answers."""
    return str(request.param)


@pytest.fixture
def simulate(
    simulate: Any,
    dialect: str,
) -> Callable[..., Any]:
    """Start simulators that answer in that form."""
    return lambda *options: simulate("--dialect", dialect, *options)
