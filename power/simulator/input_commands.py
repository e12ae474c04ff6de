"""The table's entries of input, ranges, update rate and display."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from power.simulator.command import (
    Command,
    Data,
    flag,
    remembered,
    setting,
    switch,
)
from power.simulator.measuring import AUTO_RATE_S
from power.simulator.numeric import item_text, parse_item
from power.simulator.ranges import CREST_FACTORS, Axis
from power.simulator.state import MeterState
from power.simulator.syntax import Pattern, RefusedError, choice, integer, number, plain, spelled

WIRINGS: Final = ("P1W2", "P1W3", "P3W3", "P3W4", "V3A3")


def _listed(choices: list[float], text: str, unit: str) -> int:
    value = number(text, unit)
    for index, listed in enumerate(choices):
        if math.isclose(value, listed, rel_tol=1e-6):
            return index
    raise RefusedError(222)


def _range_commands(
    node: str, unit: str, axis: Callable[[MeterState], Axis], decimals: int
) -> tuple[Command, Command]:
    # All elements share one range, so there is no node of an element (inferred from WT310E-01EN, which has the
    # range rise when any of them needs it).
    def put(meter: MeterState, text: str) -> None:
        place = axis(meter)
        place.index = _listed(place.listed(), text, unit)
        place.auto = False

    name = node.lower()
    return (
        setting(
            f"[:INPut]:{node}:RANGe",
            f"<{name}>",
            lambda meter: plain(axis(meter).value(), decimals),
            put,
            f"The range of {name}, fixed from then on.",
        ),
        flag(
            f"[:INPut]:{node}:AUTO",
            lambda meter: axis(meter).auto,
            lambda meter, on: setattr(axis(meter), "auto", on),
            f"Whether the range of {name} follows the load.",
        ),
    )


def _put_crest_factor(meter: MeterState, text: str) -> None:
    known = CREST_FACTORS if meter.model.enhanced else CREST_FACTORS[:2]
    wanted = "A6" if text.strip().upper() == "A6" else str(integer(text, 3, 6))
    if wanted not in known:
        raise RefusedError(222)
    meter.measuring.ranges.set_crest_factor(wanted)


def _put_rate(meter: MeterState, text: str) -> None:
    if meter.model.enhanced and text.strip().upper() == "AUTO":
        meter.measuring.set_rate(AUTO_RATE_S, auto=True)
        return
    rates_s = list(meter.model.rates_s)
    meter.measuring.set_rate(rates_s[_listed(rates_s, text, "S")])


def _rate(meter: MeterState) -> str:
    return "AUTO" if meter.measuring.auto_rate else plain(meter.measuring.rate_s, 3)


def _put_wiring(meter: MeterState, text: str) -> None:
    wiring = choice(text, WIRINGS)
    if wiring not in meter.model.wirings:
        raise RefusedError(222)
    meter.settings.words["wiring"] = wiring
    meter.measuring.set_wiring(wiring)


def _display_index(suffix: int | None) -> int:
    if suffix is None or not 1 <= suffix <= 4:
        raise RefusedError(114)
    return suffix


def _put_display(meter: MeterState, suffix: int | None, data: Data) -> None:
    meter.settings.display[_display_index(suffix)] = parse_item(meter, data)


def _display(meter: MeterState, suffix: int | None, _data: Data) -> str:
    return item_text(meter, meter.settings.display[_display_index(suffix)])


INPUT: Final = (
    remembered(
        "[:INPut]:MODE", "mode", ("RMS", "VMEan", "DC"), "How voltage and current are averaged.", True
    ),
    *_range_commands("VOLTage", "V", lambda meter: meter.measuring.ranges.voltage, 1),
    *_range_commands("CURRent", "A", lambda meter: meter.measuring.ranges.current, 3),
    setting(
        "[:INPut]:CFACtor",
        "{3|6|A6}",
        lambda meter: meter.measuring.ranges.crest_factor,
        _put_crest_factor,
        "The crest factor; changing it forces both ranges to their largest. A6 is 6A, on E models.",
        locked=True,
    ),
    remembered(
        "[:INPut]:SYNChronize",
        "synchronize",
        ("VOLTage", "CURRent", "OFF"),
        "Whose zero crossings bound a measurement.",
    ),
    switch("[:INPut]:FILTer:LINE", "line_filter", "The filter before the measurement.", locked=True),
    switch(
        "[:INPut]:FILTer:FREQuency",
        "frequency_filter",
        "The filter before the frequency counter and the zero crossings.",
        locked=True,
    ),
    setting(
        "[:INPut]:WIRing",
        "{" + "|".join(WIRINGS) + "}",
        lambda meter: spelled(meter.settings.words["wiring"], meter.settings.verbose),
        _put_wiring,
        "Which elements belong together; a model has only those that fit it.",
        locked=True,
    ),
    setting(
        ":RATE", "{<time>|AUTO}", _rate, _put_rate, "The update interval; AUTO on E models.", locked=True
    ),
    switch(
        "[:INPut]:SCALing:STATe",
        "scaling",
        "Whether values are multiplied by the ratios of transformers; remembered only.",
    ),
    switch(
        ":MEASure:AVERaging:STATe", "averaging", "Whether values are averaged over updates; remembered only."
    ),
    switch(":MEASure:MHOLd", "maximum_hold", "Whether maxima are shown; remembered only."),
    flag(
        ":HOLD",
        lambda meter: meter.settings.hold,
        lambda meter, on: meter.set_hold("hold", on),
        "Freezes what is shown and answered; measuring and integrating go on.",
    ),
    Command(
        Pattern(":DISPlay[:NORMal]:ITEM<n>"),
        "What display n, 1 to 4, shows.",
        "<function>[,<element>]",
        _display,
        _put_display,
    ),
)
