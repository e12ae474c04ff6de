"""A recording, its energy and its checks, also as facts for machines; `recording_words` has them for people."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final

from lpirc_power.energy import (
    Budget,
    Check,
    Energy,
    Measurement,
    above_idle_wh,
    budget_of,
    energy_checks,
    energy_of,
)
from lpirc_power.energy.common_error import in_one_range
from lpirc_power.energy.continuity import why_lost
from lpirc_power.energy.energy_budget import AGE, START_STOP
from lpirc_power.energy.idle_check import above_idle, idle_time
from lpirc_power.energy.idle_energy import IdlePower, net_budget
from lpirc_power.energy.mean_power import MeanPower, mean_power_of
from lpirc_power.energy.power_error_limit import Load
from lpirc_power.meter import Identity, Reading
from lpirc_power.meter_standing import Standing
from lpirc_power.record.document import Mark, Record
from lpirc_power.report.edge_cost import limit_share
from lpirc_power.report.reading_facts import (
    accuracy_facts,
    identity_facts,
    json_ready,
)
from lpirc_power.sampling.sampler import Idle, LinkEvent

UNKNOWN: Final = "unknown"
"""Maker of a meter that no record names."""
LEAST_UPDATES: Final = 10
"""Minimum length, in updates, of a window with a mean power; in a shorter window, start and stop distort it."""
INTEGRATED: Final = "integrator-trapezoid"
"""The check that a recording without an energy of the meter's integrator cannot answer."""
JOULES_PER_WH: Final = 3600.0


@dataclass(frozen=True)
class Recorded:
    """A recording, its energy, and the measurement behind it.

    The last of the `readings` gives the energy; `rows` is the number of readings in the file. `doubts` are sentences
    about what a stored recording does not say, of which `unnamed` says that it names no meter, empty if it names one;
    `record` is None for a CSV file alone. `unanswered` are the codes of
    checks that the recording cannot confirm, since it does not say what they need; it may still contradict them.
    """

    identity: Identity
    measured: Measurement
    readings: Sequence[Reading]
    idle: Idle | None
    link_events: Sequence[LinkEvent]
    file: str
    rows: int
    marks: Sequence[Mark] = ()
    record: Record | None = None
    doubts: tuple[str, ...] = ()
    unnamed: str = ""
    unanswered: tuple[str, ...] = ()

    @property
    def is_meter_known(self) -> bool:
        """Return True if the meter itself has said which one it is."""
        return self.identity.maker != UNKNOWN

    @property
    def broken(self) -> str:
        """Return how a recording that did not end as it was meant to came to its end; empty for a whole one."""
        if self.record is None:
            return ""
        if self.record.ended is None:
            return "up to its last row: the recording was cut off"
        return "the recording was interrupted" if self.record.ended.interrupted else ""

    @property
    def standing(self) -> Standing:
        """Return why the meter's energies count in a contest, or why not."""
        return self.measured.standing or Standing.UNKNOWN_MODEL

    @functools.cached_property
    def no_energy(self) -> str | None:
        """Return a sentence that says why there is no valid energy; None if there is one."""
        why = why_lost(self.readings, self.measured.start_s)
        if why is None:
            return None
        meter = f" of the meter {self.identity}" if self.is_meter_known else ""
        return f"There is no energy{meter}: {why}."

    @property
    def energy_wh(self) -> float:
        """The valid energy, from the meter's integrator; NaN if there is none."""
        return math.nan if self.no_energy else self.energy.energy_wh

    @property
    def energy_j(self) -> float:
        """The valid energy in joules; NaN if there is none, or if it is beyond all numbers."""
        joules = self.energy_wh * JOULES_PER_WH
        return joules if math.isfinite(joules) else math.nan

    @property
    def has_power(self) -> bool:
        """Return True if the time is known well enough for a mean power."""
        least_s = LEAST_UPDATES * self.measured.setup.update_interval_s
        return self.measured.exact or self.measured.elapsed_s >= least_s

    @functools.cached_property
    def energy(self) -> Energy:
        """The measured energy with its limit of error, whether or not it is valid."""
        found = energy_of(self.measured.inside(self.readings), self.measured)
        if INTEGRATED not in self.unanswered:
            return found
        return replace(found, is_summed=True, edges=replace(found.edges, age_s=0.0))

    @functools.cached_property
    def mean_power(self) -> MeanPower | None:
        """The mean power over the integrated time, with its uncertainty; None if it is unknown."""
        if self.budget is None or not self.has_power:
            return None
        found = mean_power_of(self.energy, self.budget, self.measured)
        return found if math.isfinite(found.power_w) else None

    @property
    def power_w(self) -> float:
        """The mean power; NaN if it is unknown."""
        return math.nan if self.mean_power is None else self.mean_power.power_w

    @property
    def above_idle_wh(self) -> float | None:
        """The energy above the idle baseline, if one was measured."""
        if self.idle is None:
            return None
        return above_idle_wh(self.energy_wh, self.idle.power_w, self.measured.energy_s)

    @property
    def idle_power(self) -> IdlePower | None:
        """The idle power with its uncertainty; None if none was measured."""
        idle = self.idle
        if idle is None:
            return None
        load = Load(idle.voltage_v, idle.current_a, idle.power_w, idle.apparent_va)
        return IdlePower(load, idle.standard_w, idle.freedom, idle.duration_s)

    @functools.cached_property
    def above_idle_budget(self) -> Budget | None:
        """The uncertainty budget of the energy above idle; None without one."""
        return self.net_of(self.budget, self.measured)

    def net_of(self, budget: Budget | None, measured: Measurement) -> Budget | None:
        """Return the budget above idle of an energy in the recording; None without an idle power or a budget."""
        idle = self.idle_power
        if idle is None or budget is None:
            return None
        is_one = in_one_range(self.energy)
        return net_budget(budget, idle, measured, is_one_range=is_one)

    @functools.cached_property
    def checks(self) -> tuple[Check, ...]:
        """The checks of the energy that the recording can answer, and that of the energy above idle."""
        found = energy_checks(self.readings, self.measured, self.energy)
        answered = tuple(one for one in found if self._is_answered(one))
        return (*answered, *self._idle_checks())

    def _idle_checks(self) -> Iterator[Check]:
        net = self.above_idle_budget
        idle = self.idle
        if net is None or idle is None:
            return
        yield above_idle(net, idle.power_w)
        if math.isfinite(idle.needed_s):
            yield idle_time(idle.duration_s, idle.needed_s)

    @property
    def unchecked(self) -> tuple[str, ...]:
        """The codes of the checks that the recording does not answer."""
        answered = [one.code for one in self.checks]
        return tuple(code for code in self.unanswered if code not in answered)

    def _is_answered(self, one: Check) -> bool:
        failed = not one.ok and one.severity == "error"
        return failed or one.code not in self.unanswered

    @property
    def failed(self) -> tuple[str, ...]:
        """Codes of the failed checks of severity error: the energy then needs review."""
        return tuple(
            check.code
            for check in self.checks
            if not check.ok and check.severity == "error"
        )

    @functools.cached_property
    def budget(self) -> Budget | None:
        """The uncertainty budget of the energy; None if there is no energy."""
        return None if self.no_energy else budget_of(self.energy)

    @property
    def uncertainty(self) -> float | None:
        """Return the relative guaranteed limit of the energy; None if it is unknown or there is no energy."""
        budget = self.budget
        return None if budget is None else budget.relative(budget.guaranteed_wh)


def recorded_facts(recorded: Recorded) -> dict[str, object]:
    """Return a recording, ready for JSON."""
    measured = recorded.measured
    above_wh = recorded.above_idle_wh
    net = recorded.above_idle_budget
    limit = recorded.uncertainty
    drift = None if limit is None else json_ready(100.0 * recorded.energy.drift)
    return {
        "identity": identity_facts(recorded.identity, recorded.standing),
        "setup": asdict(measured.setup),
        "energy_wh": json_ready(recorded.energy_wh),
        "energy_j": json_ready(recorded.energy_j),
        "no_energy": recorded.no_energy,
        "broken": recorded.broken,
        "needs_review": bool(recorded.failed or recorded.no_energy),
        **_power_facts(recorded.mean_power),
        "duration_s": measured.elapsed_s,
        "integrator_s": json_ready(measured.integrator_s),
        "idle_power_w": None
        if recorded.idle is None
        else json_ready(recorded.idle.power_w),
        "energy_above_idle_wh": None if above_wh is None else json_ready(above_wh),
        "above_idle_budget": None if net is None else net.document(),
        "accuracy": {
            **accuracy_facts(recorded.power_w, limit),
            **_edge_facts(recorded),
            "drift_percent": drift,
            "known_by": recorded.energy.known_by,
        },
        "budget": None if recorded.budget is None else recorded.budget.document(),
        "readings": len(recorded.readings),
        "file": recorded.file,
        "rows": recorded.rows,
        "link_losses": sum(
            event.kind == "meter-lost" for event in recorded.link_events
        ),
        "checks": [asdict(check) for check in recorded.checks],
    }


def _edge_facts(recorded: Recorded) -> dict[str, object]:
    """Return what start and stop and an age of the counter may cost, in percent of the energy; None if unknown."""
    found: dict[str, object] = {}
    for name, code in (("start_stop_percent", START_STOP), ("age_percent", AGE)):
        share = limit_share(recorded.budget, code) or 0.0
        is_known = recorded.uncertainty is not None
        found[name] = json_ready(100.0 * share) if is_known else None
    return found


def _power_facts(mean: MeanPower | None) -> dict[str, object]:
    """Return a mean power and the time that it is of, ready for JSON."""
    if mean is None:
        return {"mean_power_w": None, "mean_power_uncertainty_w": None, "integrated_s": None}  # fmt: skip
    return {
        "mean_power_w": json_ready(mean.power_w),
        "mean_power_uncertainty_w": mean.half_w,
        "integrated_s": json_ready(mean.time.lasted_s),
    }
