"""The page of one recording: power, energy, marks, checks, uncertainty budget, and how it was measured."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from lpirc_power.page import recording_parts
from lpirc_power.page.document import document
from lpirc_power.page.mark_table import marks_section
from lpirc_power.page.parts import paragraph
from lpirc_power.report.publication import publication
from lpirc_power.report.recording_report import Recorded


def recording_page(recorded: Recorded, title: str = "") -> str:
    """Return the page as HTML, below a title or the file's name; the same recording gives the same page."""
    lead = recording_parts.verdict(recorded) + recording_parts.notes(recorded)
    body = "".join(
        (
            recording_parts.figures(recorded),
            recording_parts.to_publish(publication(recorded)),
            recording_parts.charts(recorded),
            marks_section(recorded),
            recording_parts.checks(recorded),
            recording_parts.budget_section(recorded.budget),
            recording_parts.budget_section(
                recorded.above_idle_budget,
                "Uncertainty budget of the energy above idle",
            ),
            recording_parts.origin(recorded),
        )
    )
    return document(title or Path(recorded.file).name, lead, body, footer())


def footer(command: str = "meter report") -> str:
    """Return the last line of a page, as HTML: the command that made it."""
    made = f"Made by {command} of lpirc-power {version('lpirc-power')}."
    return paragraph(made)
