"""The checks of a run by its contest's rule: whether it may be ranked, and whether its idle board was idle. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from lpirc_power.energy import Check
from lpirc_power.energy.integral import trapezoid_wh
from lpirc_power.meter import Reading
from referee.contest_rules import DEFAULT, ContestRule, Facts, Outcome
from referee.store.records import Run

CONTEST_RULE = "contest-rule"
"""Code of the check that says why a run is not ranked by its rule."""
BELOW_IDLE = "below-idle"
LARGEST_BELOW_IDLE = 0.02
"""Part of the idle board's energy by which a run may stay below it: more than a power of one load varies."""


def rule_checks(
    run: Run,
    rule: ContestRule,
    facts: Facts,
    outcome: Outcome,
    readings: Sequence[Reading],
) -> Iterator[Check]:
    """Yield the checks of a run by its rule; none by the default rule, whose limit is `least_map`.

    `readings` are timed from the start of the run.
    """
    if rule == DEFAULT:
        return
    figures: dict[str, float | int | None] = {}
    if rule.needs_images:
        figures["images_answered"] = facts.images
    is_ok = outcome.why_not is None
    told = rule.sentence if outcome.how is None else f"{rule.sentence} {outcome.how}"
    sentence = told if outcome.why_not is None else outcome.why_not
    yield Check(CONTEST_RULE, is_ok, "warning", sentence, figures)
    if rule.takes_idle and run.idle_power_w is not None and run.elapsed_s is not None:
        yield _below_idle(run.idle_power_w, run.elapsed_s, readings)


def _below_idle(idle_w: float, elapsed_s: float, readings: Sequence[Reading]) -> Check:
    """Return the check that the board drew at least its idle power during the run.

    A board that is busy while it should be idle, or that sleeps in its run, has too much subtracted from its energy.
    """
    times = [one.monotonic_s for one in readings]
    missing_w = idle_w - np.array([one.power_w for one in readings])
    below_wh = trapezoid_wh(times, np.maximum(missing_w, 0.0).tolist(), 0.0, elapsed_s)
    idle_wh = idle_w * elapsed_s / 3600
    if not math.isfinite(below_wh):
        nothing: dict[str, float | int | None] = {
            "below_idle_wh": None,
            "idle_wh": idle_wh,
        }
        sentence = "No reading has a power, so nothing says whether the board drew less than when it was idle."
        return Check(BELOW_IDLE, False, "error", sentence, nothing)
    is_ok = bool(below_wh <= LARGEST_BELOW_IDLE * idle_wh)
    figures: dict[str, float | int | None] = {
        "below_idle_wh": below_wh,
        "idle_wh": idle_wh,
    }
    told = f"{below_wh:.6g} Wh less than at its idle power of {idle_w:.6g} W"
    sentence = f"While it drew less than when it was idle, the board used {told}."
    if not is_ok:
        sentence += " So it was not idle when that power was measured, or it slept in its run: arm it again, at rest."
    return Check(BELOW_IDLE, is_ok, "error", sentence, figures)
