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

    verbose: bool = False
    brief: bool = False


DIALECTS: Final = {
    "log2015": Dialect(),  # the recorded log of a WT310 as it was found: headers in short words
    "manual": Dialect(verbose=True),  # as the manuals print answers: every node, in long words
    "wt310e": Dialect(brief=True),  # a public log of a WT310E's answer to :NUM:NORM?
}
DEFAULT: Final = "log2015"
