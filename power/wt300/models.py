"""The known models of the WT300 family: elements, ranges, update intervals (IM WT310-02EN, IM WT310E-02EN)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final

from power.errors import MeterRangeError
from power.meter import ALL_ELEMENTS, Limits

VOLTAGES_V: Final = (15.0, 30.0, 60.0, 150.0, 300.0, 600.0)
RATES_S: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
E_RATES_S: Final = (*RATES_S, 10.0, 20.0)
_FINE_A: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
_HIGH_A: Final = (1.0, 2.0, 5.0, 10.0, 20.0, 40.0)
_MANY_A: Final = _FINE_A[6:]
_FIRST_SHARE: Final = 0.001
"""Of the models before the E ones (IM WT310-02EN)."""
READING_SHARE: Final = 0.001
DC_RANGE_SHARE: Final = 0.002
APPARENT_SHARE: Final = 0.001
"""Limits of error: 0.1 % of the reading, the model's share of the range (0.2 % for DC), and 0.1 % of the apparent power
for a low power factor (IM WT310-02EN, IM WT310E-02EN)."""


@dataclass(frozen=True)
class Model:
    """What a model can be set to: ranges at crest factor 3, update intervals, and its input elements.

    Voltage and current range are common to all elements of a meter: the family has no range by element.
    """

    currents_a: tuple[float, ...]
    rates_s: tuple[float, ...]
    elements: tuple[str, ...] = ("1",)
    sum_wiring: str = ""
    """The wiring under which its sum is that of all its elements, each on its own; others leave out the second."""
    range_share: float = 0.0005
    """The part of the power range in its limit of error for active power at 45 to 66 Hz."""

    def voltage_ranges_v(self, crest_factor: int) -> tuple[float, ...]:
        """Return the voltage ranges; crest factor 6 halves them."""
        return tuple(value * 3 / crest_factor for value in VOLTAGES_V)

    def current_ranges_a(self, crest_factor: int) -> tuple[float, ...]:
        """Return the current ranges; crest factor 6 halves them."""
        return tuple(value * 3 / crest_factor for value in self.currents_a)

    @property
    def limits(self) -> Limits:
        """What bounds the error of an active power at 45 to 66 Hz."""
        return Limits(
            READING_SHARE,
            self.range_share,
            DC_RANGE_SHARE,
            APPARENT_SHARE,
            smallest_range_w=VOLTAGES_V[0] * self.currents_a[0],
            elements=len(self.elements),
        )

    @property
    def measurable(self) -> tuple[str, ...]:
        """What `Setup.element` may name: each element, and the sum where there is more than one."""
        return self.elements if len(self.elements) == 1 else (*self.elements, ALL_ELEMENTS)


# *IDN? carries no suffix code; the beginning of the name identifies a model. The two elements of a WT332E are its first
# and its third; P1W3 adds the apparent power of both as it is, P3W3 does not (IM WT310-02EN, computation).
_MODELS: Final = (
    (re.compile(r"WT310EH"), Model(_HIGH_A, E_RATES_S)),
    (re.compile(r"WT310HC"), Model(_HIGH_A, RATES_S, range_share=_FIRST_SHARE)),
    (re.compile(r"WT310E"), Model(_FINE_A, E_RATES_S)),
    (re.compile(r"WT332E"), Model(_MANY_A, E_RATES_S, ("1", "3"), "P1W3")),
    (re.compile(r"WT333E"), Model(_MANY_A, E_RATES_S, ("1", "2", "3"), "P3W4")),
    (re.compile(r"WT332"), Model(_MANY_A, RATES_S, ("1", "3"), "P1W3", _FIRST_SHARE)),
    (re.compile(r"WT333"), Model(_MANY_A, RATES_S, ("1", "2", "3"), "P3W4", _FIRST_SHARE)),
    (re.compile(r"WT310"), Model(_FINE_A, RATES_S, range_share=_FIRST_SHARE)),
)


def model_named(name: str) -> Model | None:
    """Return the model that *IDN? names; None for one that is not of the family."""
    return next((model for pattern, model in _MODELS if pattern.match(name.strip().upper())), None)


def measured_elements(model: Model, element: str, name: str) -> tuple[str, ...]:
    """Return the elements behind `element`, which is one of them or "sum"; `name` is the model's.

    Raises MeterError `meter-range`, naming what there is, for an element that the model lacks.
    """
    if element not in model.measurable:
        if len(model.elements) == 1:
            has = f"a {name} has element {model.elements[0]} only"
        else:
            has = f"a {name} has elements {' and '.join(model.elements)}, and their {ALL_ELEMENTS}"
        raise MeterRangeError(f"This meter has no element {element!r}: {has}.")
    return model.elements if element == ALL_ELEMENTS else (element,)


def listed(value: float, choices: tuple[float, ...], what: str, unit: str) -> float:
    """Return the choice that equals `value`; else MeterError `meter-range`, naming them all."""
    for choice in choices:
        if math.isclose(value, choice, rel_tol=1e-6):
            return choice
    names = ", ".join(f"{choice:g}" for choice in choices)
    raise MeterRangeError(f"This meter has no {what} {value:g} {unit}; it has {names} {unit}.")
