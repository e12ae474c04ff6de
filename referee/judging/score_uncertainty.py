"""Uncertainty of a judged run's score, from halves of its images, its energy's budget, and its team's attempts."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lpirc_power.energy import Budget
from lpirc_power.energy.common_error import load_of, reading_limit
from lpirc_power.energy.limit_parts import READING
from lpirc_score.analysis.halves import HALVES, SEED
from lpirc_score.analysis.interval import (
    LEVEL,
    EnergySpread,
    Halved,
    Z,
    map_intervals,
    score_interval,
)
from referee.contest import Contest
from referee.judging.bound_rules import rule_of_rules
from referee.judging.run_checks import is_scorable
from referee.store.records import HALF_SAMPLING, Run, Score, ScoreInterval

Floats = NDArray[np.float64]


def interval_from(
    halves: Floats,
    judged: Score,
    seed: int = SEED,
) -> ScoreInterval:
    """Return the interval of a judgement, computed from the mAPs (HALVES,) on halves of its images.

    Raises ValueError for a judgement without ground truth.
    """
    if judged.map is None:
        raise ValueError(f"run {judged.run} has no mAP")
    found = map_intervals(judged.map, halves)
    uncertainty = energy_uncertainty(judged)
    of_score: tuple[float | None, float | None] = None, None
    of = rule_of_rules(judged.rules).quantity
    if of == "map" and judged.score is not None:
        of_score = found.mean
    elif of is not None and uncertainty is not None and is_scorable(judged.energy_wh):
        of_score = (
            _energy_interval(judged.energy_wh, uncertainty)
            if of == "energy"
            else score_interval(judged.map, found.spread, judged.energy_wh, uncertainty)
        )
    return ScoreInterval(
        LEVEL,
        HALVES,
        seed,
        *found.mean,
        *of_score,
        uncertainty,
        found.bias,
        HALF_SAMPLING,
        found.spread,
        *found.other,
        *found.unlimited,
    )


def _energy_interval(energy_wh: float, uncertainty: float) -> tuple[float, float]:
    """Return the interval of an energy with this relative uncertainty, as of `energy_uncertainty`."""
    half_width = Z * energy_wh * uncertainty / math.sqrt(3)
    return max(energy_wh - half_width, 0.0), energy_wh + half_width


def halved(
    contest: Contest,
    run: Run,
    judged: Score,
) -> Halved | None:
    """Return the values that decide how certain a run's rank is; None if it has no score or an unknown uncertainty."""
    halves = contest.store.scores.half_maps(run.id)
    return halved_of(
        run,
        judged,
        halves,
        np.sort(contest.store.runs.image_order(run.id)).tobytes(),
    )


def halved_of(
    run: Run,
    judged: Score,
    halves: Floats | None,
    which: object,
) -> Halved | None:
    """Return the same as `halved`, from the mAPs (R,) of the half-samples. `which` identifies the images."""
    energy_wh = judged.energy_wh
    interval = judged.interval
    if interval is None or interval.method != HALF_SAMPLING or halves is None:
        return None
    if judged.map is None:
        return None
    limit = interval.energy_uncertainty
    if limit is None or energy_wh is None or not is_scorable(energy_wh):
        return None
    budget = budget_of_score(judged)
    limits = _limits_before_budgets(judged, limit)
    if budget is not None:
        limits = _limits_of(budget)
    is_of_one_range = run.meter_identity and run.setup.range_w
    of_reading = None if budget is None else reading_limit(budget)
    return Halved(
        judged.map,
        halves,
        energy_wh,
        shared_limit=limits.of_reading,
        own_limit=limits.own,
        load_limit=limits.of_load,
        load=None if budget is None else load_of(budget),
        images=which and (interval.seed, interval.resamples, which),
        meter=(run.meter_identity, run.setup, of_reading) if is_of_one_range else None,
    )


@dataclass(frozen=True)
class _Limits:
    """The relative limits of an energy: of the reading, of what depends on the load as well, and of this run alone."""

    of_reading: float
    of_load: float
    own: float


def _limits_before_budgets(judged: Score, limit: float) -> _Limits:
    """Return the parts of the limit of error `limit` as the version that judged the run told them.

    To it all of a meter's error was the same at every load, so a board that it published keeps its sure orders.
    """
    own = limit if judged.energy_own_limit is None else judged.energy_own_limit
    return _Limits(limit - own, 0.0, own)


def _limits_of(budget: Budget) -> _Limits:
    shared = _as_rectangle(budget, budget.shared_wh) or 0.0
    terms = tuple(one for one in budget.terms if one.code == READING and one.is_shared)
    alone = Budget(budget.energy_wh, terms)
    of_reading = _as_rectangle(alone, alone.combined_wh) or 0.0
    of_load = math.sqrt(max(shared**2 - of_reading**2, 0.0))
    return _Limits(of_reading, of_load, _as_rectangle(budget, budget.own_wh) or 0.0)


def energy_spread_of(energies_wh: Iterable[float]) -> EnergySpread | None:
    """Return the spread of a team's energies (each above 0) between attempts; None for fewer than two attempts."""
    logarithms = [math.log(one) for one in energies_wh]
    if len(logarithms) < 2:
        return None
    return EnergySpread(statistics.stdev(logarithms), len(logarithms))


def described(interval: ScoreInterval | None) -> list[tuple[str, str]]:
    """Return name and text of each mAP interval; an interval made by an earlier method is given with that method."""
    if interval is None:
        return []
    ends = [
        ("mean over sets of this size", interval.map_low, interval.map_high),
        ("a new set of this size", interval.other_low, interval.other_high),
        ("unlimited images", interval.unlimited_low, interval.unlimited_high),
    ]
    rows = [
        (name, f"{low:.5f} to {high:.5f} at {interval.level:.0%}")
        for name, low, high in ends
        if low is not None and high is not None
    ]
    if interval.method != HALF_SAMPLING:
        name, figures = rows[0]
        return [
            (
                name,
                f"{figures}; the method {interval.method} makes this interval too narrow; judge the run again",
            )
        ]
    bias = f"{interval.map_bias:+.5f} at least; it is estimated from halves of the images and is not subtracted"
    return [*rows, ("its bias", bias)]


def budget_of_score(judged: Score) -> Budget | None:
    """Return the uncertainty budget of a judged run's energy; None without an energy, or for an earlier judgement."""
    document = judged.energy_budget
    return None if document is None else Budget.from_document(document)


def energy_uncertainty(judged: Score) -> float | None:
    """Return the relative uncertainty of a judged run's energy, as the half-width of a rectangle.

    It is sqrt(3) x the combined standard uncertainty of the budget; of a judgement without one, the limit of error.
    None if the limit is unknown or is 100 % or more, or the uncertainty is.
    """
    limit = judged.energy_limit
    if limit is None or not limit < 1:
        return None
    budget = budget_of_score(judged)
    if budget is None:
        return limit
    found = _as_rectangle(budget, budget.combined_wh)
    return found if found is not None and found < 1 else None


def _as_rectangle(budget: Budget, standard_wh: float | None) -> float | None:
    """Return a standard uncertainty of a budget as the relative half-width of a rectangle (JCGM 100:2008, 4.3.7)."""
    relative = budget.relative(standard_wh)
    return None if relative is None else math.sqrt(3) * relative
