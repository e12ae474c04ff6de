"""Steps between arming and start: compensate the zero level, and check that the setup is unchanged."""

from __future__ import annotations

import logging
from typing import Final

from lpirc_power.errors import MeterBusy, MeterError, MeterRefused, MeterTimeout
from lpirc_power.meter import IntegratorState, Meter, Setup, Unconfirmed

_log: Final = logging.getLogger(__name__)


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
