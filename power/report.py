"""Meters and readings as facts for machines and as lines for people."""

from __future__ import annotations

import math
from dataclasses import asdict

from power.meter import Identity, Reading, Status


def reading_facts(reading: Reading) -> dict[str, object]:
    """Return a reading ready for JSON: no data is null, over range the word "over-range"."""
    facts: dict[str, object] = {name: _json_ready(value) for name, value in asdict(reading).items()}
    return {**facts, "utc": reading.utc.isoformat(), "state": reading.state.value}


def reading_line(reading: Reading) -> str:
    """Return a reading as one line."""
    flags = [
        word
        for word, is_set in (
            ("over range", reading.over_range),
            ("voltage peak over", reading.voltage_peak_over),
            ("current peak over", reading.current_peak_over),
        )
        if is_set
    ]
    return (
        f"{reading.utc:%H:%M:%S.%f} {reading.voltage_v:9.3f} V {reading.current_a:9.5f} A "
        f"{reading.power_w:9.4f} W {reading.energy_wh:11.6g} Wh {reading.integrator_s:6.0f} s "
        f"{reading.state.value}" + (f"  {', '.join(flags)}" if flags else "")
    )


def probe_facts(identity: Identity, status: Status, reading: Reading) -> dict[str, object]:
    """Return what a probe found, ready for JSON."""
    return {
        "identity": asdict(identity),
        "settings": {
            "voltage_range_v": status.voltage_range_v,
            "voltage_auto": status.voltage_auto,
            "current_range_a": status.current_range_a,
            "current_auto": status.current_auto,
            "crest_factor": status.crest_factor,
            "update_interval_s": status.update_interval_s,
            "mode": status.mode,
        },
        "integrator": status.state.value,
        "reading": reading_facts(reading),
        "errors": list(status.errors),
    }


def probe_lines(facts: dict[str, object]) -> list[str]:
    """Return the facts of a probe, one line each."""
    lines: list[str] = []
    for name, value in facts.items():
        if isinstance(value, dict):
            lines += [f"{f'{name} {key}':32} {_shown(item)}" for key, item in value.items()]
        else:
            lines.append(f"{name:32} {_shown(value)}")
    return lines


def _shown(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(map(str, value)) or "none"
    return "no data" if value is None else str(value)


def _json_ready(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "over-range"
    return value
