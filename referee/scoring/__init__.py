"""Scoring: pure functions on numpy arrays; no I/O, no clock."""
