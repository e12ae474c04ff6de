"""The reasons why a run that has ended has no valid energy. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lpirc_power.energy.continuity import EnergyLoss, held, loss_between, sums
from lpirc_power.errors import MeterError, PassingMeterError
from lpirc_power.meter import IntegratorState, Reading
from referee.store.records import EnergyMissing, Run

Missing = tuple[EnergyMissing, str]
MAY_RUN_ON = "Until the meter can be reached, it may keep integrating, to the end of its timer; repair the link soon."
READ_LATER = (
    "The meter keeps the energy until it is reset; the server reads it at its next start or the station's next "
    "arming."
)


def unreachable(error: MeterError) -> Missing:
    """Return the reason for a meter that could not be stopped and read."""
    until = READ_LATER
    if isinstance(error, PassingMeterError):
        until = f"{MAY_RUN_ON} {READ_LATER}"
    return EnergyMissing.READ_LATER, f"{error.sentence} {until}"


def foreign(
    run: Run,
    identity: str,
    reading: Reading,
    before: Reading | None,
    *,
    is_simulated: bool,
) -> Missing | None:
    """Return why the meter's values do not belong to the run, or None; `before` is an earlier reading of the run."""
    if identity != run.meter_identity:
        sentence = (
            f"Another meter answers: {identity}, not {run.meter_identity}. {READ_LATER}"
        )
        return EnergyMissing.READ_LATER, sentence
    loss = loss_between(before, reading)
    if loss is EnergyLoss.RESET:
        sentence = "The meter's integrator was reset or the meter switched off after the run had started"
        ended = "; a simulated meter ends with its server" if is_simulated else ""
        return EnergyMissing.METER_RESET, f"{sentence}{ended}."
    if before is not None and loss is EnergyLoss.BEGAN_AGAIN:
        sentence = f"The meter's integrator was restarted, so {sums(before)} were lost ({sums(reading)} now)."
        return EnergyMissing.BEGAN_AGAIN, sentence
    return None


def lost_before(loss: EnergyLoss | None) -> Missing | None:
    """Return why the readings show that the meter lacks energy of the run; None if they do not."""
    if loss is None or loss is EnergyLoss.CUT_SHORT:
        return None
    sentence = f"The energy was lost during the window. It {loss.words}."
    return EnergyMissing(loss.value), sentence


def in_doubt(reading: Reading, past: Sequence[Reading]) -> Missing | None:
    """Return why the meter's values after its stop may not be the run's energy; None if they are."""
    if reading.state is IntegratorState.START:
        began_again = (
            "After its stop the meter's integrator was started again, so its energy is not the run's "
            f"({sums(reading)})."
        )
        return EnergyMissing.BEGAN_AGAIN, began_again
    if sentence := held(past, reading):
        return EnergyMissing.READ_LATER, f"{sentence} {READ_LATER}"
    if math.isfinite(reading.energy_wh) and math.isfinite(reading.integrator_s):
        return None
    sentence = f"The meter's values are not valid: {reading.energy_wh} Wh in {reading.integrator_s} s. {READ_LATER}"
    return EnergyMissing.READ_LATER, sentence
