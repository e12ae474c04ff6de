"""Report of a ranging run, as facts for machines and as lines for people."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

from lpirc_power.energy.power_error_limit import uncertainty
from lpirc_power.meter import Choices, Identity, Limits, Setup
from lpirc_power.meter_standing import Standing
from lpirc_power.report.reading_facts import (
    accuracy_facts,
    figure,
    identity_facts,
    json_ready,
    lines,
    standing_words,
)
from lpirc_power.report.rounded import accuracy_words
from lpirc_power.wt300.range_fit import Drawn, Fit, fits, reason


@dataclass(frozen=True)
class Ranged:
    """A ranging run: its setup, what the load drew, and the settings that the meter offers."""

    identity: Identity
    standing: Standing
    setup: Setup
    choices: Choices
    load: Drawn
    headroom: float
    limits: Limits | None = None

    @property
    def fits(self) -> tuple[Fit, Fit]:
        """The smallest voltage range and current range that hold the load."""
        return fits(self.load, self.choices, self.setup.crest_factor, self.headroom)

    @property
    def uncertainty(self) -> float | None:
        """The limit of error at the mean load in the proposed ranges; None if unknown."""
        voltage, current = self.fits
        if voltage.value is None or current.value is None:
            return None
        found = replace(
            self.setup, voltage_range_v=voltage.value, current_range_a=current.value
        )
        load = self.load
        return uncertainty(
            found,
            self.limits,
            load.voltage_v,
            load.current_a,
            load.power_w,
            load.apparent_va,
        )

    @property
    def again(self) -> str | None:
        """Return why the run must be repeated; None if it need not be."""
        load = self.load
        if not load.flagged:
            return None
        return (
            f"{load.flagged} of {load.readings} readings were over range or clipped, so their load is "
            "unknown. Run it again with larger fixed ranges (--voltage-range, --current-range)."
        )


def ranged_facts(ranged: Ranged) -> dict[str, object]:
    """Return a ranging run, ready for JSON; a range is null if the meter has none that is large enough."""
    voltage, current = ranged.fits
    factor = ranged.setup.crest_factor
    headroom = ranged.headroom
    return {
        "identity": identity_facts(ranged.identity, ranged.standing),
        "setup": asdict(ranged.setup),
        "headroom": headroom,
        "load": {
            name: json_ready(value) for name, value in asdict(ranged.load).items()
        },
        "voltage_range_v": voltage.value,
        "current_range_a": current.value,
        "reasons": [
            reason(voltage, factor, headroom),
            reason(current, factor, headroom),
        ],
        "accuracy": accuracy_facts(ranged.load.power_w, ranged.uncertainty),
        "run_again": ranged.again,
    }


def ranged_lines(ranged: Ranged) -> list[str]:
    """Return a ranging run as lines for people, with the lines for contest.toml."""
    load = ranged.load
    voltage, current = ranged.fits
    factor = ranged.setup.crest_factor
    headroom = ranged.headroom
    rows = {
        "meter": f"{ranged.identity}, {standing_words(ranged.standing)}",
        "load": f"{figure(load.power_w, 'W', 5)} on average in {load.readings} readings",
        "voltage range": f"{_value(voltage)}. {reason(voltage, factor, headroom)}",
        "current range": f"{_value(current)}. {reason(current, factor, headroom)}",
        "accuracy": f"{accuracy_words(ranged.uncertainty, load.power_w, 'W')} at the mean load in these ranges",
    }
    again = ranged.again
    found = lines(rows) + (lines({"run it again": again}) if again else [])
    if voltage.value is None or current.value is None:
        return found
    fixed = replace(
        ranged.setup, voltage_range_v=voltage.value, current_range_a=current.value
    )
    return [*found, "", "For contest.toml, under [[stations]]:", *station_lines(fixed)]


def station_lines(setup: Setup) -> list[str]:
    """Return a setup as lines of TOML: the ranges, and each related setting that is not the default."""
    usual = asdict(Setup(None, None, setup.update_interval_s, setup.integrator_timer_s))
    return [
        f"{name} = {json.dumps(value)}"
        for name, value in asdict(setup).items()
        if value != usual[name]
    ]


def _value(found: Fit) -> str:
    return "none" if found.value is None else f"{found.value:g} {found.unit}"
