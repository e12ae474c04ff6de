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
            of_part = [texts[one] for one in part]
            sizes = [pixels[one] for one in part]
            found[part] = _sound(of_part, np.array(sizes, np.float64))
            begin = place + 1
            length = 0
    return found


def _sound(texts: Sequence[str], pixels: NDArray[np.float64]) -> Bools:
    """Do that for ASCII texts that end with the last group of a number."""
    joined = "".join(texts).encode()
    groups = np.frombuffer(joined, np.uint8) - np.uint8(_FIRST)
    is_end = groups < _MORE
    ends = np.flatnonzero(is_end).astype(np.int32)
    starts = np.empty_like(ends)
    starts[0] = 0
    starts[1:] = ends[:-1]
    starts[1:] += 1
    sizes = ends - starts
    sizes += 1

    lengths = [len(text) for text in texts]
    last_characters = np.cumsum(lengths)
    last_characters -= 1
    last_numbers = np.searchsorted(ends, last_characters)
    counts = np.diff(last_numbers, prepend=-1)
    every = np.arange(len(texts))
    owner = np.repeat(every, counts)

    is_sound = np.ones(len(texts), np.bool_)
    wrong = np.flatnonzero(groups >= 2 * _MORE)
    owner_of_wrong = np.searchsorted(last_characters, wrong)
    is_sound[owner_of_wrong] = False
    is_long = sizes > _GROUPS
    is_sound[owner[is_long]] = False

    numbers = _numbers(groups, starts, sizes)
    runs = _summed(numbers, counts)
    is_negative = runs < 0
    is_sound[owner[is_negative]] = False
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
    shift = np.arange(len(groups), dtype=np.int32)
    shift -= np.repeat(starts, sizes)
    np.minimum(shift, _GROUPS - 1, out=shift)
    shift *= _BITS
    low_bits = groups & np.uint8(_MORE - 1)
    parts = low_bits.astype(np.int32)
    parts <<= shift
    numbers = np.add.reduceat(parts, starts)

    last = starts + sizes
    last -= 1
    tops = groups.take(last)
    sign = tops & np.uint8(_MORE >> 1)
    negative = np.flatnonzero(sign)
    bits = np.minimum(sizes.take(negative), _GROUPS)
    bits *= _BITS
    numbers[negative] -= np.int32(1) << bits
    return numbers


def _summed(numbers: Ints, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the counts of all texts: from the fourth of a text on a number is a difference from two places before.

    `counts` are the numbers of each text.
    """
    first = np.cumsum(counts)
    first -= counts
    rank = np.arange(len(numbers))
    rank -= np.repeat(first, counts)
    runs = numbers.astype(np.int64)
    is_odd = rank & 1 == 1
    is_even = ~is_odd & (rank > 0)
    for begin, is_chain in ((1, is_odd), (2, is_even)):
        chain = np.flatnonzero(is_chain)
        members = counts - begin
        members += 1
        members //= 2
        np.maximum(members, 0, out=members)

        total = np.cumsum(runs.take(chain))
        from_zero = np.append(0, total)
        ends = np.cumsum(members)
        before = from_zero.take(ends - members)
        runs[chain] = total - np.repeat(before, members)
    return runs
