"""Clients that learn the ground truth from a provisional mAP, and a set of images with what such a client knows of it.

A client may add rows whenever it likes, and look at the figure each time that it is released. In the end it posts all
that it believes, above everything that it has posted for a question: rows below cost next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lpirc_testsets import GroundTruth

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

OBJECTS = 3.0  # an image
# Of a box, and from one to the next: none meets another.
SIDE = 50.0
APART = 100.0
LAST = 1000.0  # the least confidence of the rows that a client posts in the end
SOME = 4
MOST_ROWS = 11
# Of a figure: as it is released, and of one that is not rounded.
STEP = 0.01
EXACT = 1e-9


class Oracle(Protocol):
    """What a client sees of the referee."""

    def post(self, rows: Floats) -> None:
        """Add rows (n, 7)."""

    def ask(self) -> float | None:
        """Wait for the next figure; None: the window is over."""


@dataclass(frozen=True, eq=False)
class Belief:
    """All that a client knows: each object's place, two categories that it may have, and how likely each is.

    Of its `categories`, so many as `present` have objects. `image`, `first` and `second` (M,), `boxes` (M, 4), the
    chances `by_first` and `by_second` (M,).
    """

    categories: int
    present: int
    image: Ints
    boxes: Floats
    first: Ints
    second: Ints
    by_first: Floats
    by_second: Floats

    def rows(
        self,
        which: Ints,
        category: Ints,
        confidence: Floats,
    ) -> Floats:
        """Rows of these objects, with a category and a confidence each."""
        return np.column_stack(
            [self.image[which], category, confidence, self.boxes[which]]
        )

    def firsts(self, which: Ints, level: float) -> Floats:
        """The likelier category of these objects, the surest one with the highest confidence, from `level` on."""
        return self.rows(which, self.first[which], level + self.by_first[which])

    def final(self) -> Floats:
        """Both categories of each object."""
        every = np.arange(len(self.image))
        first = self.rows(every, self.first, LAST + self.by_first)
        return np.vstack([first, self.rows(every, self.second, LAST + self.by_second)])

    def knows(self, which: Ints, chance: Floats | float) -> Belief:
        """The belief of who has learned how likely the first category of these objects is."""
        by_first = self.by_first.copy()
        by_second = self.by_second.copy()
        by_first[which] = chance
        by_second[which] *= (1 - by_first[which]) / (1 - self.by_first[which])
        return replace(self, by_first=by_first, by_second=by_second)


def scene(images: int, categories: int, seed: int) -> GroundTruth:
    """Objects of log-normally frequent categories; none meets another."""
    chance = np.random.default_rng([seed, images, categories])
    total = int(chance.poisson(OBJECTS * images))
    often = np.exp(chance.normal(0, 1, categories))
    category = chance.choice(categories, total, p=often / often.sum()) + 1
    image = chance.integers(1, images + 1, total)
    left = APART * np.arange(total)
    boxes = np.column_stack([left, 0 * left, left + SIDE - 1, 0 * left + SIDE - 1])
    no = np.zeros(total, np.bool_)
    ids = [np.arange(1, most + 1) for most in (images, categories)]
    names = [("",) * most for most in (images, categories)]
    area = boxes[:, 0]
    return GroundTruth(
        ids[0],
        names[0],
        ids[1],
        names[1],
        image,
        category,
        boxes,
        no,
        no,
        area,
        boxes,
    )


def belief_of(
    truth: GroundTruth,
    seed: int,
    *,
    is_mixed: bool = False,
) -> Belief:
    """What a middling client knows of a set of images.

    With `is_mixed`, its first and second choices are exchanged in half of the categories, it does not know in which: as
    those of two detectors of which each is good at half of the categories.
    """
    chance = np.random.default_rng([seed, 1])
    total = len(truth.image)
    categories = len(truth.category_ids)
    category = truth.category
    by_first = chance.beta(1.2, 2.0, total)
    by_second = 0.6 * (1 - by_first)
    drawn = chance.random(total)
    lies = chance.integers(1, categories, (2, total))
    other = (category + lies - 1) % categories + 1
    first = np.where(drawn < by_first, category, other[0])
    is_second = (drawn >= by_first) & (drawn < by_first + by_second)
    second = np.where(is_second, category, other[1])
    if is_mixed:
        is_exchanged = (chance.random(categories + 1) < 0.5)[first]
        likelier = first
        first = np.where(is_exchanged, second, likelier)
        second = np.where(is_exchanged, likelier, second)
        by_first = by_second = (by_first + by_second) / 2
    present = len(np.unique(category))
    return Belief(
        categories,
        present,
        truth.image,
        truth.boxes,
        first,
        second,
        by_first,
        by_second,
    )


def one_a_question(
    oracle: Oracle,
    belief: Belief,
    at_once: int = 1,
) -> Belief:
    """Try an object a question, of the rarest category first: where the figure rises, its first category is right."""
    rarity = np.bincount(belief.first, minlength=belief.categories + 1)[belief.first]
    order = np.lexsort((np.abs(belief.by_first - 0.5), rarity))
    before = 0.0
    for at in range(0, len(order), at_once):
        tried = order[at : at + at_once]
        oracle.post(belief.firsts(tried, 0.0))
        figure = oracle.ask()
        if figure is None:
            break
        if figure > before:
            sure = min(0.97, 0.6 + 0.4 / at_once)
            belief = belief.knows(tried, np.maximum(belief.by_first[tried], sure))
        before = figure
    return belief


def some_a_question(oracle: Oracle, belief: Belief) -> Belief:
    """Try several objects a question."""
    return one_a_question(oracle, belief, SOME)


def decoding(oracle: Oracle, belief: Belief) -> Belief:
    """Post a category a question: its AP tells which of its rows are right, as far as the figure has digits."""
    sizes = np.bincount(belief.first, minlength=belief.categories + 1)
    before = 0.0
    expected = belief.by_first + belief.by_second
    for category in np.argsort(-np.where(sizes <= MOST_ROWS, sizes, 0)).tolist():
        rows = np.flatnonzero(belief.first == category)[:MOST_ROWS]
        if not len(rows):
            break
        rows = rows[np.argsort(-belief.by_first[rows])]
        oracle.post(belief.rows(rows, belief.first[rows], -np.arange(len(rows)) - LAST))
        figure = oracle.ask()
        if figure is None:
            break
        about = (
            expected[(belief.first == category) | (belief.second == category)].sum() / 2
        )
        step = belief.present * (STEP / 2 if round(figure, 2) == figure else EXACT)
        likely = _likely(
            belief.by_first[rows],
            (figure - before) * belief.present,
            step,
            about,
        )
        if likely is not None:
            belief = belief.knows(rows, np.clip(likely, 0.001, 0.999))
        before = figure
    return belief


def _likely(
    prior: Floats,
    found_ap: float,
    step: float,
    objects: float,
) -> Floats | None:
    """How likely each row of a category is right, given its AP, which is known within about a `step`.

    None: no pattern of right rows has about this AP.
    """
    patterns = (np.arange(2 ** len(prior))[:, None] >> np.arange(len(prior))) & 1
    precision = np.cumsum(patterns, 1) / np.arange(1, len(prior) + 1) * patterns
    envelope = np.maximum.accumulate(precision[:, ::-1], 1)[:, ::-1]
    reached = (envelope * patterns).sum(1)
    weight = np.exp(
        (np.log(prior) * patterns + np.log1p(-prior) * (1 - patterns)).sum(1)
    )
    counts = np.arange(1, 41)
    off = (reached[:, None] / counts - found_ap) / step
    has_room = patterns.sum(1)[:, None] <= counts
    fits = np.where(has_room, np.exp(-0.5 * off**2), 0.0)
    weight = weight * (fits * np.exp(-0.3 * np.abs(counts - objects))).sum(1)
    return (
        None
        if weight.sum() < 1e-12
        else (weight[:, None] * patterns).sum(0) / weight.sum()
    )


def weighing(oracle: Oracle, belief: Belief) -> Belief:
    """Weigh groups of objects against each other: a linear filter over all that the figures have told so far."""
    count = len(belief.image)
    state = 0.5 * belief.by_first  # right, and in the half that is shown
    spread = np.diag(state * (1 - state))
    frequency = np.bincount(belief.first, belief.by_first, belief.categories + 1)
    frequency += np.bincount(belief.second, belief.by_second, belief.categories + 1)
    weight = 1 / (belief.present * np.maximum(0.5 * frequency[belief.first], 1.0))
    order = np.argsort(-weight * np.sqrt(np.diag(spread)))
    before = 0.0
    level = 0.0
    for group in np.array_split(order, 24):
        oracle.post(belief.firsts(group, level))
        level -= 2.0
        figure = oracle.ask()
        if figure is None:
            break
        seen = np.zeros(count)
        seen[group] = weight[group]
        noise = 2 * STEP**2 / 12 + 0.005 * (seen @ state) ** 2
        gain = spread @ seen / (seen @ spread @ seen + noise)
        state = state + gain * (figure - before - seen @ state)
        spread = spread - np.outer(gain, seen @ spread)
        before = figure
    return belief.knows(np.arange(count), np.clip(2 * state, 0.001, 0.999))


def by_category(oracle: Oracle, belief: Belief) -> Belief:
    """Try the first choices of some categories a question: are they better there than the second ones?"""
    before = 0.0
    for group in np.array_split(
        np.random.default_rng(0).permutation(belief.categories) + 1,
        19,
    ):
        rows = np.flatnonzero(np.isin(belief.first, group))
        oracle.post(belief.firsts(rows, 0.0))
        figure = oracle.ask()
        if figure is None:
            break
        expected = (
            len(group) / belief.present * belief.by_first[rows].mean()
            if len(rows)
            else 0.0
        )
        belief = _prefer(belief, rows, figure - before - expected)
        before = figure
    return belief


def bisecting(oracle: Oracle, belief: Belief) -> Belief:
    """Post halves of the unsure objects, then halves of the half in which more is right."""
    every = np.arange(len(belief.image))
    group = every[np.argsort(np.abs(belief.by_first - 0.5))][: len(every) // 2]
    before = 0.0
    while len(group) > SOME:
        gains = []
        halves = np.array_split(np.random.default_rng(len(group)).permutation(group), 2)
        for half in halves:
            oracle.post(belief.firsts(half, 0.0))
            figure = oracle.ask()
            if figure is None:
                return belief
            gains.append(figure - before)
            before = figure
        if gains[0] == gains[1]:
            return belief
        better, worse = halves if gains[0] > gains[1] else halves[::-1]
        belief = _prefer(_prefer(belief, better, 1.0), worse, -1.0)
        group = better
    return belief


def _prefer(belief: Belief, which: Ints, better: float) -> Belief:
    """The belief of who has seen that the first choices are better, or worse, than was thought."""
    factor = 1.3 if better > 0 else 0.77
    return belief.knows(which, np.clip(belief.by_first[which] * factor, 0.001, 0.95))


ATTACKS: dict[str, Callable[[Oracle, Belief], Belief]] = {
    "one object a question": one_a_question,
    "some objects a question": some_a_question,
    "decoding": decoding,
    "weighing": weighing,
    "by category": by_category,
    "bisecting": bisecting,
}
