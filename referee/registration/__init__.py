"""Registering teams and operators: which names they may have, a list of teams as CSV, the sheet with their passwords.

Used by commands and by the pages of set-up. Knows nothing of HTTP; storing is the store's.
"""
