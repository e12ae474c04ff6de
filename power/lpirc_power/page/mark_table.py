"""The table of a recording's marks with their energies."""

from __future__ import annotations

import numpy as np

from lpirc_power.page.parts import Table, paragraph, section
from lpirc_power.page.recording_charts import ends_of
from lpirc_power.report.reading_facts import figure
from lpirc_power.report.recording_report import Recorded


def marks_section(recorded: Recorded) -> str:
    """Return the section of the marks; nothing without marks."""
    if not recorded.marks:
        return ""
    begin_s, end_s = ends_of(recorded)
    known = [one for one in recorded.readings if np.isfinite(one.energy_wh)]
    times = np.array([one.monotonic_s for one in known])
    sums = np.array([one.energy_wh for one in known])
    rows = []
    for number, mark in enumerate(recorded.marks, start=1):
        last_s = end_s if mark.end_s is None else mark.end_s
        energy_wh = float("nan")
        if known:
            first, last = np.interp([mark.begin_s, last_s], times, sums)
            energy_wh = float(last - first)
        lasted_s = last_s - mark.begin_s
        power_w = energy_wh * 3600 / lasted_s if lasted_s > 0 else float("nan")
        rows.append(
            (
                f"{number}",
                mark.name,
                f"{mark.begin_s - begin_s:.3f} s",
                f"{lasted_s:.3f} s",
                figure(energy_wh, "Wh", 5),
                figure(power_w, "W", 5),
            )
        )
    table = Table(
        "Marks", ("no.", "mark"), ("begin", "duration", "energy", "mean power"), rows
    )
    told = paragraph("Begin counts from the start of the recording.", "quiet")
    return section("Marks", told, table.html())
