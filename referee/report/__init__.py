"""The report of one run for its team: a single HTML file without external references, or a PDF of it.

It has no script, unless with its replay: then the player alone, which `replay_section` puts into the page.

It lays out what `referee.judging` has computed, and computes no figures. Start with `run_page`. This package knows
nothing of HTTP.
"""

from referee.report.pdf import find_browser, print_pdf
from referee.report.run_page import report_page, write_report

FOLDER_NAME = "reports"
"""Name of the folder for reports within a contest folder."""

__all__ = [
    "FOLDER_NAME",
    "find_browser",
    "print_pdf",
    "report_page",
    "write_report",
]
