"""The page of whatever was measured: a recording, a series of attempts, or several meters on one clock."""

from __future__ import annotations

from lpirc_power.page.group_page import group_page
from lpirc_power.page.recording_page import recording_page
from lpirc_power.page.series_page import series_page
from lpirc_power.report.group_report import Group
from lpirc_power.report.recording_report import Recorded
from lpirc_power.report.series_report import Series


def measurement_page(found: Recorded | Series | Group, title: str = "") -> str:
    """Return the page as HTML, below a title; without one, or with blanks alone, below the file's name."""
    title = title.strip()
    if isinstance(found, Series):
        return series_page(found, title)
    if isinstance(found, Group):
        return group_page(found, title)
    return recording_page(found, title)
