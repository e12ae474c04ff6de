"""Steps between arming and start: compensate the zero level, and check that the setup is unchanged."""

from __future__ import annotations

import logging
from typing import Final

from lpirc_power.errors import (
    MeterBusy,
    MeterError,
    MeterRangeError,
    MeterRefused,
    MeterTimeout,
)
from lpirc_power.meter import IntegratorState, Meter, Setup, Unconfirmed

_log: Final = logging.getLogger(__name__)


def lacks_ranges(meter: Meter, setup: Setup) -> bool:
    """Return True if a setup has fixed ranges, and the meter offers none of that kind."""
    choices = meter.choices()
    lacks_voltage = setup.voltage_range_v is not None and not choices.voltage_ranges_v
    lacks_current = setup.current_range_a is not None and not choices.current_ranges_a
    return lacks_voltage or lacks_current


def require_ranges(meter: Meter, setup: Setup) -> None:
    """Raise MeterError `meter-range` if a setup has fixed ranges, which the meter would ignore."""
    if not lacks_ranges(meter, setup):
        return
    asked = []
    if setup.voltage_range_v is not None:
        asked.append(f"{setup.voltage_range_v:g} V")
    if setup.current_range_a is not None:
        asked.append(f"{setup.current_range_a:g} A")
    raise MeterRangeError(
        f"The meter {meter.identity} has no ranges to set, and {' and '.join(asked)} would change nothing: leave the "
        "voltage range and the current range out."
    )


def zero_failure(meter: Meter) -> MeterError | None:
    """Compensate the zero level; return the reason if that failed.

    A meter without this function is still used; its drift since an earlier compensation is then unknown.
    """
    try:
        meter.zero()
    except (MeterRefused, MeterTimeout) as error:
        _log.warning("%s", error.sentence)
        return error
    return None


def require_setup(meter: Meter, setup: Setup) -> None:
    """Raise MeterError if, since arming, settings were changed at the panel or START was pressed."""
    state = meter.state()
    if state is not IntegratorState.RESET:
        raise MeterBusy(
            f"The meter {meter.identity} was armed, but its integrator is in state {state.value}: another program "
            "or a person has used it. Arm it again."
        )
    found = meter.changes(setup)
    changes = [one for one in found if not isinstance(one, Unconfirmed)]
    if changes:
        raise MeterError(
            "meter-setup-changed",
            f"The meter {meter.identity} has other settings than at its arming: {'; '.join(changes)}. Arm it again.",
        )
