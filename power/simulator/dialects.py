"""Forms in which meters of the family answer: all of the same values, and seen or documented in different places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Dialect:
    """A form of answers. `verbose` is that of power-on; a client can change it, as it can headers.

    `brief` meters leave out what can be understood without: the element of functions that have none (`TIME`), the
    optional node within a header (`:NUM:ITEM2`), and the zeros of a block's length (`#240`, not `#40040`).
    """

    name: str
    verbose: bool
    brief: bool = False


DIALECTS: Final = (
    Dialect("log2015", verbose=False),  # the recorded log of a WT310 as it was found: headers in short words
    Dialect("manual", verbose=True),  # as the manuals print answers: every node, in long words
    Dialect("wt310e", verbose=False, brief=True),  # a public log of a WT310E's answer to :NUM:NORM?
)
NAMES: Final = tuple(dialect.name for dialect in DIALECTS)


def dialect_named(name: str) -> Dialect:
    """Return the dialect of a name among NAMES."""
    return DIALECTS[NAMES.index(name)]
