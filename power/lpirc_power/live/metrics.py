"""The figures of recordings in Prometheus' text format 0.0.4, in base units and by its rules for names."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from lpirc_power.live.live_state import LiveMeter, LiveView

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
JOULES_PER_WH: Final = 3600.0
Value = Callable[[LiveMeter], float | None]


@dataclass(frozen=True)
class Metric:
    """A metric: its name, type and description, and its value for a recording; None if there is none now."""

    name: str
    kind: str
    help: str
    value: Value


def _current(field: str) -> Value:
    """Return the value of a reading's field while that says what the meter measures now."""

    def value(meter: LiveMeter) -> float | None:
        if meter.reading is None or not meter.is_current:
            return None
        return float(getattr(meter.reading, field))

    return value


def _energy_j(meter: LiveMeter) -> float | None:
    reading = meter.reading
    if reading is None or not math.isfinite(reading.energy_wh):
        return None
    return reading.energy_wh * JOULES_PER_WH


def _integrated_s(meter: LiveMeter) -> float | None:
    reading = meter.reading
    if reading is None or not math.isfinite(reading.integrator_s):
        return None
    return reading.integrator_s


def _seen_s(meter: LiveMeter) -> float | None:
    return None if meter.reading is None else meter.reading.utc.timestamp()


def _link_up(meter: LiveMeter) -> float | None:
    """Return 1 or 0; None after the recording, whose link is closed."""
    return None if meter.is_stopped else float(not meter.lost)


METRICS: Final = (
    Metric("lpirc_power_watts", "gauge", "Active power of the last update.", _current("power_w")),
    Metric("lpirc_voltage_volts", "gauge", "Voltage of the last update.", _current("voltage_v")),
    Metric("lpirc_current_amperes", "gauge", "Current of the last update.", _current("current_a")),
    Metric("lpirc_apparent_power_voltamperes", "gauge", "Apparent power of the last update.", _current("apparent_va")),
    Metric("lpirc_power_factor_ratio", "gauge", "Power factor of the last update.", _current("power_factor")),
    Metric("lpirc_energy_joules_total", "counter", "Energy of the meter's integrator.", _energy_j),
    Metric("lpirc_integrated_seconds_total", "counter", "Time of the meter's integrator.", _integrated_s),
    Metric("lpirc_readings_total", "counter", "Readings.", lambda one: float(one.readings)),
    Metric(
        "lpirc_flagged_readings_total", "counter", "Readings over range or clipped at a peak.",
        lambda one: float(one.flagged),
    ),
    Metric("lpirc_link_losses_total", "counter", "Losses of the link to the meter.", lambda one: float(one.losses)),
    Metric("lpirc_link_up", "gauge", "1 while the link to the meter works.", _link_up),
    Metric(
        "lpirc_recording", "gauge", "1 while the meter integrates for a recording.",
        lambda one: float(one.begin_s is not None and not one.is_stopped),
    ),
    Metric("lpirc_last_reading_timestamp_seconds", "gauge", "Unix time of the last reading.", _seen_s),
)  # fmt: skip
"""All metrics. The powers are left out while the meter does not answer: an old one would look like a new one."""


def metrics_text(view: LiveView) -> str:
    """Return the figures of all recordings."""
    lines: list[str] = []
    for metric in METRICS:
        rows = []
        for meter in view.meters:
            value = metric.value(meter)
            if value is not None:
                rows.append(f"{metric.name}{{{_labels(meter)}}} {_number(value)}")
        lines += _family(metric.name, metric.kind, metric.help, rows)
    infos = [
        f"lpirc_meter_info{{{_info(one)}}} 1" for one in view.meters if one.identity
    ]
    lines += _family("lpirc_meter_info", "gauge", "The meter.", infos)
    return "\n".join(lines) + "\n"


def _family(name: str, kind: str, told: str, rows: Sequence[str]) -> list[str]:
    if not rows:
        return []
    return [f"# HELP {name} {told}", f"# TYPE {name} {kind}", *rows]


def _labels(meter: LiveMeter) -> str:
    return f'recording="{_escaped(meter.name)}"'


def _info(meter: LiveMeter) -> str:
    identity = meter.identity
    if identity is None:
        return _labels(meter)
    parts = {
        "maker": identity.maker,
        "model": identity.model,
        "serial": identity.serial,
        "firmware": identity.firmware,
    }
    more = ",".join(f'{name}="{_escaped(text)}"' for name, text in parts.items())
    return f"{_labels(meter)},{more}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)
