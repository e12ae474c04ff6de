"""What was measured in one recording: as facts for machines, and as lines for people."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from power.energy import Check, Measurement, above_idle_wh, energy_checks, mean_power_w
from power.meter import Identity, Reading
from power.report import (
    accuracy_facts,
    accuracy_words,
    check_facts,
    figure,
    identity_facts,
    json_ready,
    lines,
    standing,
)
from power.sampler import Idle, LinkEvent

JOULES_PER_WH = 3600.0


@dataclass(frozen=True)
class Recorded:
    """One recording, its energy of record and what that rests on."""

    identity: Identity
    measured: Measurement
    readings: Sequence[Reading]
    idle: Idle | None
    link_events: Sequence[LinkEvent]
    file: str

    @property
    def energy_wh(self) -> float:
        """The energy of record, from the meter's integrator."""
        return self.measured.integrator_wh

    @property
    def power_w(self) -> float:
        """The mean power."""
        return mean_power_w(self.energy_wh, self.measured.elapsed_s)

    @property
    def above_idle_wh(self) -> float | None:
        """The energy above the idle baseline, if one was measured."""
        if self.idle is None:
            return None
        return above_idle_wh(self.energy_wh, self.idle.power_w, self.measured.elapsed_s)

    @functools.cached_property
    def checks(self) -> tuple[Check, ...]:
        """Every check of the energy."""
        return energy_checks(self.readings, self.measured)

    @property
    def uncertainty(self) -> float | None:
        """The meter's limit of error for the energy, relative to it; None where it is not known."""
        return next(check.figures["uncertainty"] for check in self.checks if check.code == "accuracy")


def recorded_facts(recorded: Recorded) -> dict[str, object]:
    """Return a recording ready for JSON."""
    measured = recorded.measured
    above_wh = recorded.above_idle_wh
    return {
        "identity": identity_facts(recorded.identity),
        "setup": asdict(measured.setup),
        "energy_wh": json_ready(recorded.energy_wh),
        "energy_j": json_ready(recorded.energy_wh * JOULES_PER_WH),
        "mean_power_w": json_ready(recorded.power_w),
        "duration_s": measured.elapsed_s,
        "integrator_s": json_ready(measured.integrator_s),
        "idle_power_w": None if recorded.idle is None else json_ready(recorded.idle.power_w),
        "energy_above_idle_wh": None if above_wh is None else json_ready(above_wh),
        "accuracy": accuracy_facts(recorded.power_w, recorded.uncertainty),
        "readings": len(recorded.readings),
        "file": recorded.file,
        "link_losses": sum(event.kind == "meter-lost" for event in recorded.link_events),
        "checks": [check_facts(check) for check in recorded.checks],
    }


def recorded_lines(recorded: Recorded) -> list[str]:
    """Return a recording for people: its figures, and the checks that did not hold."""
    energy_wh, measured = recorded.energy_wh, recorded.measured
    rows = {
        "energy": f"{figure(energy_wh, 'Wh')} = {figure(energy_wh * JOULES_PER_WH, 'J')}",
        "mean power": f"{figure(recorded.power_w, 'W', 5)} over {measured.elapsed_s:.3f} s",
        "accuracy": accuracy_words(recorded.uncertainty, energy_wh, "Wh") + _of_ranges(measured),
        "meter": f"{recorded.identity}, {standing(recorded.identity.official)}",
        "recording": f"{len(recorded.readings)} readings in {recorded.file}",
    }
    if recorded.idle is not None and recorded.above_idle_wh is not None:
        rows["above idle"] = (
            f"{figure(recorded.above_idle_wh, 'Wh')}; idle {figure(recorded.idle.power_w, 'W', 5)} "
            f"over {recorded.idle.duration_s:.3g} s"
        )
    failed = [check for check in recorded.checks if not check.ok]
    found = lines(rows)
    found += [f"{check.severity:16} {check.code}: {check.sentence}" for check in failed]
    return found if failed else [*found, f"{'checks':16} all hold"]


def _of_ranges(measured: Measurement) -> str:
    return ", at worst: ranges were automatic" if measured.setup.range_w is None else ""
