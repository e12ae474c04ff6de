"""A run by blocks of images, against the same run in one process: every bit of the result."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from referee.errors import RefereeError
from referee.judging import large, scoring_job
from referee.judging.large import score_large, stored_posts
from referee.judging.scoring_job import WITH_UNSERVED, Scored, ScoringInput, score_whole
from referee.workers import WorkerLost
from referee.workers.processes import LocalWorkers
from tests.referee.scoring import oracle

METRICS = ("lpirc", "ilsvrc-det", "voc-area", "voc-11")
BOXES = st.sampled_from([(0, 0, 9, 9), (1, 0, 10, 9), (0, 2, 9, 11), (50, 50, 59, 59), (0, 0, 1, 1)])
CONFIDENCES = st.sampled_from([0.5, 0.9, 0.3, -0.0, 0.0, 2.0])


class Here:
    """Workers of this process; each third piece of work is lost once."""

    count = 2

    def __init__(self) -> None:
        self.most = self.done = 0

    def submit(self, work: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.done += 1
        if self.done % 3 == 0:
            future.set_exception(WorkerLost("lost"))
            return future
        try:
            future.set_result(work(*args, **kwargs))
        except RefereeError as error:
            future.set_exception(error)
        return future

    def stop(self, future: Future[Any]) -> None: ...

    def close(self) -> None: ...


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of few rows, and few resamples."""
    for module in (large, scoring_job):
        monkeypatch.setattr(module, "RESAMPLES", 7)
    monkeypatch.setattr(large, "BLOCK_ROWS", 4)


@st.composite
def runs(draw: st.DrawFn) -> tuple[ScoringInput, list[np.ndarray]]:
    """A run with ties, difficult objects and crowds, images and categories that have nothing, and its posts."""
    images = draw(st.sampled_from([[1], [2, 3, 5, 7, 11, 13]]))
    image, category = st.sampled_from(images), st.sampled_from([1, 2, 4])
    objects = draw(st.lists(st.tuples(image, category, BOXES), max_size=12))
    flags = [draw(st.lists(st.booleans(), min_size=len(objects), max_size=len(objects))) for _ in range(2)]
    truth = oracle.ground_truth(images, [1, 2, 3, 4], [(i, c, *box) for i, c, box in objects], *flags)
    row = st.tuples(image, category, CONFIDENCES, BOXES).map(lambda each: (*each[:3], *each[3]))
    posts = draw(st.lists(st.lists(row, max_size=8), max_size=6))
    served = np.array([draw(st.booleans()) for _ in range(14)])
    limits = np.array([(1.0, 40.0, 40.0, -large.np.nextafter(1, 2), -large.np.nextafter(1, 2))] * 14)
    given_ = ScoringInput(
        draw(st.sampled_from(METRICS)), draw(st.booleans()), truth, np.empty((0, 7)), served, limits
    )
    return given_, [np.array(each, np.float64).reshape(-1, 7) for each in posts]


def same(one: Scored, other: Scored) -> bool:
    samples = [np.zeros(0) if each.resampled is None else each.resampled for each in (one, other)]
    return json.loads(one.figures) == json.loads(other.figures) and np.array_equal(*samples, equal_nan=True)


@settings(max_examples=150)
@given(runs())
def test_a_run_by_blocks_is_bit_for_bit_the_whole(run: tuple[ScoringInput, list[np.ndarray]]) -> None:
    whole, posts = run
    rows = np.concatenate([np.empty((0, 7)), *posts])
    assert same(score_large(Here(), whole, lambda: posts), score_whole(replace(whole, rows=rows)))
