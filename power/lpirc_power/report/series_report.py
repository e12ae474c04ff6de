"""A series of attempts at one measurement: the mean energy, its spread and its uncertainty."""

from __future__ import annotations

import functools
import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

from lpirc_power.energy import Budget, budget_of_mean
from lpirc_power.energy.attempt_order import attempt_warnings
from lpirc_power.energy.spread import half_of_mean
from lpirc_power.record.document import LeftOut, SeriesRecord
from lpirc_power.report.budget_words import attached_words, budget_summary
from lpirc_power.report.checks_of_several import check_lines, note_lines, note_sentences
from lpirc_power.report.reading_facts import figure, json_ready, lines
from lpirc_power.report.recording_report import Recorded, recorded_facts
from lpirc_power.report.recording_words import meter_words
from lpirc_power.report.rounded import half_words, percent_words

ATTEMPT: Final = "attempt"
NUMBERED: Final = re.compile(rf"{ATTEMPT} ([0-9]{{1,8}})")
MOST_ABSENT: Final = 4
"""Most attempts that are named as lacking."""
WARM_UP: Final = "warm-up"
"""First words of the names of recordings in a series; those of the second kind do not count."""
TIMES_APART: Final = 2.0
"""Ratio of the durations of warm-up and attempts from which it is told."""
LEAST_APART_S: Final = 0.2
"""Difference of these durations below which it is not told: starting a program varies as much."""


def warm_up_name(recorded: Recorded) -> str:
    """Return the name of a recording that was made to warm up for a series; empty for any other."""
    part = recorded.record.part if recorded.record else None
    return part.name if part and part.name.startswith(WARM_UP) else ""


def attempt_names(recordings: Sequence[Recorded]) -> tuple[str, ...]:
    """Return the names of attempts: those of their records, as "attempt 3"; by their order if these do not say."""
    parts = [one.record.part for one in recordings if one.record and one.record.part]
    named = [one.name for one in parts if one.name.startswith(ATTEMPT)]
    if len(set(named)) == len(recordings):
        return tuple(named)
    return tuple(f"{ATTEMPT} {number}" for number in range(1, len(recordings) + 1))


@dataclass(frozen=True)
class Series:
    """Attempts of one measurement: those that count, those before them that do not, and those that failed."""

    record: SeriesRecord
    recordings: tuple[Recorded, ...]
    warm_up: tuple[Recorded, ...]
    file: str
    left_out: tuple[LeftOut, ...] = ()
    names: tuple[str, ...] = ()
    """The names of the attempts that count, where their records do not say them."""

    @property
    def by_name(self) -> dict[str, Recorded]:
        """The attempts that count, by their names, in order."""
        names = self.names or attempt_names(self.recordings)
        return dict(zip(names, self.recordings, strict=True))

    @property
    def energies_wh(self) -> list[float]:
        """The energies of the attempts that count."""
        return [one.energy_wh for one in self.recordings]

    @property
    def mean_wh(self) -> float:
        """The mean energy; NaN without an attempt."""
        return statistics.fmean(self.energies_wh) if self.recordings else math.nan

    @property
    def deviation_wh(self) -> float | None:
        """The standard deviation of the attempts; None for fewer than two."""
        energies_wh = self.energies_wh
        if len(energies_wh) < 2 or not all(map(math.isfinite, energies_wh)):
            return None
        return statistics.stdev(energies_wh)

    @property
    def shortfall(self) -> str:
        """A sentence that says why the series has fewer attempts than it was to have; empty if it has all."""
        record = self.record
        if record.stopped:
            return f"The series is not whole: {record.stopped}"
        failed = [one for one in record.left_out if one.name.startswith(ATTEMPT)]
        count = len(record.recordings) + len(failed)
        if absent := self._absent:
            names = ", ".join(f"{ATTEMPT} {number}" for number in absent)
            return f"The series is not whole: its record lacks {names}, though later ones were made, and not why."
        if count >= self._wanted or record.stable is not None:
            return ""
        return f"The series is not whole: its record names {count} of {self._wanted} attempts, and not why."

    @property
    def _wanted(self) -> int:
        """How many attempts the series was to have, by its record and by those of its recordings."""
        parts = [one.record.part for one in self.recordings if one.record]
        said = [part.wanted for part in parts if part is not None]
        return max([self.record.wanted, *said])

    @property
    def _absent(self) -> list[int]:
        """The first numbers that no attempt has though a later one was made; none if an attempt cannot be read."""
        names = [*self.by_name, *(one.name for one in self.left_out)]
        attempts = [one for one in names if one.startswith(ATTEMPT)]
        found = [NUMBERED.fullmatch(one) for one in attempts]
        numbers = {int(one[1]) for one in found if one is not None}
        if len(numbers) < len(attempts):
            return []
        last = max(numbers, default=0)
        far_enough = len(numbers) + MOST_ABSENT + 1
        end = min(last, far_enough)
        absent = set(range(1, end)) - numbers
        return sorted(absent)[:MOST_ABSENT]

    @functools.cached_property
    def half_wh(self) -> float | None:
        """Half of the interval of the mean by Student's t, 95.45 %; None for fewer than two attempts.

        It holds the mean that endless attempts by the same meter in the same setup would have.
        """
        return half_of_mean(self.energies_wh)

    @property
    def relative_half(self) -> float | None:
        """That half as a part of the mean; None if there is none."""
        half_wh = self.half_wh
        return (
            None if half_wh is None or not self.mean_wh else half_wh / abs(self.mean_wh)
        )

    @functools.cached_property
    def budget(self) -> Budget | None:
        """The uncertainty budget of the mean energy; None without an attempt.

        Repeating makes no term of a single attempt smaller, since its error may be the same in all; it makes that of
        the spread smaller.
        """
        budgets = [one.budget for one in self.recordings if one.budget is not None]
        return budget_of_mean(budgets) if budgets else None

    @functools.cached_property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about a warm-up that may have done the work, and attempts not independent or not about normal."""
        of_warm_up = _warm_up_words(self)
        found = attempt_warnings(self.energies_wh, [*self.by_name])
        return (of_warm_up, *found) if of_warm_up else tuple(found)

    @functools.cached_property
    def above_idle_budget(self) -> Budget | None:
        """The mean energy above idle with its budget; None if an attempt has no idle power or no energy."""
        budgets = [
            one.above_idle_budget
            for one in self.recordings
            if one.above_idle_budget is not None
        ]
        is_whole = bool(budgets) and len(budgets) == len(self.recordings)
        return budget_of_mean(budgets) if is_whole else None


def _warm_up_words(series: Series) -> str:
    """Return a sentence if the last warm-up took another time than the attempts: it may have done their work."""
    if not (series.warm_up and series.recordings):
        return ""
    warm_up_s = series.warm_up[-1].measured.energy_s
    mean_s = statistics.fmean(one.measured.energy_s for one in series.recordings)
    shorter_s, longer_s = sorted((warm_up_s, mean_s))
    if longer_s - shorter_s < LEAST_APART_S or longer_s < TIMES_APART * shorter_s:
        return ""
    return (
        f"The last warm-up took {warm_up_s:.3g} s, the attempts {mean_s:.3g} s on average: look whether each of them "
        "does the whole work, or finds it done."
    )


def series_facts(series: Series) -> dict[str, object]:
    """Return a series, ready for JSON."""
    half_wh = series.half_wh
    deviation_wh = series.deviation_wh
    relative = series.relative_half
    above = series.above_idle_budget
    return {
        "kind": "series",
        "attempts": [recorded_facts(one) for one in series.recordings],
        "warm_up": [recorded_facts(one) for one in series.warm_up],
        "count": len(series.recordings),
        "wanted": series.record.wanted,
        "left_out": [asdict(one) for one in series.left_out],
        "mean_wh": json_ready(series.mean_wh),
        "deviation_wh": deviation_wh,
        "interval_wh": None
        if half_wh is None
        else [series.mean_wh - half_wh, series.mean_wh + half_wh],
        "interval_percent": None if relative is None else 100.0 * relative,
        "until_stable_percent": None
        if series.record.stable is None
        else 100.0 * series.record.stable,
        "stopped": series.record.stopped or None,
        "warnings": list(series.warnings),
        "budget": None if series.budget is None else series.budget.document(),
        "above_idle_wh": None if above is None else json_ready(above.energy_wh),
        "above_idle_budget": None if above is None else above.document(),
        "file": series.file,
    }


def attempts_words(count: int) -> str:
    """Return how many attempts there are."""
    return "1 attempt" if count == 1 else f"{count} attempts"


def attempt_words(recorded: Recorded) -> str:
    """Return one attempt in words."""
    energy = "no energy" if recorded.no_energy else figure(recorded.energy_wh, "Wh")
    power = (
        "" if math.isnan(recorded.power_w) else f", {figure(recorded.power_w, 'W', 5)}"
    )
    return f"{energy} in {recorded.measured.energy_s:.3f} s{power}, {recorded.file}"


def above_idle_words(series: Series) -> str:
    """Return the mean energy above idle in words; empty if there is none."""
    budget = series.above_idle_budget
    if budget is None:
        return ""
    powers_w = [one.idle.power_w for one in series.recordings if one.idle is not None]
    idle_w = figure(statistics.fmean(powers_w), "W", 5)
    return f"{figure(budget.energy_wh, 'Wh')} {attached_words(budget)}; idle {idle_w} on average"


def series_lines(series: Series) -> list[str]:
    """Return a series as lines for people."""
    found = [
        f"{'warm-up':16} {attempt_words(one)}, not counted" for one in series.warm_up
    ]
    attempts = series.by_name
    found += [f"{name:16} {attempt_words(one)}" for name, one in attempts.items()]
    found += [f"{one.name:16} does not count: {one.why}" for one in series.left_out]
    return [
        *found,
        *lines(_figure_rows(series)),
        *series_warning_lines(series),
        *check_lines(attempts),
        *note_lines(note_sentences(attempts)),
    ]


def _figure_rows(series: Series) -> dict[str, str]:
    """Return the figures of a series in words, by name; those that it lacks are left out."""
    count = len(series.recordings)
    named = _mean_rows(series)
    if series.budget is not None:
        summary = budget_summary(series.budget)
        named |= {name: words for name, words in summary.items() if words}
    if idle := above_idle_words(series):
        named["above idle"] = idle
    if count:
        named["meter"] = meter_words(series.recordings[0])
    if series.record.stopped:
        named["stopped"] = series.record.stopped
    elif series.shortfall:
        named["stopped"] = series.shortfall
    return named


def _mean_rows(series: Series) -> dict[str, str]:
    """Return the mean, the deviation and the interval of the attempts in words, by name."""
    count = len(series.recordings)
    if not count:
        return {}
    if count == 1:
        return {
            "mean energy": f"{figure(series.mean_wh, 'Wh')} of 1 attempt",
            "deviation": "unknown: one attempt shows no spread, so the uncertainty is the meter's alone",
        }
    named = {"mean energy": f"{figure(series.mean_wh, 'Wh')} of {count} attempts"}
    if series.deviation_wh is None or series.half_wh is None:
        return named
    half = half_words(series.half_wh, "Wh")
    if percent := percent_words(series.relative_half):
        half += f" ({percent})"
    deviation = figure(series.deviation_wh, "Wh", 3)
    named["deviation"] = f"{deviation}, from attempt to attempt"
    named["interval"] = f"{half}, Student's t, 95.45 %, without the meter's error"
    return named


def series_warning_lines(series: Series) -> list[str]:
    """Return what speaks against the interval of a series, as lines for people."""
    return [f"{'warning':16} {one}" for one in series.warnings]
