"""A measured energy, its mean power and its limit of error: computed once for everything that reports them. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from lpirc_power.energy.integral import WH_RESOLUTION
from lpirc_power.energy.limit_parts import (
    POWER_FACTOR,
    RANGE,
    READING,
    ZERO_DRIFT,
    limit_parts,
    own_parts,
)
from lpirc_power.energy.measurement import Measurement
from lpirc_power.energy.power_beyond import PowerBeyond, power_beyond
from lpirc_power.energy.power_error_limit import (
    Load,
    Part,
    Signal,
    limit_of_load,
    power_range_w,
    signal_of,
)
from lpirc_power.energy.reading_columns import chosen, column
from lpirc_power.energy.step_checks import ended_early
from lpirc_power.energy.unseen import Unseen, unseen_of
from lpirc_power.meter import Limits, Reading


@dataclass(frozen=True)
class Edges:
    """By how many seconds the integrator may have run longer than its window of `window_s`, and how that is known.

    If `is_known`, the integrator ran longer by exactly this, or a stop was late by it. `age_s` is how old the counter
    may have been at each edge. `peak` is the largest power that was read, as a part of the mean power, at least 1: the
    counter's steps are taken to be of that power.
    """

    most_s: float
    window_s: float
    source: str
    is_known: bool = False
    age_s: float = 0.0
    peak: float = 1.0

    @property
    def share(self) -> float:
        """The largest relative error, at the mean power beyond the window; infinite for a window without a length."""
        most_s = self.most_s + self.peak * self.age_s
        if not most_s:
            return 0.0
        return most_s / self.window_s if self.window_s > 0 else math.inf


@dataclass(frozen=True)
class Energy:
    """Energy in Wh, its mean power over `energy_s`, and the meter's limit of error relative to the energy.

    `meter_limit` is None if unknown; `unknown` is then a sentence that says why. `drift` is the part of `meter_limit`
    for the DC zero level while the temperature changes by `ambient_change_c`. `source` names the document that states
    the limit, `drift_source` the one that states the drift; `source` is None if nothing is known of the meter.
    `automatic` is True if a range was automatic, so the limit assumes the worst ranges. `start_stop_share` is the
    largest relative error from starting and stopping. `mean_power_w` is NaN if nothing was integrated; `range_w` is
    None if unknown.

    For the budget: `parts` are those of `meter_limit`, in watts of the mean power; `lacks` is the code of the term that
    makes it unknown. `edges` is how long the integrator may have run beyond the window, and `beyond` the power in that
    time. `ended` says since when the integrator did not run; the energy then has no uncertainty. `has_ranges` is False
    if no range is set and no reading names one. `is_summed` is True for a trapezoid of powers, which no counter has
    shown. `is_time_whole` is False if TIME has shown fractions of a second.
    """

    energy_wh: float
    energy_s: float
    mean_power_w: float
    mean_apparent_va: float
    range_w: float | None
    signal: Signal
    automatic: bool
    ambient_change_c: float
    meter_limit: float | None = None
    drift: float = 0.0
    source: str | None = None
    drift_source: str = ""
    unknown: str = ""
    unseen: Unseen = field(default_factory=Unseen)
    start_stop_share: float = 0.0
    parts: tuple[Part, ...] = ()
    lacks: str = ""
    edges: Edges = field(default_factory=lambda: Edges(0.0, math.nan, ""))
    beyond: PowerBeyond = field(default_factory=PowerBeyond)
    is_age_stated: bool = False
    ended: str = ""
    has_ranges: bool = True
    is_larger_of_two: bool = False
    is_summed: bool = False
    is_time_whole: bool = True

    @property
    def unseen_share(self) -> float:
        """Return the relative error limit of the energy due to updates that no reading has seen."""
        off_wh = self.unseen.off_wh
        if not off_wh:
            return 0.0
        return off_wh / abs(self.energy_wh) if self.energy_wh else math.inf

    @property
    def limit(self) -> float | None:
        """The relative error limit of the energy: the sum for the meter, for unseen updates, and for start and stop."""
        return (
            None
            if self.meter_limit is None
            else self.meter_limit + self.unseen_share + self.start_stop_share
        )

    @property
    def own_limit(self) -> float | None:
        """The part of the limit that other measurements by the same meter do not share; None if unknown.

        It covers the drift with temperature, terms of the driver's own, the resolution, starting and stopping, and
        unseen updates.
        """
        if self.meter_limit is None:
            return None
        own_w = math.fsum(
            part.half_width * part.sensitivity_w for part in self.parts if part.is_own
        )
        own = own_w / self.mean_power_w if own_w else 0.0
        alone = self.drift + own + WH_RESOLUTION
        return alone + self.unseen_share + self.start_stop_share

    @property
    def known_by(self) -> str:
        """Return the source of the limit in words, or the sentence that says why the limit is unknown."""
        if self.meter_limit is None:
            return self.unknown
        words = self.source or "the meter's driver"
        if self.is_larger_of_two:
            words += ", the larger limit of AC and DC"
        return words + (", assuming the worst ranges" if self.is_at_worst else "")

    @property
    def depends_on_ranges(self) -> bool:
        """Return True if the meter's limit would be another one in other ranges."""
        return any(
            part.half_width > 0
            and (part.group == RANGE or part.code.startswith(ZERO_DRIFT))
            for part in self.parts
        )

    @property
    def is_at_worst(self) -> bool:
        """Return True if the limit assumes the worst ranges that automatic ranging may have chosen."""
        return self.automatic and self.depends_on_ranges


@np.errstate(over="ignore", invalid="ignore")
def energy_of(inside: Sequence[Reading], measured: Measurement) -> Energy:
    """Return the energy of a measurement whose readings in the window are `inside`.

    Its apparent power uses the power factor of the readings, if they show one.
    """
    setup = measured.setup
    limits = measured.limits
    load, shown = _load(inside, measured.mean_power_w)
    found = limit_of_load(setup, limits, load) if shown and load.power_w > 0 else None
    parts: tuple[Part, ...] = ()
    own_w = 0.0
    if found is not None and limits is not None:
        own = tuple(own_parts(limits, load.power_w, measured.energy_s))
        own_w = math.fsum(limit_w for _, limit_w in own)
        parts = limit_parts(found, setup, limits, load)
        parts += tuple(part for part, _ in own)
    edges = edges_of(measured, shown, load.power_w)
    return Energy(
        energy_wh=measured.integrator_wh,
        energy_s=measured.energy_s,
        mean_power_w=load.power_w,
        mean_apparent_va=load.apparent_va,
        range_w=power_range_w(setup, limits, load.voltage_v, load.current_a),
        signal=signal_of(setup.mode, load.voltage_v, load.power_w, load.apparent_va),
        automatic=setup.range_w is None,
        ambient_change_c=setup.ambient_change_c,
        meter_limit=None if found is None else (found.whole_w + own_w) / load.power_w,
        drift=0.0 if found is None else found.drift_w / load.power_w,
        source=None if limits is None else limits.source,
        drift_source=limits.drift.source if limits and limits.drift else "",
        unknown="" if found else _why_unknown(limits, load, len(shown), measured),
        unseen=unseen_of(inside, measured),
        start_stop_share=edges.share,
        parts=parts,
        lacks="" if found else _lacks(limits, load, len(shown)),
        edges=edges,
        beyond=power_beyond(shown, measured, edges.most_s),
        ended=ended_early(inside, measured),
        has_ranges=_has_ranges(inside, measured),
        is_larger_of_two=found is not None and found.is_larger_of_two,
        is_time_whole=measured.is_time_whole(shown),
        is_age_stated=limits is not None and limits.age_s is not None,
    )


def _has_ranges(inside: Sequence[Reading], measured: Measurement) -> bool:
    if measured.setup.range_w is not None:
        return True
    has_voltage = np.isfinite(column(inside, "voltage_range_v"))
    has_current = np.isfinite(column(inside, "current_range_a"))
    return bool(has_voltage.any() or has_current.any())


def edges_of(
    measured: Measurement, shown: Sequence[Reading] = (), power_w: float = math.nan
) -> Edges:
    """Return by how much the integrator may have run longer than the window; `shown` are the readings with a power."""
    found = _edges(measured)
    peak = 1.0
    if power_w > 0:
        powers_w = np.abs(column(shown, "power_w"))
        peak = float(np.max(powers_w / power_w, initial=1.0))
    return replace(found, age_s=measured.age_s(shown), peak=peak)


def _edges(measured: Measurement) -> Edges:
    window_s = measured.elapsed_s
    if 0 < measured.setup.integrator_timer_s == measured.integrator_s:
        return Edges(0.0, window_s, "the meter's own timer has ended the integral")
    if measured.exact:
        most_s = abs(measured.integrator_s - window_s)
        return Edges(most_s, window_s, "the meter's TIME beside the window", True)
    # One update more: a meter need not start and stop integrating exactly between two of its updates.
    most_s = (
        measured.start_stop_at_most_s
        + measured.late_s
        + measured.setup.update_interval_s
    )
    source = "assumed, since it was not measured"
    if measured.start_stop_s is not None:
        source = "measured: the time of both commands, and one update"
    if measured.start_stop_s == 0.0:
        source = "the readings begin and end somewhere within an update"
    if measured.late_s:
        source += f", and a stop that was {measured.late_s:.3g} s late"
    return Edges(most_s, window_s, source, is_known=measured.late_s > 0)


def _load(inside: Sequence[Reading], power_w: float) -> tuple[Load, Sequence[Reading]]:
    """Return the mean load and the readings that show a power.

    The means use the readings with an apparent power, or all with a power if none has one.
    """
    shown = chosen(inside, np.isfinite(column(inside, "power_w")))
    is_whole = np.isfinite(column(shown, "apparent_va"))
    whole = chosen(shown, is_whole) or shown
    read_w = _mean(whole, "power_w")
    apparent_va = _mean(whole, "apparent_va")
    voltage_v = _mean(whole, "voltage_v")
    current_a = _mean(whole, "current_a")
    apparent_va *= power_w / read_w if read_w > 0 else math.nan
    return Load(voltage_v, current_a, power_w, apparent_va), shown


def _lacks(limits: Limits | None, load: Load, shown: int) -> str:
    """Return the code of the term that is unknown where the limit is; `_why_unknown` says why."""
    if limits is None or not load.power_w > 0 or not shown:
        return READING
    is_without_factor = not math.isfinite(load.apparent_va) and limits.apparent_share
    return POWER_FACTOR if is_without_factor else ZERO_DRIFT


def _why_unknown(
    limits: Limits | None, load: Load, shown: int, measured: Measurement
) -> str:
    if limits is None and measured.limits_refused:
        return f"{measured.limits_refused} The uncertainty of the energy is unknown."
    if limits is None:
        return "No driver states this meter's limits of error: the uncertainty of its energy is unknown."
    if not load.power_w > 0:
        counted = f"{measured.integrator_wh:.6g} Wh in {measured.energy_s:.6g} s"
        return f"The accuracy of {counted} is unknown: its limit of error needs a mean power above 0 W."
    if not shown:
        return "No reading shows a power, so its accuracy is unknown."
    if not math.isfinite(load.apparent_va) and limits.apparent_share:
        return (
            "The accuracy is unknown, because the meter's limit of error depends on the power factor, and no reading "
            "shows one."
        )
    return "The meter's limit of error is unknown: the readings' voltage and current do not determine it."


def _mean(readings: Sequence[Reading], name: str) -> float:
    values = column(readings, name)
    known = values[np.isfinite(values)].tolist()
    return statistics.fmean(known) if known else math.nan
