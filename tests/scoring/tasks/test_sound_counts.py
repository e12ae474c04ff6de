"""Run lengths that are checked at once: exactly those are sound that `runs_of` reads."""

from __future__ import annotations

import numpy as np
import pytest

from lpirc_score.tasks import sound_counts
from lpirc_score.tasks.sound_counts import are_sound
from lpirc_testsets.run_lengths import encode, runs_of


def spoilt(chance: np.random.Generator, text: str) -> str:
    """The text with one of the things that hostile or broken text has, or as it is."""
    kind = int(chance.integers(0, 6))
    at = int(chance.integers(0, len(text)))
    if kind == 0:
        return text[:at] + chr(int(chance.integers(30, 300))) + text[at + 1 :]
    if kind == 1:
        return text[:at]
    if kind == 2:
        return text + chr(int(chance.integers(48, 112)))
    if kind == 3:
        return text[:at] + chr(int(chance.integers(48, 112))) + text[at + 1 :]
    if kind == 4:
        codes = chance.integers(
            48,
            112,
            chance.integers(0, 30),
        ).tolist()
        return "".join(map(chr, codes))
    return text


def is_read(text: str, pixels: int) -> bool:
    try:
        runs_of(
            text,
            pixels,
            1,
        )
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("at_once", [1, 50, 1 << 18])
def test_exactly_those_are_sound_that_are_read(
    at_once: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        sound_counts,
        "_AT_ONCE",
        at_once,
    )
    chance = np.random.default_rng(at_once)
    texts = []
    pixels = []
    for _ in range(3000):
        height, width = chance.integers(
            1,
            30,
            2,
        ).tolist()
        mask = chance.random((height, width)) < chance.random()
        texts.append(spoilt(chance, encode(mask)))
        pixels.append(height * width + int(chance.random() < 0.1))
    expected = [
        is_read(*one)
        for one in zip(
            texts,
            pixels,
            strict=True,
        )
    ]
    assert are_sound(texts, pixels).tolist() == expected
    assert 300 < sum(expected) < 2000


def test_a_broken_text_does_not_lend_its_rest_to_the_next() -> None:
    whole = encode(
        np.eye(
            4,
            6,
            dtype=bool,
        )
    )
    assert are_sound([whole[:-1] + "o", whole, "", whole], [24] * 4).tolist() == [
        False,
        True,
        False,
        True,
    ]


def test_numbers_that_would_wrap_around_are_not_sound() -> None:
    huge = "o" * 5 + "?"  # 2**29 - 1
    texts = [huge * n for n in (1, 2, 9, 5000)]
    assert not are_sound(texts, [24] * 4).any()
    assert are_sound([], []).tolist() == []
