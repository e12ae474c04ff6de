"""The known models of the WT300 family and their ranges (IM WT310-01EN, IM WT310E-01EN)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from power.errors import MeterError

VOLTAGES_V: Final = (15.0, 30.0, 60.0, 150.0, 300.0, 600.0)
RATES_S: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
SLOW_RATES_S: Final = (10.0, 20.0)
_FINE_A: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
_HIGH_A: Final = (1.0, 2.0, 5.0, 10.0, 20.0, 40.0)
_MANY_A: Final = _FINE_A[6:]


@dataclass(frozen=True)
class Model:
    """What a model can be set to: ranges at crest factor 3, and update intervals."""

    currents_a: tuple[float, ...]
    rates_s: tuple[float, ...]

    def voltage_ranges_v(self, crest_factor: int) -> tuple[float, ...]:
        """Return the voltage ranges; crest factor 6 halves them."""
        return tuple(value * 3 / crest_factor for value in VOLTAGES_V)

    def current_ranges_a(self, crest_factor: int) -> tuple[float, ...]:
        """Return the current ranges; crest factor 6 halves them."""
        return tuple(value * 3 / crest_factor for value in self.currents_a)


# *IDN? carries no suffix code; E models are told by how the name begins.
_MODELS: Final = (
    (re.compile(r"WT310EH|WT310HC"), Model(_HIGH_A, RATES_S)),
    (re.compile(r"WT310E"), Model(_FINE_A, RATES_S + SLOW_RATES_S)),
    (re.compile(r"WT33[0-9]E"), Model(_MANY_A, RATES_S + SLOW_RATES_S)),
    (re.compile(r"WT310"), Model(_FINE_A, RATES_S)),
)


def model_named(name: str) -> Model:
    """Return the model that *IDN? names; MeterError `meter-wrong-model` for one that is not of the family."""
    for pattern, model in _MODELS:
        if pattern.match(name.strip().upper()):
            return model
    raise MeterError(
        "meter-wrong-model",
        f"The meter says it is a {name}; only WT310, WT310E, WT310EH and WT332E/WT333E are supported.",
        model=name,
    )


def listed(value: float, choices: tuple[float, ...], what: str, unit: str) -> float:
    """Return the choice that equals `value`; else MeterError `meter-range`, naming them all."""
    for choice in choices:
        if math.isclose(value, choice, rel_tol=1e-6):
            return choice
    names = ", ".join(f"{choice:g}" for choice in choices)
    raise MeterError(
        "meter-range",
        f"This meter has no {what} {value:g} {unit}; it has {names} {unit}.",
        value=value,
        choices=list(choices),
    )
