"""Why a release is not made."""

from __future__ import annotations


class Refused(Exception):
    """A release cannot be made. The sentence says why, and what to do."""
