"""Finds which compressed run lengths are sound, for many masks at once.

One at a time `run_lengths.runs_of` takes three times as long. It reads again what is not sound here, and says why.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]

_AT_ONCE = 1 << 18
"""Characters that are checked at once: their columns stay in the processor's cache."""

_BITS = 5
_MORE = 1 << _BITS
_FIRST = 48
_GROUPS = 6
"""Most groups of a number here: 30 bits, enough for images of half a billion pixels."""

_ENDS = frozenset(chr(_FIRST + group) for group in range(_MORE))


def are_sound(texts: Sequence[str], pixels: Sequence[int]) -> Bools:
    """Return which texts (N,) are counts from 0 that add up to the pixels (N,) of their image.

    Only True is certain: a text that is sound may be called not sound, if it has more groups than usual.
    """
    found = np.zeros(len(texts), np.bool_)
    # Whole numbers alone may be joined: the rest of a broken one would be read with the next text.
    whole = [
        at for at, text in enumerate(texts) if text[-1:] in _ENDS and text.isascii()
    ]
    begin = 0
    length = 0
    for place, at in enumerate(whole):
        length += len(texts[at])
        if length >= _AT_ONCE or place + 1 == len(whole):
            part = whole[begin : place + 1]
            sizes = np.array([pixels[one] for one in part], np.float64)
            found[part] = _sound([texts[one] for one in part], sizes)
            begin = place + 1
            length = 0
    return found


def _sound(texts: Sequence[str], pixels: NDArray[np.float64]) -> Bools:
    """Do that for ASCII texts that end with the last group of a number."""
    joined = "".join(texts).encode()
    groups = np.frombuffer(joined, np.uint8) - np.uint8(_FIRST)
    ends = np.flatnonzero(groups < _MORE).astype(np.int32)
    starts = np.append(np.int32(0), ends[:-1] + np.int32(1))
    sizes = ends - starts + 1
    last_characters = np.cumsum([len(text) for text in texts]) - 1
    last_numbers = np.searchsorted(ends, last_characters)
    counts = np.diff(last_numbers, prepend=-1)
    owner = np.repeat(np.arange(len(texts)), counts)

    is_sound = np.ones(len(texts), np.bool_)
    wrong = np.flatnonzero(groups >= 2 * _MORE)
    is_sound[np.searchsorted(last_characters, wrong)] = False
    is_sound[owner[sizes > _GROUPS]] = False
    runs = _summed(_numbers(groups, starts, sizes), counts)
    is_sound[owner[runs < 0]] = False
    # In float64 the sums of hostile numbers cannot wrap around, and those of sound ones are exact.
    sums = np.bincount(owner, runs, minlength=len(texts))
    is_sound &= sums == pixels
    return is_sound


def _numbers(
    groups: NDArray[np.uint8],
    starts: Ints,
    sizes: Ints,
) -> Ints:
    """Return the signed numbers that begin at `starts`; one with too many groups is any number."""
    place = np.arange(len(groups), dtype=np.int32)
    place -= np.repeat(starts, sizes)
    np.minimum(place, _GROUPS - 1, out=place)
    place *= _BITS
    parts = (groups & np.uint8(_MORE - 1)).astype(np.int32)
    parts <<= place
    numbers = np.add.reduceat(parts, starts)
    tops = groups.take(starts + sizes - 1)
    negative = np.flatnonzero(tops & np.uint8(_MORE >> 1))
    bits = np.minimum(sizes.take(negative), _GROUPS) * _BITS
    numbers[negative] -= np.int32(1) << bits
    return numbers


def _summed(numbers: Ints, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the counts of all texts: from the fourth of a text on a number is a difference from two places before.

    `counts` are the numbers of each text.
    """
    first = np.cumsum(counts) - counts
    rank = np.arange(len(numbers)) - np.repeat(first, counts)
    runs = numbers.astype(np.int64)
    for begin in (1, 2):
        chain = np.flatnonzero((rank & 1 == begin & 1) & (rank > 0))
        members = np.maximum(counts - begin + 1, 0) // 2
        total = np.cumsum(runs.take(chain))
        ends = np.cumsum(members)
        befores = np.append(0, total)[ends - members]
        runs[chain] = total - np.repeat(befores, members)
    return runs
