"""Standing of a meter: whether its energies count in a contest, by maker, serial number, model and address."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from lpirc_power.meter import UNOFFICIAL, Identity, plain_name

OFFICIAL_MAKERS: Final = ("YOKOGAWA",)
"""Makers whose meters count if a contest names none."""


class Standing(StrEnum):
    """Standing of a meter in a contest: why it counts, or why it does not."""

    OFFICIAL = "official"
    LOOPBACK_ALLOWED = "loopback-allowed"
    OTHER_MAKER = "other-maker"
    SIMULATED = "simulated"
    UNKNOWN_MODEL = "unknown-model"
    LOOPBACK = "loopback"

    @property
    def official(self) -> bool:
        """Return True if the meter's results count."""
        return self in (Standing.OFFICIAL, Standing.LOOPBACK_ALLOWED)

    def reason(self, makers: Sequence[str] = OFFICIAL_MAKERS) -> str:
        """Return the reason for the standing as a clause; empty for a meter that plainly counts.

        `makers` are those whose meters count in the contest.
        """
        if self is Standing.OTHER_MAKER:
            return _only_meters_of(makers)
        return _REASONS.get(self, "")


_REASONS: Final = {
    Standing.LOOPBACK_ALLOWED: "it has a loopback address, which contest.toml allows (loopback_meter = true)",
    Standing.SIMULATED: "its serial number says that it is simulated",
    Standing.UNKNOWN_MODEL: "its driver states no accuracy of this model that can be used",
    Standing.LOOPBACK: "it has a loopback address, where any program can answer; for a real meter set "
    "loopback_meter = true in its station of contest.toml",
}


def is_of(found: Identity, makers: Sequence[str]) -> bool:
    """Return True if the meter names one of these makers, ignoring case and surrounding blanks.

    A rehearsal meter at home has no maker.
    """
    maker = _plain(found.maker)
    return maker != UNOFFICIAL and maker in map(_plain, makers)


def excluded_by_identity(found: Identity, makers: Sequence[str]) -> Standing | None:
    """Return the standing of a meter excluded by its maker or serial number; None if neither excludes it."""
    if not is_of(found, makers):
        return Standing.OTHER_MAKER
    return Standing.SIMULATED if found.is_simulated else None


def counts_by_identity(
    found: Identity, makers: Sequence[str] = OFFICIAL_MAKERS
) -> bool:
    """Return True if maker and serial number do not exclude the meter; for runs that recorded no standing."""
    return excluded_by_identity(found, makers) is None


def _only_meters_of(makers: Sequence[str]) -> str:
    if len(makers) == 1:
        return f"only meters of the maker {makers[0]} are official"
    return f"only meters of the makers {', '.join(makers)} are official"


def _plain(maker: str) -> str:
    return plain_name(maker.strip()).upper()
