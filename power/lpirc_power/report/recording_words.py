"""A recording in words: its figures by name, and the checks that failed, as lines for people."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lpirc_power.energy.idle_check import ABOVE_IDLE
from lpirc_power.energy.mean_power import IntegratedTime, MeanPower
from lpirc_power.report.budget_words import budget_summary, interval_words
from lpirc_power.report.edge_cost import edge_shares
from lpirc_power.report.reading_facts import (
    figure,
    lines,
    standing_words,
)
from lpirc_power.report.recording_report import (
    INTEGRATED,
    LEAST_UPDATES,
    UNKNOWN,
    Recorded,
)
from lpirc_power.report.rounded import accuracy_words, half_text, half_words


def figure_rows(recorded: Recorded) -> dict[str, str]:
    """Return the figures of a recording in words, by name; those that it lacks are left out."""
    rows = recorded.rows
    readings = len(recorded.readings)
    of_them = f"{rows} of {readings}" if rows < readings else f"{rows}"
    named = {
        "energy": _energy(recorded),
        "mean power": _power(recorded),
        "accuracy": _accuracy(recorded),
        **_uncertainty(recorded),
        "above idle": _above_idle(recorded),
        "meter": meter_words(recorded),
        "recording": f"{of_them} readings in {recorded.file}",
    }
    return {name: value for name, value in named.items() if value}


def meter_words(recorded: Recorded) -> str:
    """Return the meter and why it counts; a meter that no record names is unknown, but for a model that was stated."""
    identity = recorded.identity
    if recorded.is_meter_known:
        return f"{identity}, {standing_words(recorded.standing)}"
    return (
        identity.model if identity.model == UNKNOWN else f"{identity.model}, as stated"
    )


def recorded_lines(recorded: Recorded) -> list[str]:
    """Return a recording as lines for people: its figures, and the checks that failed."""
    failed = [check for check in recorded.checks if not check.ok]
    found = lines(figure_rows(recorded))
    found += [f"{check.severity:16} {check.code}: {check.sentence}" for check in failed]
    if recorded.unchecked:
        found.append(not_checked_line(recorded.unchecked))
    elif not failed:
        found.append(f"{'checks':16} all hold")
    return found


def not_checked_line(codes: Sequence[str]) -> str:
    """Return the codes of the checks that a recording does not answer, as a line for people."""
    return f"{'not checked':16} {', '.join(codes)}; the file does not say"


def _energy(recorded: Recorded) -> str:
    if recorded.no_energy:
        return "none"
    energy_wh = recorded.energy_wh
    energy = figure(energy_wh, "Wh")
    if math.isfinite(recorded.energy_j):
        energy += f" = {figure(recorded.energy_j, 'J')}"
    if recorded.failed:
        energy += f", needs review: {', '.join(recorded.failed)}"
    if recorded.energy.ended:
        energy += f"; {recorded.energy.ended}"
    return f"{energy}; {recorded.broken}" if recorded.broken else energy


def _power(recorded: Recorded) -> str:
    if recorded.no_energy:
        return ""
    if recorded.mean_power is not None:
        return mean_power_words(recorded.mean_power)
    why = "too short compared with the time for starting and stopping the integrator"
    if INTEGRATED in recorded.unanswered:
        why = "too few for a mean: how long the first and the last one count is unknown"
    return (
        f"unknown: {recorded.measured.energy_s:.3f} s is less than {LEAST_UPDATES} updates of "
        f"{recorded.measured.setup.update_interval_s:g} s, {why}"
    )


def mean_power_words(mean: MeanPower) -> str:
    """Return a mean power with its interval, and the time that it is of."""
    half_w = mean.half_w
    known = "" if half_w is None else f" {half_words(half_w, 'W')}"
    return f"{figure(mean.power_w, 'W', 5)}{known} over {time_words(mean.time)}"


def time_words(time: IntegratedTime) -> str:
    """Return how long the integrator ran."""
    off = f" {half_words(time.half_s, 's')}" if time.half_s else ""
    return f"{time.lasted_s:.3f} s{off}"


def _accuracy(recorded: Recorded) -> str:
    limit = recorded.uncertainty
    if recorded.no_energy:
        return ""
    if limit is None or not math.isfinite(limit):
        return "unknown"
    shown = accuracy_words(limit, recorded.energy_wh, "Wh")
    shares = edge_shares(recorded.budget).items()
    causes = [f"{half_text(100.0 * share)} % for {name}" for name, share in shares]
    if causes:
        shown += f", including {' and '.join(causes)}"
    if drift := recorded.energy.drift:
        shown += f", {half_text(100.0 * drift)} % for {recorded.energy.ambient_change_c:g} degrees C of drift"
    if recorded.energy.is_larger_of_two:
        shown += ", the larger limit of AC and DC"
    return shown + (
        ", at worst: ranges were automatic" if recorded.energy.is_at_worst else ""
    )


def _uncertainty(recorded: Recorded) -> dict[str, str]:
    """Return the lines of the budget; `accuracy` is its guaranteed limit already."""
    if recorded.budget is None:
        return {}
    found = budget_summary(recorded.budget)
    found.pop("guaranteed", None)
    return found


def _above_idle(recorded: Recorded) -> str:
    idle = recorded.idle
    above_wh = recorded.above_idle_wh
    if idle is None or above_wh is None or recorded.no_energy:
        return ""
    net = recorded.above_idle_budget
    known = "" if net is None else f" {interval_words(net)}"
    if any(one.code == ABOVE_IDLE and not one.ok for one in recorded.checks):
        known += f", not to be used: {ABOVE_IDLE} fails"
    return (
        f"{figure(above_wh, 'Wh')}{known}; idle {figure(idle.power_w, 'W', 5)} over {idle.duration_s:.3g} s, from "
        f"update to update +-{figure(idle.spread_w, 'W', 3)}"
    )
