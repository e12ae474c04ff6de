"""Command table entries of input, ranges, update rate and display."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from lpirc_power.simulator.command_table import (
    Command,
    Data,
    flag,
    only,
    query,
    ratio,
    remembered,
    setting,
    switch,
    word,
)
from lpirc_power.simulator.instrument_state import MeterState
from lpirc_power.simulator.measuring import AUTO_RATE_S
from lpirc_power.simulator.numeric import MATHS, items_command
from lpirc_power.simulator.simulated_ranges import CREST_FACTORS, Axis
from lpirc_power.simulator.status_registers import (
    current_peak,
    over_range,
    voltage_peak,
)
from lpirc_power.simulator.syntax import Pattern, RefusedError, integer, number, plain

WIRINGS: Final = ("P1W2", "P1W3", "P3W3", "P3W4", "V3A3")


def _listed(choices: list[float], text: str, unit: str) -> int:
    value = number(text, unit)
    for index, listed in enumerate(choices):
        if math.isclose(value, listed, rel_tol=1e-6):
            return index
    raise RefusedError(222)


def _range_commands(
    node: str, unit: str, axis: Callable[[MeterState], Axis], decimals: int
) -> tuple[Command, ...]:
    # All elements share one range, so there is no node of an element (inferred from WT310E-01EN, which has the
    # range rise when any of them needs it).
    def put(meter: MeterState, text: str) -> None:
        place = axis(meter)
        place.index = _listed(place.listed(), text, unit)
        place.auto = False

    def choose(meter: MeterState, _suffix: int | None, data: Data) -> None:
        place = axis(meter)
        listed = axis(meter).listed()
        every = only(data[:1]).upper() == "ALL"
        place.usable = (
            range(len(listed))
            if every
            else sorted(_listed(listed, text, unit) for text in data)
        )

    def chosen(meter: MeterState, _suffix: int | None, _data: Data) -> str:
        usable = axis(meter).usable
        listed = axis(meter).listed()
        return (
            "ALL"
            if len(usable) == len(listed)
            else ",".join(plain(listed[i], decimals) for i in usable)
        )

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
        Command(
            Pattern(f"[:INPut]:{node}:CONFig"),
            f"The ranges of {name} that automatic ranging may choose.",
            f"{{ALL|<{name}>[,<{name}>]...}}",
            chosen,
            choose,
        ),
    )


def _bits(meter: MeterState, *of_element: Callable[[int], int]) -> int:
    """Return bits of the condition register, grouped by element."""
    bits = [bit(element) for element in (1, 2, 3) for bit in of_element]
    return sum(
        bool(meter.status.condition & bit) << place for place, bit in enumerate(bits)
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


def _put_wiring(meter: MeterState, wiring: str) -> None:
    if wiring not in meter.model.wirings:
        raise RefusedError(222)
    meter.settings.words["wiring"] = wiring
    meter.measuring.set_wiring(wiring)


INPUT: Final = (
    remembered(
        "[:INPut]:MODE",
        "mode",
        "RMS VMEan DC",
        "How voltage and current are averaged.",
        True,
    ),
    *_range_commands("VOLTage", "V", lambda meter: meter.measuring.ranges.voltage, 1),
    *_range_commands("CURRent", "A", lambda meter: meter.measuring.ranges.current, 3),
    query(
        "[:INPut]:POVer",
        lambda meter: _bits(meter, voltage_peak, current_peak),
        "The peaks that are over range.",
    ),
    query(
        "[:INPut]:CRANge",
        lambda meter: _bits(meter, over_range),
        "Which elements are over range.",
    ),
    setting(
        "[:INPut]:CFACtor",
        "{3|6|A6}",
        lambda meter: meter.measuring.ranges.crest_factor,
        _put_crest_factor,
        "The crest factor; changing it forces both ranges to their largest. A6 means crest factor 6A, which only E "
        "models have.",
        locked=True,
    ),
    remembered(
        "[:INPut]:SYNChronize",
        "synchronize",
        "VOLTage CURRent OFF",
        "The signal whose zero crossings limit the measured period.",
    ),
    switch(
        "[:INPut]:FILTer:LINE",
        "line_filter",
        "The filter before the measurement.",
        locked=True,
    ),
    switch(
        "[:INPut]:FILTer:FREQuency",
        "frequency_filter",
        "The filter before zero crossings.",
        locked=True,
    ),
    word(
        "[:INPut]:WIRing",
        WIRINGS,
        lambda meter: meter.settings.words["wiring"],
        _put_wiring,
        "The wiring system of the elements; a model accepts only wirings that its elements allow.",
        locked=True,
    ),
    setting(
        ":RATE",
        "{<time>|AUTO}",
        _rate,
        _put_rate,
        "The update interval; AUTO on E models.",
        True,
    ),
    setting(
        ":SAMPle:RATE",
        "{<time>|AUTO}",
        _rate,
        _put_rate,
        "The same, as predecessors name it.",
        True,
    ),
    ratio(
        ":RATE:TIMeout",
        "timeout",
        "The time that rate AUTO waits; stored without effect.",
        "S",
    ),
    remembered(
        ":RATE:SYNChronize",
        "follows",
        "U1 I1 U2 I2 U3 I3",
        "The signal that rate AUTO follows; stored without effect.",
    ),
    remembered(
        ":MATH",
        "math",
        MATHS,
        "The quantity that item MATH computes; A and B are displays 1 and 2.",
    ),
    switch(
        "[:INPut]:SCALing:STATe",
        "scaling",
        "Applies the ratios of transformers; stored without effect.",
    ),
    ratio(
        "[:INPut]:SCALing:VT[:ELEMent<n>]",
        "vt",
        "The ratio of voltage; stored without effect.",
    ),
    ratio(
        "[:INPut]:SCALing:CT[:ELEMent<n>]",
        "ct",
        "The ratio of current; stored without effect.",
    ),
    ratio(
        "[:INPut]:SCALing:SFACtor[:ELEMent<n>]",
        "factor",
        "The factor of power; stored without effect.",
    ),
    switch(
        ":MEASure:AVERaging:STATe",
        "averaging",
        "Turns averaging on or off; stored without effect.",
    ),
    remembered(
        ":MEASure:AVERaging:TYPE",
        "average",
        "LINear EXPonent",
        "The kind of averaging; stored without effect.",
    ),
    remembered(
        ":MEASure:AVERaging:COUNt",
        "count",
        "8 16 32 64",
        "The number of averaged values; stored without effect.",
    ),
    switch(
        ":MEASure:MHOLd",
        "maximum_hold",
        "Shows and answers the largest values since the hold was switched on.",
    ),
    switch(
        ":HOLD",
        "hold",
        "Freezes the shown and answered values; measuring and integrating go on.",
    ),
    switch(":SAMPle:HOLD", "hold", "The same, as predecessors name it."),
    items_command(
        ":DISPlay[:NORMal]:ITEM<n>",
        4,
        lambda meter: meter.settings.display,
        "The function that display n, 1 to 4, shows.",
    ),
)
