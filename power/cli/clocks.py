"""The clocks of the command line: the only reader of time in `power`, which else takes it as an argument."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from power.clocks import Clocks


def real_clocks() -> Clocks:
    """Return this machine's clocks."""
    return Clocks(time.monotonic, lambda: datetime.now(UTC), time.sleep)
