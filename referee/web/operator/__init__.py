"""The operator's routes and the console: runs, the queue, announcements, the board, reports, backups.

They need the operator key or an operator's log-in (`operator_access`), and each act is recorded. Start with
`run_routes`.
"""
