"""Models that can be simulated (IM WT310-01EN, IM WT310E-01EN and -02EN).

Kept apart from the driver's list of models, so that each checks the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lpirc_power.errors import MeterError

VOLTAGES_V: Final = (15.0, 30.0, 60.0, 150.0, 300.0, 600.0)
"""Voltage ranges of every model at crest factor 3."""
_FINE_A: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
_COARSE_A: Final = _FINE_A[6:]
_HIGH_A: Final = (1.0, 2.0, 5.0, 10.0, 20.0, 40.0)
_RATES_S: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
_ENHANCED_RATES_S: Final = (*_RATES_S, 10.0, 20.0)


@dataclass(frozen=True)
class Model:
    """A model: its elements, ranges and wirings; current ranges are those at crest factor 3.

    `wirings` holds the elements that each wiring sums, the factory setting first. `protected_a` is the largest fixed
    range that the meter leaves at an overload, 0 if it leaves none. `over_at_top` is the limit of the largest current
    range, relative to it. `enhanced` marks the E models, which have crest factor 6A and the rate AUTO.
    """

    name: str
    elements: tuple[int, ...]
    currents_a: tuple[float, ...]
    rates_s: tuple[float, ...]
    wirings: Mapping[str, tuple[int, ...]]
    protected_a: float = 0.0
    over_at_top: float = 1.4
    enhanced: bool = True

    @property
    def default_wiring(self) -> str:
        """The wiring set at the factory."""
        return next(iter(self.wirings))


_SINGLE: Final = {"P1W2": (1,)}
# A model of two elements has the first and the third of the three places. Which wiring a model leaves the
# factory with is not known; for three elements the one that sums them all is taken.
_TWO: Final = {"P1W3": (1, 3), "P3W3": (1, 3)}
_THREE: Final = {"P3W4": (1, 2, 3), **_TWO, "V3A3": (1, 3)}

MODELS: Final = (
    # WT310-01EN mentions neither protected ranges nor the other additions of the E models.
    Model("WT310", (1,), _FINE_A, _RATES_S, _SINGLE, enhanced=False),
    Model("WT310E", (1,), _FINE_A, _ENHANCED_RATES_S, _SINGLE, protected_a=0.2),
    Model("WT310EH", (1,), _HIGH_A, _ENHANCED_RATES_S, _SINGLE, over_at_top=1.1),
    Model("WT332E", (1, 3), _COARSE_A, _ENHANCED_RATES_S, _TWO),
    Model("WT333E", (1, 2, 3), _COARSE_A, _ENHANCED_RATES_S, _THREE),
)


def model_named(name: str) -> Model:
    """Return the model with the given name; MeterError `simulator-model` lists the existing ones."""
    for model in MODELS:
        if model.name == name.strip().upper():
            return model
    names = ", ".join(model.name for model in MODELS)
    raise MeterError(
        "simulator-model", f"There is no simulated {name}; there are {names}."
    )
