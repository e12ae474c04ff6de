"""Energy arithmetic, and the checks of a run.

Pure: it uses no clock, threads or meter, and treats no model of meter specially.

Start with `measurement_checks`.
"""

from lpirc_power.energy.integral import above_idle_wh, mean_power_w, trapezoid_wh
from lpirc_power.energy.measured_energy import Energy, energy_of
from lpirc_power.energy.measurement import Check, Measurement
from lpirc_power.energy.measurement_checks import energy_checks

__all__ = [
    "Check",
    "Energy",
    "Measurement",
    "above_idle_wh",
    "energy_checks",
    "energy_of",
    "mean_power_w",
    "trapezoid_wh",
]
