"""A recording of a real meter, measured again in its own time."""

from __future__ import annotations

import math
from bisect import bisect_right
from itertools import pairwise
from pathlib import Path
from typing import Final

from power.home.meter import Sample, unofficial
from power.meter import Reading
from power.recording import NO_DATE, read_recording

LONE_ROW_S: Final = 1.0


class Replay:
    """Shows the row that was the newest at the same time in the recording.

    Its time starts at the first look, and again with each integral. WH and TIME are the file's, less those of its first
    row, on a straight line from row to row. At the time of the last row it has ended, which stops the integrator as a
    timer does: what was not recorded is not invented, and the check of the integrator's time shows that the window was
    longer. The last row is shown as long as the one before it; after that there is no data.
    """

    def __init__(self, path: Path) -> None:
        """Read the file; raises as power.recording.read_recording."""
        self._rows = read_recording(path)
        self._times_s = [row.monotonic_s - self._rows[0].monotonic_s for row in self._rows]
        self._energies_wh = _without_gaps([row.energy_wh for row in self._rows])
        self._running_s = _without_gaps([row.integrator_s for row in self._rows])
        # Two rows of one moment are common: the meter was asked twice within its second.
        paces_s = [later - earlier for earlier, later in pairwise(self._times_s) if later > earlier]
        self._held_s = paces_s[-1] if paces_s else LONE_ROW_S
        self._began_s: float | None = None
        form = "recording-2015" if self._rows[0].utc < NO_DATE.replace(year=1971) else "recording"
        self.identity = unofficial("replay", path.name, form)

    def begin(self, now_s: float) -> None:
        """Begin with the first row."""
        self._began_s = now_s

    def look(self, now_s: float) -> Sample:
        """Return the row of this moment, with energy and time up to it."""
        if self._began_s is None:
            self._began_s = now_s
        passed_s = now_s - self._began_s
        index = bisect_right(self._times_s, passed_s) - 1
        energy_wh, running_s = (
            self._between(values, index, passed_s) for values in (self._energies_wh, self._running_s)
        )
        last = len(self._rows) - 1
        if passed_s >= self._times_s[last] + self._held_s:
            return Sample(energy_wh=energy_wh, running_s=running_s, ended=True)
        return _sample(self._rows[index], energy_wh, running_s, ended=index == last)

    def _between(self, values: list[float], index: int, passed_s: float) -> float:
        if index + 1 == len(values):
            return values[index]
        part = (passed_s - self._times_s[index]) / (self._times_s[index + 1] - self._times_s[index])
        return values[index] + part * (values[index + 1] - values[index])


def _sample(row: Reading, energy_wh: float, running_s: float, *, ended: bool) -> Sample:
    return Sample(
        energy_wh=energy_wh,
        running_s=running_s,
        power_w=row.power_w,
        voltage_v=row.voltage_v,
        current_a=row.current_a,
        apparent_va=row.apparent_va,
        power_factor=row.power_factor,
        over_range=row.over_range,
        voltage_peak_over=row.voltage_peak_over,
        current_peak_over=row.current_peak_over,
        ended=ended,
    )


def _without_gaps(values: list[float]) -> list[float]:
    """Return the values with the one before in place of no data or over range, at the beginning the one after."""
    filled, last = [], next(filter(math.isfinite, values), 0.0)
    for value in values:
        last = value if math.isfinite(value) else last
        filled.append(last)
    return filled
