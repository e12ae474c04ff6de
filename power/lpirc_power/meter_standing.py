"""The standing of a meter: whether its energies count in a contest, by maker, serial number, model and address."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from lpirc_power.meter import UNOFFICIAL, Identity, plain_name

OFFICIAL_MAKERS: Final = ("YOKOGAWA",)
"""Makers whose meters count if a contest names none."""


class Standing(StrEnum):
    """The standing of a meter in a contest: it counts, or the reason why it does not."""

    OFFICIAL = "official"
    LOOPBACK_ALLOWED = "loopback-allowed"
    OTHER_MAKER = "other-maker"
    SIMULATED = "simulated"
    UNKNOWN_MODEL = "unknown-model"
    LOOPBACK = "loopback"

    @property
    def official(self) -> bool:
        """Return True if it counts."""
        return self in (Standing.OFFICIAL, Standing.LOOPBACK_ALLOWED)

    def reason(self, makers: Sequence[str] = OFFICIAL_MAKERS) -> str:
        """Return why it counts or does not, as a clause; empty if that is clear.

        `makers` are those that count in the contest.
        """
        if self is Standing.OTHER_MAKER:
            return _only_meters_of(makers)
        return _REASONS.get(self, "")


_REASONS: Final = {
    Standing.LOOPBACK_ALLOWED: "its address is a loopback one, which contest.toml allows (loopback_meter = true)",
    Standing.SIMULATED: "its serial number says that it is simulated",
    Standing.UNKNOWN_MODEL: "no driver knows the accuracy of this model",
    Standing.LOOPBACK: "its address is a loopback one, where any program can answer; for a real meter set "
    "loopback_meter = true in its station of contest.toml",
}


def is_of(found: Identity, makers: Sequence[str]) -> bool:
    """Return True if a meter says that one of these makers has made it; capitals and blanks around do not matter.

    Meters for rehearsals at home are of no maker.
    """
    maker = _plain(found.maker)
    return maker != UNOFFICIAL and maker in map(_plain, makers)


def excluded_by_identity(found: Identity, makers: Sequence[str]) -> Standing | None:
    """Return the standing of a meter that its maker or serial number excludes; None for one that may count."""
    if not is_of(found, makers):
        return Standing.OTHER_MAKER
    return Standing.SIMULATED if found.is_simulated else None


def counts_by_identity(
    found: Identity, makers: Sequence[str] = OFFICIAL_MAKERS
) -> bool:
    """Return True if maker and serial number allow a meter to count; for runs that keep no standing."""
    return excluded_by_identity(found, makers) is None


def _only_meters_of(makers: Sequence[str]) -> str:
    if len(makers) == 1:
        return f"only meters of the maker {makers[0]} count"
    return f"only meters of the makers {', '.join(makers)} count"


def _plain(maker: str) -> str:
    return plain_name(maker.strip()).upper()
