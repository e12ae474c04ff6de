"""What large bodies took goes back to the system at once.

The C library learns from a freed block of 20 MB to keep such blocks, for each of its arenas anew: some rounds of large
bodies left half a gigabyte with a server that needs a fifth of it. Constants and rules: mallopt(3) of the GNU library.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
LARGE_BLOCK_BYTES = 2**20  # from here on a block is mapped by itself; the chunks of batches are smaller
KEPT_BYTES = 2**22  # that an arena keeps at its end: less would fault the chunks of batches in anew


def give_back_large_blocks() -> None:
    """Set this for the process; where the C library has no such setting nothing changes."""
    with suppress(OSError, AttributeError, TypeError):  # no `mallopt`; no such way to ask for it
        library = ctypes.CDLL(None)
        library.mallopt(_M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES)
        library.mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES)
