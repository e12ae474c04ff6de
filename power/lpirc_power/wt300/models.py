"""Known models of the WT300 family: elements, ranges, update intervals (IM WT310-02EN, IM WT310E-02EN)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from lpirc_power.channels import JOINT
from lpirc_power.errors import MeterRangeError
from lpirc_power.meter import ALL_ELEMENTS, Drift, Identity, Limits
from lpirc_power.meter_standing import is_of

MAKERS: Final = ("YOKOGAWA",)
SUPPORTED: Final = (
    "WT310, WT332 and WT333, WT310E, WT310EH, WT332E and WT333E of YOKOGAWA"
)
VOLTAGES_V: Final = (15.0, 30.0, 60.0, 150.0, 300.0, 600.0)
RATES_S: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
E_RATES_S: Final = (*RATES_S, 10.0, 20.0)
_FINE_A: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
_HIGH_A: Final = (1.0, 2.0, 5.0, 10.0, 20.0, 40.0)
_MANY_A: Final = _FINE_A[6:]
# DC, page 7-7, for each degree after the zero-level compensation or a change of range: of the voltage range, and of the
# current into the direct input in ranges from 0.5 A, and in those from 5 mA to 200 mA.
_DRIFT: Final = Drift(
    voltage_range_share_per_c=0.0002,
    coarse_a_per_c=500e-6,
    fine_a_per_c=5e-6,
    coarse_from_a=0.5,
    smallest_voltage_range_v=VOLTAGES_V[0],
    source="IM WT310E-02EN, page 7-7",
)
# Active power, 12 months after calibration, 23 +-5 degrees C, warmed up for half an hour. Page 7-7: AC of 45 to 66 Hz,
# and DC. Page 7-8: a power factor of 0; the line filter at 45 to 66 Hz, and below, where DC is not excepted; crest
# factor 6 or 6A.
_E: Final = Limits(
    reading_share=0.001,
    range_share=0.0005,
    dc_range_share=0.002,
    apparent_share=0.001,
    smallest_range_w=math.nan,  # the model's
    filter_share=0.003,
    dc_filter_share=0.01,
    crest_factor_6_times=2.0,
    source="IM WT310E-02EN, pages 7-7 and 7-8",
    drift=_DRIFT,
    age_s=0.0,  # it integrates between two commands
)
_FIRST: Final = replace(
    _E,
    range_share=0.001,
    apparent_share=0.002,
    source="IM WT310-02EN, pages 7-7 and 7-8",
    drift=replace(_DRIFT, source="IM WT310-02EN, page 7-7"),
)
HIGH_DC_SHARE: Final = 0.003
"""DC error, as a part of the reading, of the direct current input of a WT310EH or WT310HC (manuals, page 7-7)."""
HIGH_DRIFT_A_PER_C: Final = 1e-3
"""DC drift of that input in A per degree C, in every range (the same page)."""


@dataclass(frozen=True)
class Model:
    """A model of the family: ranges at crest factor 3, update intervals, and input elements.

    Voltage and current range are common to all elements of a meter: the family has no range by element.
    """

    currents_a: tuple[float, ...]
    rates_s: tuple[float, ...]
    elements: tuple[str, ...] = ("1",)
    sum_wiring: str = ""
    """Wiring in which the sum covers all elements, each measured on its own; other wirings omit the second element."""
    accuracy: Limits = _E

    def voltage_ranges_v(self, crest_factor: int) -> tuple[float, ...]:
        """Return the voltage ranges at a crest factor; 6 halves them."""
        return tuple(value / (crest_factor / 3) for value in VOLTAGES_V)

    def current_ranges_a(self, crest_factor: int) -> tuple[float, ...]:
        """Return the current ranges at a crest factor; 6 halves them."""
        return tuple(value / (crest_factor / 3) for value in self.currents_a)

    @property
    def limits(self) -> Limits:
        """The limits of error of an active power, for AC of 45 to 66 Hz and for DC."""
        smallest_w = VOLTAGES_V[0] * self.currents_a[0]
        return replace(
            self.accuracy, smallest_range_w=smallest_w, elements=len(self.elements)
        )

    @property
    def measurable(self) -> tuple[str, ...]:
        """The valid values of `Setup.element`: each element, and the sum if there are several."""
        return (
            self.elements if len(self.elements) == 1 else (*self.elements, ALL_ELEMENTS)
        )


def _high(of: Limits) -> Limits:
    """Return the limits of a model with an input for high currents."""
    drift = of.drift and replace(
        of.drift, coarse_a_per_c=HIGH_DRIFT_A_PER_C, coarse_from_a=0.0
    )
    return replace(of, dc_reading_share=HIGH_DC_SHARE, drift=drift)


# *IDN? carries no suffix code; the beginning of the name identifies a model. The two elements of a WT332E are its first
# and its third; P1W3 adds the apparent power of both as it is, P3W3 does not (IM WT310-02EN, computation).
_MODELS: Final = (
    ("WT310EH", Model(_HIGH_A, E_RATES_S, accuracy=_high(_E))),
    ("WT310HC", Model(_HIGH_A, RATES_S, accuracy=_high(_FIRST))),
    ("WT310E", Model(_FINE_A, E_RATES_S)),
    ("WT332E", Model(_MANY_A, E_RATES_S, ("1", "3"), "P1W3")),
    ("WT333E", Model(_MANY_A, E_RATES_S, ("1", "2", "3"), "P3W4")),
    ("WT310", Model(_FINE_A, RATES_S, accuracy=_FIRST)),
    ("WT332", Model(_MANY_A, RATES_S, ("1", "3"), "P1W3", _FIRST)),
    ("WT333", Model(_MANY_A, RATES_S, ("1", "2", "3"), "P3W4", _FIRST)),
)


def model_named(name: str) -> Model | None:
    """Return the model named by *IDN?; None if it is not of the family."""
    wanted = name.strip().upper()
    return next(
        (model for beginning, model in _MODELS if wanted.startswith(beginning)), None
    )


def is_of_family(identity: Identity) -> bool:
    """Return True if the maker's model belongs to the family: another maker may use the same names."""
    return is_of(identity, MAKERS) and model_named(identity.model) is not None


def measured_elements(model: Model, element: str, name: str) -> tuple[str, ...]:
    """Return the elements meant by `element`, a single one, several ("1+3") or "sum"; `name` is the model's.

    Raises MeterError `meter-range`, which lists the existing elements, for any other.
    """
    several = element.split(JOINT)
    if len(several) > 1 and several == [
        one for one in model.elements if one in several
    ]:
        return tuple(several)
    if element not in model.measurable:
        if len(model.elements) == 1:
            has = f"a {name} has element {model.elements[0]} only"
        else:
            has = f"a {name} has elements {' and '.join(model.elements)}, and their {ALL_ELEMENTS}"
        raise MeterRangeError(f"This meter has no element {element!r}: {has}.")
    return model.elements if element == ALL_ELEMENTS else (element,)


def listed(value: float, choices: tuple[float, ...], what: str, unit: str) -> float:
    """Return the choice that equals `value`; MeterError `meter-range`, which lists all choices, if none does."""
    for choice in choices:
        if math.isclose(value, choice, rel_tol=1e-6):
            return choice
    names = ", ".join(f"{choice:g}" for choice in choices)
    raise MeterRangeError(
        f"This meter has no {what} {value:g} {unit}; it has {names} {unit}."
    )
