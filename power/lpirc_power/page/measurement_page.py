"""The page of whatever was measured: a recording, a series of attempts, or several meters on one clock."""

from __future__ import annotations

from lpirc_power.page.recording_page import recording_page
from lpirc_power.recorded_files import Group, Series
from lpirc_power.report.recording_report import Recorded


def measurement_page(found: Recorded | Series | Group) -> str:
    """Return the page as HTML."""
    if isinstance(found, Recorded):
        return recording_page(found)
    raise NotImplementedError
