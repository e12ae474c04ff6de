"""Report of a probed meter, as facts for machines and as lines for people."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from lpirc_power.energy.power_error_limit import uncertainty
from lpirc_power.meter import Choices, Identity, Limits, Peaks, Reading, Setup, Status
from lpirc_power.meter_standing import Standing
from lpirc_power.report.reading_facts import (
    accuracy_facts,
    figure,
    flag_words,
    identity_facts,
    json_ready,
    lines,
    offered,
    reading_facts,
    standing_words,
)
from lpirc_power.report.rounded import accuracy_words


@dataclass(frozen=True)
class Probe:
    """State of a meter when it was probed."""

    identity: Identity
    standing: Standing
    status: Status
    choices: Choices
    peaks: Peaks
    reading: Reading
    element: str = "1"
    limits: Limits | None = None

    @property
    def uncertainty(self) -> float | None:
        """The limit of error at the present load, relative to its power; None if unknown."""
        reading = self.reading
        status = self.status
        if flag_words(reading):
            return None
        present = Setup(
            status.voltage_range_v, status.current_range_a, status.update_interval_s, 0, status.mode,
            status.crest_factor, status.line_filter, element=self.element,
        )  # fmt: skip
        load = (reading.power_w, reading.apparent_va)
        return uncertainty(
            present, self.limits, reading.voltage_v, reading.current_a, *load
        )


def probe_facts(probe: Probe) -> dict[str, object]:
    """Return the result of a probe, ready for JSON."""
    settings = {name: json_ready(value) for name, value in asdict(probe.status).items()}
    for name in ("state", "errors"):
        del settings[name]
    return {
        "identity": identity_facts(probe.identity, probe.standing),
        "settings": settings,
        "choices": {
            name: list(values) for name, values in asdict(probe.choices).items()
        },
        "integrator": probe.status.state.value,
        "reading": reading_facts(probe.reading),
        "peaks": {
            name: json_ready(value) for name, value in asdict(probe.peaks).items()
        },
        "accuracy": accuracy_facts(probe.reading.power_w, probe.uncertainty),
        "errors": list(probe.status.errors),
    }


def probe_lines(probe: Probe) -> list[str]:
    """Return the result of a probe as lines, one per topic."""
    identity = probe.identity
    status = probe.status
    reading = probe.reading
    rows = {
        "meter": f"{identity.maker} {identity.model}, serial {identity.serial}, firmware {identity.firmware}",
        "standing": standing_words(probe.standing),
        **_setting_rows(status, probe.choices),
        "integrator": f"{status.state.value}, {figure(reading.energy_wh, 'Wh')} in {figure(reading.integrator_s, 's')}",
        "reading": _reading(reading),
        "peaks": f"{figure(probe.peaks.voltage_v, 'V', 5)}, {figure(probe.peaks.current_a, 'A', 5)}",
        "accuracy": f"{accuracy_words(probe.uncertainty, reading.power_w, 'W')} {_where(probe.choices)}",
        "errors": "; ".join(status.errors) or "none",
    }
    return lines(rows)


def _where(choices: Choices) -> str:
    """Say where a limit of error holds."""
    return "at this load" + (
        ", in the present ranges" if choices.voltage_ranges_v else ""
    )


def _setting_rows(status: Status, choices: Choices) -> dict[str, str]:
    update = figure(status.update_interval_s, "s")
    if not choices.voltage_ranges_v:
        return {
            "update interval": update,
            "settings": "no others: no ranges, no filters, one input",
        }
    return {
        "voltage range": _range(
            status.voltage_range_v, "V", status.voltage_auto, choices.voltage_ranges_v
        ),
        "current range": _range(
            status.current_range_a, "A", status.current_auto, choices.current_ranges_a
        ),
        "update interval": f"{update} of {offered(choices.update_intervals_s, 's')}",
        "elements": ", ".join(choices.elements),
        "mode": f"{status.mode}, crest factor {status.crest_factor}, synchronised by {status.synchronize}",
        "filters": f"line {_switched(status.line_filter)}, frequency {_switched(status.frequency_filter)}",
    }


def _range(value: float, unit: str, auto: bool, choices: tuple[float, ...]) -> str:
    return f"{figure(value, unit)}, {'automatic' if auto else 'fixed'}, of {offered(choices, unit)}"


def _reading(reading: Reading) -> str:
    values = (
        figure(reading.voltage_v, "V", 5),
        figure(reading.current_a, "A", 5),
        figure(reading.power_w, "W", 5),
        figure(reading.apparent_va, "VA", 5),
        f"power factor {figure(reading.power_factor, digits=4)}",
    )
    flags = flag_words(reading)
    return ", ".join(values) + (f"; {flags}" if flags else "")


def _switched(on: bool) -> str:
    return "on" if on else "off"
