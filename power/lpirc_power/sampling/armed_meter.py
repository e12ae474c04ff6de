"""The checks of a meter that is armed: its zero level compensated, its setup unchanged until the start."""

from __future__ import annotations

import logging
from typing import Final

from lpirc_power.errors import MeterBusy, MeterError, MeterRefused, MeterTimeout
from lpirc_power.meter import IntegratorState, Meter, Setup, Unconfirmed

_log: Final = logging.getLogger(__name__)


def zero_failure(meter: Meter) -> MeterError | None:
    """Compensate the zero level; return why that failed.

    A meter that cannot is used as it is: its drift since an earlier time is then unknown.
    """
    try:
        meter.zero()
    except (MeterRefused, MeterTimeout) as error:
        _log.warning("%s", error.sentence)
        return error
    return None


def require_setup(meter: Meter, setup: Setup) -> None:
    """Raise MeterError if the settings were changed at the panel since the meter was armed, or START pressed."""
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
            f"The meter {meter.identity} is not set up as it was armed: {'; '.join(changes)}. Arm it again.",
        )
