"""Run lengths beside COCO's own program, and counts that lie."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pycocotools import mask as official

from lpirc_testsets import run_lengths

Mask = NDArray[np.bool_]
SEEDS = range(1500)
pytestmark = pytest.mark.filterwarnings(
    "ignore:__array__ implementation doesn't accept:DeprecationWarning"  # theirs
)


def random_mask(seed: int) -> Mask:
    """Noise of any share, blocks, or all of one value; every twentieth is large."""
    rng = np.random.default_rng(seed)
    most = 700 if seed % 20 == 0 else 40
    height, width = rng.integers(1, most, 2)
    if seed % 3 == 0:
        mask = rng.random((height, width)) < rng.choice([0.0, 0.01, 0.5, 0.99, 1.0])
        return np.asarray(mask)
    mask = np.zeros((height, width), np.bool_)
    for _ in range(rng.integers(0, 6)):
        top, bottom = sorted(rng.integers(0, height + 1, 2))
        left, right = sorted(rng.integers(0, width + 1, 2))
        mask[top:bottom, left:right] ^= True
    return mask


def test_fifteen_hundred_masks_have_the_text_area_and_pixels_of_cocos_program() -> None:
    for seed in SEEDS:
        mask = random_mask(seed)
        theirs = official.encode(np.asfortranarray(mask.astype(np.uint8)))
        text = theirs["counts"].decode()
        assert run_lengths.encode(mask) == text, seed
        assert np.array_equal(run_lengths.decode(text, *mask.shape), mask), seed
        assert run_lengths.area(text, *mask.shape) == official.area(theirs), seed


def test_bounds_enclose_exactly_the_pixels_inside() -> None:
    for seed in SEEDS[:500]:
        mask = random_mask(seed)
        x, y, width, height = run_lengths.bounds(run_lengths.encode(mask), *mask.shape)
        inside = np.zeros_like(mask)
        inside[y : y + height, x : x + width] = True
        assert not (mask & ~inside).any(), seed
        rows = np.flatnonzero(mask.any(axis=1))
        columns = np.flatnonzero(mask.any(axis=0))
        assert width == (np.ptp(columns) + 1 if len(columns) else 0), seed
        assert height == (np.ptp(rows) + 1 if len(rows) else 0), seed


def test_a_list_of_counts_is_the_same_mask() -> None:
    mask = random_mask(1)
    runs = run_lengths.runs_of(run_lengths.encode(mask), *mask.shape).tolist()
    assert np.array_equal(run_lengths.decode(runs, *mask.shape), mask)
    assert run_lengths.compressed(np.array(runs)) == run_lengths.encode(mask)


def test_counts_of_zero_between_others_are_read_as_cocos_program_reads_them() -> None:
    runs = [2, 3, 0, 4, 3]
    theirs = official.decode(
        official.frPyObjects({"counts": runs, "size": [3, 4]}, 3, 4)
    )
    assert np.array_equal(run_lengths.decode(runs, 3, 4), theirs.astype(np.bool_))


def test_a_mask_of_sixty_million_pixels_takes_numbers_of_six_groups() -> None:
    mask = np.zeros((6000, 10000), np.bool_)
    mask[-1, -1] = True
    theirs = official.encode(np.asfortranarray(mask.astype(np.uint8)))
    assert run_lengths.encode(mask) == theirs["counts"].decode()
    assert run_lengths.area(run_lengths.encode(mask), *mask.shape) == 1


@pytest.mark.parametrize(
    (
        "counts",
        "problem",
    ),
    [
        (
            "",
            "the counts add up to 0, but 3 x 4 pixels are 12",
        ),
        (
            [],
            "the counts add up to 0, but 3 x 4 pixels are 12",
        ),
        (
            ";",
            "the counts add up to 11, but 3 x 4 pixels are 12",
        ),
        (
            "=",
            "the counts add up to 13, but 3 x 4 pixels are 12",
        ),
        (
            "5O8",
            "count 2 is -1, below 0",
        ),
        (
            "<l",
            "the text breaks off within its last count",
        ),
        (
            "l",
            "the text breaks off within its last count",
        ),
        (
            "0\u0661",
            "character 2 is '\u0661', which no count has",
        ),
        (
            "0\ud800",
            "character 2 is '\\ud800', which no count has",
        ),
        (
            "<\n",
            "character 2 is '\\n', which no count has",
        ),
        (
            "<p",
            "character 2 is 'p', which no count has",
        ),
        (
            "0" * 14,
            "14 counts are too many for 12 pixels",
        ),
        (
            "0" * 92,
            "92 characters are too many for 12 pixels",
        ),
        (
            "P" * 7 + "0",
            "count 1 has more than 35 bits",
        ),
        (
            [0] * 14,
            "14 counts are too many for 12 pixels",
        ),
        (
            [12, -1],
            "count 2 is -1, below 0",
        ),
        (
            [13, -1],
            "count 1 is 13, not a whole number from 0 to 12",
        ),
        (
            [True, 11],
            "count 1 is True, not a whole number from 0 to 12",
        ),
        (
            [6.0, 6],
            "count 1 is 6.0, not a whole number from 0 to 12",
        ),
        (
            [10**30],
            "count 1 is 1" + "0" * 30 + ", not a whole number from 0 to 12",
        ),
        (
            [None],
            "count 1 is None, not a whole number from 0 to 12",
        ),
        (
            b"<",
            "the counts b'<' are neither text nor a list",
        ),
        (
            None,
            "the counts None are neither text nor a list",
        ),
    ],
)
def test_counts_that_lie_are_refused_with_what_is_wrong(
    counts: str,
    problem: str,
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(problem)}$"):
        run_lengths.decode(counts, 3, 4)


def test_huge_counts_cannot_wrap_around_to_the_right_sum() -> None:
    huge = "o" * 6 + "?"  # the largest number of 35 bits
    for text in (huge * 5, huge * 13):
        with pytest.raises(ValueError, match="add up to"):
            run_lengths.decode(text, 3, 4)


@settings(max_examples=300)
@given(
    st.lists(st.integers(0, 30), max_size=28).map(sorted),
    st.integers(0, 120),
    st.characters(min_codepoint=40, max_codepoint=120),
)
def test_a_text_with_one_other_character_is_the_same_mask_as_cocos_or_refused(
    edges: list[int],
    place: int,
    character: str,
) -> None:
    runs = np.diff(np.array([0, *edges, 30]))
    text = run_lengths.compressed(runs)
    assert run_lengths.runs_of(text, 5, 6).tolist() == runs.tolist()
    place %= len(text)
    for changed in (text, text[:place] + character + text[place + 1 :]):
        try:
            mask = run_lengths.decode(changed, 5, 6)
        except ValueError:
            assert changed != text
            continue
        theirs = official.decode({"size": [5, 6], "counts": changed.encode()})
        assert np.array_equal(mask, theirs.astype(np.bool_))
