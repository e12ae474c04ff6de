"""The checks of a run: a run that fails one is shown as in need of review, never silently scored or dropped."""

from __future__ import annotations

from collections.abc import Sequence

from power.energy import Check, energy_checks
from power.meter import Reading
from referee.records import Run


def run_checks(run: Run, readings: Sequence[Reading], start_s: float) -> tuple[Check, ...]:
    """Every check of a closed run. `readings` carry host time in which the window starts at `start_s`."""
    measured = _energy_measured(run)
    if run.energy_wh is None or run.integrator_s is None or run.elapsed_s is None:
        return (measured,)
    return (
        measured,
        *energy_checks(
            readings,
            integrator_wh=run.energy_wh,
            integrator_s=run.integrator_s,
            window_s=run.elapsed_s,
            start_s=start_s,
            end_s=start_s + run.elapsed_s,
            update_interval_s=run.update_interval_s,
        ),
    )


def _energy_measured(run: Run) -> Check:
    ok = run.energy_wh is not None and run.energy_wh > 0
    if run.energy_wh is None:
        sentence = "The meter gave no energy when the run closed, so that there is no score."
    else:
        sentence = f"The meter measured {run.energy_wh:.6g} Wh" + (
            "." if ok else "; a score needs more than 0 Wh."
        )
    return Check("energy-measured", ok, "error", sentence, {"energy_wh": run.energy_wh})
