"""The operator's routes and the console: runs, the day's queue and announcements, the board, reports, backups.

They need the operator key or an operator's log-in (`operator_access`), and each act goes on record. Start with
`run_routes`.
"""
