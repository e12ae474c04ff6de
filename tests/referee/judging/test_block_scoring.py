"""A run by blocks of images, against the same run in one process: every bit of the result."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpirc_score.analysis.blocks import match_block
from lpirc_testsets import TestSet
from referee.contest import Contest, create_contest, open_contest
from referee.errors import RefereeError
from referee.judging import block_scoring
from referee.judging.block_scoring import score_large, stored_posts
from referee.judging.judge import case_of
from referee.judging.run_case import judgement_of, scoring_input
from referee.judging.scoring_job import Scored, ScoringInput, score_whole
from referee.workers import WorkerLost
from referee.workers.job_dispatch import mapped
from referee.workers.worker_processes import LocalWorkers
from tests.referee.factories import START, TEAM, config_text
from tests.referee.judging.test_score_uncertainty import FIXED, closed_run
from tests.scoring import oracle

METRICS = ("lpirc", "ilsvrc-det", "voc-area", "voc-11", "coco")
BOXES = st.sampled_from(
    [
        (0, 0, 9, 9),
        (1, 0, 10, 9),
        (0, 2, 9, 11),
        (50, 50, 59, 59),
        (0, 0, 1, 1),
    ]
)
CONFIDENCES = st.sampled_from([0.5, 0.9, 0.3, -0.0, 0.0, 2.0])


class Here:
    """Workers of this process; each third piece of work is lost once."""

    count = 2
    memory_bytes = 1 << 40

    def __init__(self) -> None:
        self.done = 0
        self.matched: set[int] = set()  # the categories of rows that were matched

    def submit(
        self,
        work: Callable[..., Any],
        *args: Any,
        **kwargs: Any,
    ) -> Future[Any]:
        future: Future[Any] = Future()
        if work is match_block:
            self.matched |= {*args[1][:, 1].tolist()}
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
    """Blocks of few rows."""
    monkeypatch.setattr(block_scoring, "BLOCK_ROWS", 4)


@pytest.fixture
def contest(tmp_path: Path, small_set: TestSet) -> Iterator[Contest]:
    create_contest(tmp_path / "contest", config_text(small_set, FIXED))
    with open_contest(tmp_path / "contest") as opened:
        opened.store.teams.add(TEAM, "no hash", START)
        yield opened


@st.composite
def runs(draw: st.DrawFn) -> tuple[ScoringInput, list[np.ndarray]]:
    """A run with ties, difficult objects and crowds, images and categories that have nothing, and its posts."""
    images = draw(st.sampled_from([[1], [2, 3, 5, 7, 11, 13]]))
    image = st.sampled_from(images)
    category = st.sampled_from([1, 2, 4])
    objects = draw(st.lists(st.tuples(image, category, BOXES), max_size=12))
    flags = [
        draw(st.lists(st.booleans(), min_size=len(objects), max_size=len(objects)))
        for _ in range(2)
    ]
    truth = oracle.ground_truth(
        images,
        [1, 2, 3, 4],
        [(i, c, *box) for i, c, box in objects],
        *flags,
    )
    row = st.tuples(image, category, CONFIDENCES, BOXES).map(
        lambda each: (*each[:3], *each[3])
    )
    posts = draw(st.lists(st.lists(row, max_size=8), max_size=6))
    served = np.array([draw(st.booleans()) for _ in range(14)])
    limits = np.array(
        [
            (
                1.0,
                40.0,
                40.0,
                -block_scoring.np.nextafter(1, 2),
                -block_scoring.np.nextafter(1, 2),
            )
        ]
        * 14
    )
    given_ = ScoringInput(
        draw(st.sampled_from(METRICS)),
        draw(st.booleans()),
        truth,
        np.empty((0, 7)),
        served,
        limits,
    )
    return given_, [np.array(each, np.float64).reshape(-1, 7) for each in posts]


def same(one: Scored, other: Scored) -> bool:
    samples = [
        np.zeros(0) if each.halves is None else each.halves for each in (one, other)
    ]
    return json.loads(one.figures) == json.loads(other.figures) and np.array_equal(
        *samples,
        equal_nan=True,
    )


@settings(max_examples=50)
@given(runs(), st.data())
def test_a_run_by_blocks_is_bit_for_bit_the_whole(
    run: tuple[ScoringInput, list[np.ndarray]],
    data: st.DataObject,
) -> None:
    given_, posts = run
    whole = replace(given_, rows=np.concatenate([given_.rows, *posts]))
    expected = score_whole(whole)
    assert same(score_large(Here(), given_, lambda: posts), expected)
    kept = np.array(
        [data.draw(st.booleans()) for _ in given_.ground_truth.image],
        np.bool_,
    )
    before = score_whole(
        replace(whole, ground_truth=given_.ground_truth.of_objects(kept))
    )
    if before.objects != expected.objects:
        assert same(score_large(Here(), given_, lambda: posts, known=before), expected)


@pytest.mark.parametrize("metric", METRICS)
def test_ties_across_images_fall_as_in_the_whole(
    metric: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(block_scoring, "BLOCK_ROWS", 150)
    chance = np.random.default_rng(2)
    places = [
        (image, category, side)
        for image in range(1, 31)
        for category in (1, 2)
        for side in (0, 30)
    ]
    objects = [
        (image, category, side, 0, side + 9, 9) for image, category, side in places
    ]
    truth = oracle.ground_truth(
        [*range(1, 31)],
        [1, 2],
        objects,
        difficult=[each[2] > 0 for each in places],
    )
    image, category, side = np.array(places)[chance.integers(0, len(places), 600)].T
    left = side + chance.choice([0, 3, 9], 600)
    confidence = chance.choice([0.2, 0.5], 600)
    rows = np.column_stack(
        [image, category, confidence, left, np.zeros(600), left + 9, np.full(600, 9.0)]
    )
    limits = np.tile([1.0, 40, 40, -1, -1], (31, 1))
    served = np.arange(31) % 4 > 0
    run = ScoringInput(metric, False, truth, np.empty((0, 7)), served, limits)
    assert same(
        score_large(Here(), run, lambda: np.array_split(rows, 7)),
        score_whole(replace(run, rows=rows)),
    )


def test_a_correction_scores_only_the_categories_that_it_touches() -> None:
    truth = oracle.ground_truth(
        [1, 2],
        [1, 2, 3],
        [
            (1, 1, 0, 0, 9, 9),
            (2, 2, 0, 0, 9, 9),
            (2, 3, 0, 0, 9, 9),
        ],
    )
    rows = np.array(
        [
            (image, category, 0.5, 0, 0, 9, 9)
            for image in (1, 2)
            for category in (1, 2, 3)
        ]
    )
    limits = np.tile([1.0, 40, 40, -1, -1], (3, 1))
    run = ScoringInput(
        "lpirc",
        False,
        truth,
        np.empty((0, 7)),
        np.ones(3, np.bool_),
        limits,
    )
    workers = Here()
    known = score_large(workers, run, lambda: [rows])
    assert workers.matched == {1, 2, 3}
    corrected = replace(run, ground_truth=truth.of_objects(truth.category != 2))
    workers = Here()
    found = score_large(workers, corrected, lambda: [rows], known)
    assert workers.matched == {2}
    assert same(found, score_whole(replace(corrected, rows=rows)))
    assert known.aps["contest"][2] == 0.5
    assert found.aps["contest"][2] is None


def test_few_blocks_are_in_memory() -> None:
    made = []

    def arguments() -> Iterator[tuple[int]]:
        for number in range(10):
            made.append(number)
            yield (number,)

    results = mapped(Here(), abs, arguments())
    assert next(results) == 0
    assert made == [0, 1, 2]
    assert [*results] == [1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_a_stored_run_is_scored_by_processes_as_the_judge_does(
    contest: Contest,
) -> None:
    number = closed_run(contest, order=slice(None, None, -1), served=range(1, 4))
    case = case_of(contest, contest.store.runs.get(number))
    whole = scoring_input(case)
    workers = LocalWorkers(2)
    try:
        found = score_large(
            workers,
            replace(whole, rows=np.empty((0, 7))),
            stored_posts(contest.store, number),
        )
    finally:
        workers.close()
    assert same(found, score_whole(whole))
    assert found.unserved_rows > 0
    assert judgement_of(case, "now", found) == judgement_of(case, "now")
