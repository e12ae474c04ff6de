"""The query of a request: parameters that a route does not know are refused, since a misspelt one would do nothing.

Routes without parameters ignore a query, and so do those of the old protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lpirc_testsets.close_names import did_you_mean
from referee.errors import RefereeError

LONGEST_SHOWN = 40  # characters of a name


def require_known(given: Iterable[str], known: Sequence[str]) -> None:
    """Raise RefereeError `bad-request` if a parameter is not among the known ones."""
    for name in given:
        if name not in known:
            meant = did_you_mean(name, known)
            raise RefereeError(
                "bad-request",
                f"The query has the unknown parameter {name[:LONGEST_SHOWN]!r}; the parameters here are "
                f"{', '.join(known)}.{meant}",
            )
