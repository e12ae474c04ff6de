"""Masks as run lengths (RLE), in COCO's two forms: the compressed text, and the list of counts.

The pixels are read column by column. The counts are the lengths of the runs, which alternate between outside and
inside, beginning with outside; the first may be 0. In the text a count is written as its difference from the count two
places before (the first three: as itself), as a signed number of groups of five bits, the lowest first. A group is the
character 48 + bits, + 32 if another group follows.

Source: https://github.com/cocodataset/cocoapi, common/maskApi.h and maskApi.c, whose text is the same to the last byte.
A mask is a bool array (height, width). Each ValueError says in a clause what is wrong with the counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lpirc_testsets.values import shown

Counts = str | list[int]
Ints = NDArray[np.int64]

_BITS = 5
_MORE = 1 << _BITS
_FIRST = 48
_GROUPS = 7  # 35 bits, more than an image has pixels
_SHIFTS = _BITS * np.arange(_GROUPS, dtype=np.int64)


def encode(mask: NDArray[np.bool_]) -> str:
    """Return the compressed text of a mask (height, width)."""
    pixels = mask.T.astype(np.bool_, copy=False).ravel()
    changes = np.flatnonzero(pixels[1:] != pixels[:-1]) + 1
    starts_inside = pixels[:1].any()
    edges = np.concatenate(([0] * (1 + bool(starts_inside)), changes, [pixels.size]))
    return compressed(np.diff(edges))


def compressed(runs: Ints) -> str:
    """Return the compressed text of counts (R,)."""
    numbers = runs.astype(np.int64)
    numbers[3:] -= runs[1:-2]
    limits = 1 << (_SHIFTS + _BITS - 1)  # n groups hold a number from -limit to limit-1
    fits = (numbers[:, None] < limits) & (numbers[:, None] >= -limits)
    last = fits.argmax(axis=1)[:, None]
    place = np.arange(_GROUPS)
    groups = (numbers[:, None] >> _SHIFTS) & (_MORE - 1)
    groups += np.where(place < last, _MORE, 0) + _FIRST
    characters = groups[place <= last].astype(np.uint8)
    return str(characters.tobytes(), "ascii")


def decode(
    counts: Counts,
    height: int,
    width: int,
) -> NDArray[np.bool_]:
    """Return the mask (height, width) of counts. Raises ValueError as `runs_of` does."""
    runs = runs_of(counts, height, width)
    inside = np.arange(len(runs)) % 2 == 1
    return np.repeat(inside, runs).reshape(width, height).T


def area(
    counts: Counts,
    height: int,
    width: int,
) -> int:
    """Return the number of pixels inside. Raises ValueError as `runs_of` does."""
    return int(runs_of(counts, height, width)[1::2].sum())


def bounds(
    counts: Counts,
    height: int,
    width: int,
) -> tuple[int, int, int, int]:
    """Return the smallest COCO box x, y, w, h around the pixels inside, zeros if there are none.

    Raises ValueError as `runs_of` does.
    """
    runs = runs_of(counts, height, width)
    ends = np.cumsum(runs)[1::2]
    starts = ends - runs[1::2]
    filled = starts < ends
    if not filled.any():
        return 0, 0, 0, 0
    starts = starts[filled]
    lasts = ends[filled] - 1
    left = int(starts[0] // height)
    right = int(lasts[-1] // height)
    top = int((starts % height).min())
    bottom = int((lasts % height).max())
    if (starts // height != lasts // height).any():  # a run into the next column
        top = 0
        bottom = height - 1
    return left, top, right - left + 1, bottom - top + 1


def runs_of(
    counts: Counts,
    height: int,
    width: int,
) -> Ints:
    """Return the lengths of the runs (R,), which add up to height x width.

    Raises ValueError for text with other characters, a number that breaks off or has more than 35 bits, a count below
    0, more counts than an image of this size can need, and counts with another sum.
    """
    pixels = height * width
    most = pixels + 1
    if isinstance(counts, str):
        runs = _read(counts, most)
    elif isinstance(counts, list):
        runs = _listed(counts, most)
    else:
        raise ValueError(f"the counts {shown(counts)} are neither text nor a list")  # noqa: TRY004 - as all others
    if len(runs) and runs.min() < 0:
        at = int(np.argmax(runs < 0))
        raise ValueError(f"count {at + 1} is {runs[at]}, below 0")
    total = int(runs.sum())
    if total != pixels:
        raise ValueError(
            f"the counts add up to {total}, but {height} x {width} pixels are {pixels}"
        )
    return runs


def _listed(counts: list[int], most: int) -> Ints:
    if len(counts) > most:
        raise ValueError(f"{len(counts)} counts are too many for {most - 1} pixels")
    for at, count in enumerate(counts):
        if type(count) is not int or abs(count) >= most:
            raise ValueError(
                f"count {at + 1} is {shown(count)}, not a whole number from 0 to {most - 1}"
            )
    return np.array(counts, np.int64)


def _read(text: str, most: int) -> Ints:
    """Return the counts in compressed text, not checked against the size."""
    if len(text) > most * _GROUPS:
        raise ValueError(f"{len(text)} characters are too many for {most - 1} pixels")
    groups = np.frombuffer(_ascii(text), np.uint8).astype(np.int64) - _FIRST
    if not len(groups):
        return groups
    wrong = (groups < 0) | (groups >= 2 * _MORE)
    if wrong.any():
        at = int(wrong.argmax())
        raise ValueError(f"character {at + 1} is {text[at]!r}, which no count has")
    ends = np.flatnonzero(groups < _MORE)
    if not len(ends) or ends[-1] != len(groups) - 1:
        raise ValueError("the text breaks off within its last count")
    if len(ends) > most:
        raise ValueError(f"{len(ends)} counts are too many for {most - 1} pixels")
    return _summed(_numbers(groups, ends))


def _ascii(text: str) -> bytes:
    try:
        return text.encode("ascii")
    except UnicodeEncodeError as error:
        found = text[error.start]
        raise ValueError(
            f"character {error.start + 1} is {shown(found)}, which no count has"
        ) from error


def _numbers(groups: Ints, ends: Ints) -> Ints:
    """Return the signed numbers whose last groups are at `ends`."""
    starts = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - starts + 1
    if lengths.max() > _GROUPS:
        at = int(lengths.argmax())
        raise ValueError(f"count {at + 1} has more than {_GROUPS * _BITS} bits")
    place = np.arange(len(groups)) - np.repeat(starts, lengths)
    parts = (groups & (_MORE - 1)) << _SHIFTS[place]
    numbers = np.add.reduceat(parts, starts)
    is_negative = groups[ends] & (_MORE >> 1) != 0
    return np.where(is_negative, numbers - (1 << (_BITS * lengths)), numbers)


def _summed(numbers: Ints) -> Ints:
    """Return the counts: each from the fourth on is a difference from the count two places before."""
    counts = numbers.copy()
    counts[1::2] = np.cumsum(numbers[1::2])
    counts[2::2] = np.cumsum(numbers[2::2])
    return counts
