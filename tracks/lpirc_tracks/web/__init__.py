"""The routes of model tracks: entries, uploads, work for devices, public boards.

Knows no rule and no device. Start with `plugin`.
"""
