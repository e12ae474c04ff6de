"""Energy arithmetic, and the checks of a run.

Pure: it uses no clock, threads or meter, and treats no model of meter specially.

Start with `measurement_checks`.
"""

from lpirc_power.energy.budget import Budget, Distribution, Term, with_terms
from lpirc_power.energy.energy_budget import budget_of
from lpirc_power.energy.integral import above_idle_wh, mean_power_w, trapezoid_wh
from lpirc_power.energy.measured_energy import Energy, energy_of
from lpirc_power.energy.measurement import Check, Measurement
from lpirc_power.energy.measurement_checks import energy_checks
from lpirc_power.energy.spread import budget_of_mean, spread_of

__all__ = [
    "Budget",
    "Check",
    "Distribution",
    "Energy",
    "Measurement",
    "Term",
    "above_idle_wh",
    "budget_of",
    "budget_of_mean",
    "energy_checks",
    "energy_of",
    "mean_power_w",
    "spread_of",
    "trapezoid_wh",
    "with_terms",
]
