"""One run as a page that a team takes home: a single HTML file without scripts or references, or a PDF of it.

Lays out what `referee.judging` has computed, and computes no figure. Start with `run_page`. Knows nothing of HTTP.
"""

from referee.report.pdf import find_browser, print_pdf
from referee.report.run_page import report_page, write_report

FOLDER_NAME = "reports"
"""Folder of the reports in a contest folder."""

__all__ = ["FOLDER_NAME", "find_browser", "print_pdf", "report_page", "write_report"]
