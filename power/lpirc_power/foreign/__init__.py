"""Recordings by other programs: which column is what, in which unit, and what the file does not say.

It knows no meter and runs no check. Start with `foreign_recording`.
"""
