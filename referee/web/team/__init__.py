"""A team's own pages at `/team`, by its password: its runs, reports, receipts, uploads, and questions to the jury.

A log-in here opens no run. A team sees only its own pages. Start with `team_pages`.
"""
