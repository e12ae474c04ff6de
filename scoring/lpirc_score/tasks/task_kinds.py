"""The two kinds of tasks that a distribution can offer: the objects of the entry points `lpirc.tasks`.

A task says what a team answers for an image, how a body carries answers, and how they are scored against the ground
truth. `SummedTask` is for figures that follow from sums over images (shares of right answers, intersections and
unions): scores over time, intervals and worst images come with it. `WholeTask` is for all others, such as average
precision.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lpirc_testsets import Category, TestSet

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Question:
    """What answers are checked against: the images of a run, in the team's numbering, and the categories.

    `sizes` (N, 2) are width and height in pixels of images 1..N; `category_ids` (K,) ascend.
    """

    sizes: Ints
    category_ids: Ints

    @property
    def images(self) -> int:
        """Return the number of images."""
        return len(self.sizes)


class Answer(NamedTuple):
    """What a team says about one image; `value` has the form that the task's `read` gives it."""

    image: int
    value: Any


@dataclass(frozen=True, eq=False)
class Truth:
    """The ground truth of a set: for each image number what the task's `read_truth` found; the categories ascend."""

    categories: tuple[Category, ...]
    by_image: Mapping[int, Any]


@dataclass(frozen=True)
class Figures:
    """The result of a scoring.

    `accuracy` is the figure that a contest divides by the energy, from 0 to 1. `by_category` has the parts of it whose
    mean it is, by category id, or nothing; None: the category has no objects. `others` has further figures by name.
    """

    accuracy: float
    by_category: Mapping[int, float | None] = field(default_factory=dict)
    others: Mapping[str, float] = field(default_factory=dict)


class Shown(NamedTuple):
    """How a person sees an answer beside its image: one sentence, and a PNG of the image's size to lie over it."""

    sentence: str
    png: bytes | None = None


Read = Callable[[bytes, str, Question], Sequence[Answer]]
"""Reads a body of a content type. Raises `CodedError` `bad-answers` with all problems (`task_bodies.bad_answers`)."""

ReadTruth = Callable[[TestSet], Truth]
"""Reads the ground truth of a set. Raises `TestSetError` if the set has none for this task.

The set's folder may be gone afterwards; a verifier has nothing but `ground_truth.json` in it.
"""

Show = Callable[[Any, Any | None], Shown]
"""Shows an answer (None: none came) beside the truth of its image."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """What all tasks state.

    `name` is that in contest.toml, `title` what pages write; `accuracy` names the figure (`mean IoU`), `answer` and
    `answers` what a team sends (`label map`, `label maps`). `content_types` are read by `read`, the usual one first; a
    body has at most `largest_body_bytes`. `is_once`: an image is answered once, a second answer is refused. `source`
    names the paper or program that defines the figure, `category_accuracy` the figure of one category (`IoU`) if that
    has another name than `accuracy`.
    """

    name: str
    title: str
    accuracy: str
    answer: str
    answers: str
    content_types: tuple[str, ...]
    read: Read
    read_truth: ReadTruth
    show: Show | None = None
    largest_body_bytes: int = 4 * 2**20
    is_once: bool = True
    source: str = ""
    category_accuracy: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class SummedTask(Task):
    """A task whose figures follow from the sum of each image's statistics.

    `statistics` maps the truth of an image and the answer's value (None: none came) to an array of a fixed shape (S,).
    `figures` maps the sum of the statistics of all images (S,) and the categories to the figures. `of_image`, the
    figure of one image's statistics, orders the worst images; None: `accuracy` of `figures` does.
    """

    statistics: Callable[[Any, Any | None, Sequence[Category]], Floats]
    figures: Callable[[Floats, Sequence[Category]], Figures]
    of_image: Callable[[Floats], float | None] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class WholeTask(Task):
    """A task whose figures need all answers at once.

    `evaluate` maps the truth, the answers in order of arrival and the ascending numbers of the images (n,) that count
    to the figures of these images. `halves` gives for masks of images (H, n) the accuracy on each (H,), and is what an
    interval comes from; None: `evaluate` is called for each. `has_figure_of_image`: the figures of a single image say
    how well it is answered, so that the worst images can be listed; False for orders and correlations.
    """

    evaluate: Callable[[Truth, Sequence[Answer], Ints], Figures]
    halves: (
        Callable[[Truth, Sequence[Answer], Ints, NDArray[np.bool_]], Floats] | None
    ) = None
    has_figure_of_image: bool = True
