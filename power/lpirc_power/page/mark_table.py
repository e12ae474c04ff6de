"""The table of a recording's marks with their energies."""

from __future__ import annotations

from typing import Final

from lpirc_power.page.parts import Table, paragraph, section, with_half_width
from lpirc_power.report.marked_report import Marked, lost_words, marked, remarks
from lpirc_power.report.reading_facts import figure
from lpirc_power.report.recording_report import Recorded

COVERED: Final = (
    "The figure after an energy's \N{PLUS-MINUS SIGN} is half of its interval of 95.45 %; where there is none, it is "
    "unknown."
)
OVERLAP: Final = (
    "Energies of different marks overlap where the marks do; they need not add up to that of the "
    "recording."
)
MOST_NAMES: Final = 200
"""Names above which the rest is only counted; nobody reads more, and the page stays small."""


def marks_section(recorded: Recorded, title: str = "Marks") -> str:
    """Return the section of the marks; nothing without marks."""
    found = marked(recorded)
    if not found:
        return ""
    rows = [_row(number, one) for number, one in enumerate(found[:MOST_NAMES], start=1)]
    table = Table(
        title,
        ("no.", "mark"),
        ("times", "duration", "energy", "each", "mean power"),
        rows,
        ("remarks",),
    )
    told = f"{OVERLAP} {COVERED}"
    left = len(found) - MOST_NAMES
    more = paragraph(f"{left} more names are not shown.") if left > 0 else ""
    lost = lost_words(recorded)
    lost = paragraph(f"Marks: {lost}.") if lost else ""
    return section(title, paragraph(told, "quiet"), table.html(), more, lost)


def _row(number: int, one: Marked) -> tuple[str, ...]:
    remarked = "; ".join(remarks(one))
    if not one.count:
        return (f"{number}", one.name, "", "", "", "", "", remarked)
    half_wh = None if one.budget is None else one.budget.coverage_wh
    return (
        f"{number}",
        one.name,
        f"{one.count}",
        f"{one.energy.duration_s:.4g} s",
        with_half_width(one.energy.energy_wh, half_wh, "Wh"),
        figure(one.mean_wh, "Wh") if one.count > 1 else "",
        figure(one.mean_power_w, "W", 5),
        remarked,
    )
