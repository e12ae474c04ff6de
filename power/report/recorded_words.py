"""A recording as facts for machines, and as lines for people."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Final

from power.report.readings import (
    accuracy_facts,
    accuracy_words,
    check_facts,
    figure,
    identity_facts,
    json_ready,
    lines,
    standing,
)
from power.report.recorded import LEAST_UPDATES, Recorded

JOULES_PER_WH: Final = 3600.0


def recorded_facts(recorded: Recorded, rows: int) -> dict[str, object]:
    """Return a recording ready for JSON; `rows` of its readings are in its file."""
    measured = recorded.measured
    above_wh = recorded.above_idle_wh
    limit = recorded.uncertainty
    start_stop = None if limit is None else json_ready(100.0 * recorded.start_stop_share)
    return {
        "identity": identity_facts(recorded.identity),
        "setup": asdict(measured.setup),
        "energy_wh": json_ready(recorded.energy_wh),
        "energy_j": json_ready(recorded.energy_wh * JOULES_PER_WH),
        "no_energy": recorded.no_energy,
        "needs_review": bool(recorded.failed or recorded.no_energy),
        "mean_power_w": json_ready(recorded.power_w),
        "duration_s": measured.elapsed_s,
        "integrator_s": json_ready(measured.integrator_s),
        "idle_power_w": None if recorded.idle is None else json_ready(recorded.idle.power_w),
        "energy_above_idle_wh": None if above_wh is None else json_ready(above_wh),
        "accuracy": {**accuracy_facts(recorded.power_w, limit), "start_stop_percent": start_stop},
        "readings": len(recorded.readings),
        "file": recorded.file,
        "rows": rows,
        "link_losses": sum(event.kind == "meter-lost" for event in recorded.link_events),
        "checks": [check_facts(check) for check in recorded.checks],
    }


def recorded_lines(recorded: Recorded, rows: int) -> list[str]:
    """Return a recording for people: its figures, and the checks that did not hold; `rows` of them are in its file."""
    of_them = f"{rows} of {len(recorded.readings)}" if rows < len(recorded.readings) else f"{rows}"
    named = {
        "energy": _energy(recorded),
        "mean power": _power(recorded),
        "accuracy": _accuracy(recorded),
        "above idle": _above_idle(recorded),
        "meter": f"{recorded.identity}, {standing(recorded.identity.official)}",
        "recording": f"{of_them} readings in {recorded.file}",
    }
    failed = [check for check in recorded.checks if not check.ok]
    found = lines({name: value for name, value in named.items() if value})
    found += [f"{check.severity:16} {check.code}: {check.sentence}" for check in failed]
    return found if failed else [*found, f"{'checks':16} all hold"]


def _energy(recorded: Recorded) -> str:
    if recorded.no_energy:
        return "none"
    energy_wh = recorded.energy_wh
    told = f"{figure(energy_wh, 'Wh')} = {figure(energy_wh * JOULES_PER_WH, 'J')}"
    return f"{told}, needs review: {', '.join(recorded.failed)}" if recorded.failed else told


def _power(recorded: Recorded) -> str:
    if recorded.no_energy:
        return ""
    if recorded.tells_power:
        return f"{figure(recorded.power_w, 'W', 5)} over {recorded.lasted_s:.3f} s"
    return (
        f"not told: {recorded.lasted_s:.3f} s is less than {LEAST_UPDATES} updates of "
        f"{recorded.measured.setup.update_interval_s:g} s, too short beside starting and stopping the integrator"
    )


def _accuracy(recorded: Recorded) -> str:
    limit = recorded.uncertainty
    if recorded.no_energy:
        return ""
    if limit is None or not math.isfinite(limit):
        return "unknown"
    told = accuracy_words(limit, recorded.energy_wh, "Wh")
    if recorded.start_stop_share:
        told += f", of it {100.0 * recorded.start_stop_share:.3g} % for start and stop"
    return told + (", at worst: ranges were automatic" if recorded.measured.setup.range_w is None else "")


def _above_idle(recorded: Recorded) -> str:
    idle, above_wh = recorded.idle, recorded.above_idle_wh
    if idle is None or above_wh is None or recorded.no_energy:
        return ""
    return f"{figure(above_wh, 'Wh')}; idle {figure(idle.power_w, 'W', 5)} over {idle.duration_s:.3g} s"
