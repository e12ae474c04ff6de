"""The limits of error of the meter that measured a run."""

from __future__ import annotations

from lpirc_power.addresses.meter_address import limits_by_identity
from lpirc_power.meter import Identity, Limits
from lpirc_power.meter_standing import Standing
from referee.store.records import Run


def limits_of_run(run: Run) -> Limits | None:
    """Return the limits of error of a run's meter; None if its own driver stated none when the run was armed.

    A driver of another maker that knows a model of the same name says nothing about that meter.
    """
    if run.meter_standing is Standing.UNKNOWN_MODEL:
        return None
    return limits_by_identity(Identity.parse(run.meter_identity or ""))
