"""Readings and figures as facts for machines and as lines for people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from lpirc_power.meter import Identity, Reading
from lpirc_power.meter_standing import Standing


def reading_facts(reading: Reading) -> dict[str, object]:
    """Return a reading, ready for JSON: no data is null, over range is the word "over-range"."""
    facts: dict[str, object] = {
        name: json_ready(value) for name, value in asdict(reading).items()
    }
    return {**facts, "utc": reading.utc.isoformat(), "state": reading.state.value}


def reading_line(reading: Reading) -> str:
    """Return a reading as one line."""
    flags = flag_words(reading)
    return (
        f"{reading.utc:%H:%M:%S.%f} {reading.voltage_v:9.3f} V {reading.current_a:9.5f} A "
        f"{reading.power_w:9.4f} W {reading.energy_wh:11.6g} Wh {reading.integrator_s:6.0f} s "
        f"{reading.state.value}" + (f"  {flags}" if flags else "")
    )


def flag_words(reading: Reading) -> str:
    """Return the set flags of a reading in words; empty if none is set."""
    flags = (
        ("over range", reading.over_range),
        ("voltage peak over", reading.voltage_peak_over),
        ("current peak over", reading.current_peak_over),
        ("had stopped", reading.stopped),
    )
    return ", ".join(word for word, is_set in flags if is_set)


def identity_facts(identity: Identity, standing: Standing) -> dict[str, object]:
    """Return a meter's identity, and whether its results count in a contest."""
    return {
        **asdict(identity),
        "official": standing.official,
        "standing": standing.value,
    }


def standing_words(standing: Standing) -> str:
    """Say whether a meter's results count in a contest, and if not, why."""
    if standing.official:
        return "official"
    return f"NOT OFFICIAL: {standing.reason()}"


def accuracy_facts(power_w: float, relative: float | None) -> dict[str, object]:
    """Return the limit of error at a power, in percent and in watts; null if unknown."""
    if relative is None:
        return {"percent": None, "watts": None}
    return {"percent": 100.0 * relative, "watts": json_ready(abs(power_w) * relative)}


def figure(value: object, unit: str = "", digits: int = 6) -> str:
    """Return a number with its unit, or "no data" for NaN."""
    shown = json_ready(value)
    if shown is None:
        return "no data"
    if isinstance(shown, float):
        return f"{shown:.{digits}g} {unit}".rstrip()
    return "over range" if shown == "over-range" else f"{shown} {unit}".rstrip()


def offered(values: Sequence[float], unit: str) -> str:
    """Return the choices of a setting as one line."""
    return f"{', '.join(f'{value:g}' for value in values)} {unit}"


def lines(rows: Mapping[str, str]) -> list[str]:
    """Return named values as lines, with the names in one column."""
    return [f"{name:16} {value}" for name, value in rows.items()]


def json_ready(value: object) -> object:
    """Return a value for JSON: NaN is null, infinity the word "over-range"."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "over-range"
    return value
