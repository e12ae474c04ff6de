"""The warning of an energy that is not as it should be."""

from __future__ import annotations


class DoubtfulEnergy(UserWarning):
    """An energy that needs review or is missing, or a recording whose file is not complete."""
