"""One run as a page that a team takes home: a single HTML file without scripts or references, or a PDF of it.

Lays out what `referee.judging` has computed, and computes no figure. Start with `page`. Knows nothing of HTTP.
"""

from referee.report.page import report_page, write_report
from referee.report.pdf import print_pdf

__all__ = ["print_pdf", "report_page", "write_report"]
