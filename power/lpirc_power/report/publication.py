"""A sentence for a paper: the energy, its uncertainty and what that covers, how often, and by which meter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from lpirc_power.energy import Budget
from lpirc_power.energy.budget import Term
from lpirc_power.energy.energy_budget import (
    AGE,
    AGE_NAME,
    GAPS,
    RESOLUTION_TIME,
    RESOLUTION_WH,
    START_STOP,
)
from lpirc_power.energy.reading_columns import column
from lpirc_power.energy.spread import SPREAD
from lpirc_power.meter_standing import Standing
from lpirc_power.report.incomplete import why_not_counted
from lpirc_power.report.recording_report import UNKNOWN, Recorded
from lpirc_power.report.rounded import with_half_width
from lpirc_power.report.series_report import ATTEMPT, Series

ALONE: Final = "How much attempts differ is not known from one."
OF_METER: Final = "the meter's limits of error"
_CAUSES: Final = {
    RESOLUTION_WH: "the meter's resolution",
    RESOLUTION_TIME: "the meter's resolution",
    START_STOP: "start and stop",
    AGE: AGE_NAME,
    GAPS: "gaps between readings",
    SPREAD: "the spread between the attempts",
}
"""What a term of a budget covers, by its code; every other one is the meter's."""
OFFICIAL: Final = "official-meter"
"""The check that is about contests alone; the sentence itself says which meter it was, and if it is simulated."""


@dataclass(frozen=True)
class Publication:
    """What may be published of an energy, or why nothing may; `caution` says what to read before."""

    said: str
    caution: str = ""

    @property
    def line(self) -> str:
        """Both as a line for people."""
        return f"{'to publish':16} {self.said} {self.caution}".rstrip()


def publication(recorded: Recorded) -> Publication:
    """Return the sentences about a single recording."""
    if why := why_not_counted(recorded):
        return Publication(f"Nothing yet: {recorded.file} {why}.")
    energy = _energy("The energy of one measurement", recorded.budget, recorded)
    return Publication(f"{energy} {ALONE}", _cautions([recorded]))


def series_publication(series: Series) -> Publication:
    """Return the sentences about the mean of a series."""
    counted = series.recordings
    if not counted:
        return Publication("Nothing yet: no attempt counts.")
    of = f"The mean energy of {len(counted)} attempts"
    if len(counted) == 1:
        of = "The energy of one attempt"
    energy = _energy(f"{of}{_left_out(series)}", series.budget, counted[0])
    said = f"{energy} {ALONE}" if len(counted) == 1 else energy
    more = []
    if series.warnings:
        more.append("the warnings about the attempts")
    if series.record.stopped or series.shortfall:
        more.append("why the series is not whole")
    return Publication(said, _cautions(counted, more))


def _left_out(series: Series) -> str:
    """Return how many attempts were made and left out, to follow the number of those that count."""
    names = [one.name for one in series.left_out if one.name.startswith(ATTEMPT)]
    if not names:
        return ""
    were = "was" if len(names) == 1 else "were"
    return f" ({len(names)} more {were} left out)"


def _energy(of: str, budget: Budget | None, recorded: Recorded) -> str:
    """Return the energy with its interval, the meter, and what the interval covers."""
    if budget is None:
        return f"{of} has no uncertainty budget."
    shown = with_half_width(budget.energy_wh, budget.coverage_wh, "Wh")
    how = f"measured by {_meter(recorded)}{_interval(recorded)}"
    if not budget.is_known:
        lacking = [one.name for one in budget.terms if not one.is_known]
        since = f", since {_listed(lacking)} {_is(lacking)}" if lacking else ""
        return f"{of} is {shown}, {how}. Its uncertainty is unknown{since}."
    factor = budget.coverage_factor
    known_by = "" if factor is None else f", k = {factor:.3g}"
    covered = [*dict.fromkeys(_covered(budget.terms))]
    covers = _listed(covered) if covered else "no error, since no term has a size"
    return (
        f"{of} is {shown} (coverage 95.45 %{known_by}), {how}. The interval covers "
        f"{covers}."
    )


def _covered(terms: Sequence[Term]) -> Iterator[str]:
    for one in terms:
        if one.standard_wh:
            yield _CAUSES.get(one.code, OF_METER)


def _meter(recorded: Recorded) -> str:
    identity = recorded.identity
    if not recorded.is_meter_known:
        if identity.model == UNKNOWN:
            return "a meter that the recording does not name"
        return f"a meter that was stated to be a {identity.model}"
    # An address can be that of a simulation, too, whose serial number says nothing.
    is_simulated = identity.is_simulated or recorded.standing is Standing.SIMULATED
    kind = "the simulated meter" if is_simulated else "the meter"
    return f"{kind} {identity}"


def _interval(recorded: Recorded) -> str:
    """Return how often the meter was read, to follow the meter; empty for one reading, which does not show it.

    A file without a record shows only how far its readings are apart, which may be more than a stated update interval.
    """
    if recorded.record is not None:
        return f" with an update every {recorded.measured.setup.update_interval_s:g} s"
    pauses_s = np.diff(column(recorded.readings, "monotonic_s"))
    if not len(pauses_s):
        return ""
    return f" with a reading about every {float(np.median(pauses_s)):.3g} s"


def _cautions(recordings: Sequence[Recorded], more: Sequence[str] = ()) -> str:
    """Return what to read before the sentence is used; empty if nothing speaks against it."""
    codes = {
        check.code: None
        for one in recordings
        for check in one.checks
        if not check.ok and check.code != OFFICIAL
    }
    named = [f"the check {code}" for code in codes]
    if any(one.doubts for one in recordings):
        named.append("the notes")
    named += more
    return f"Read first: {_listed(named)}." if named else ""


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
