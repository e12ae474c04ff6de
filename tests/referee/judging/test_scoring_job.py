"""A scoring as a job: its name tells what it takes; what is known of another ground truth is as good as computed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpirc_score import METRICS
from referee.judging import scoring_job
from referee.judging.scoring_job import (
    CONTEST,
    Scored,
    ScoringInput,
    name_of,
    object_digests,
    score_whole,
    scored_from,
    stem_of,
)
from tests.scoring import oracle
from tests.scoring.test_halves import BOXES, CONFIDENCES

IMAGES = [1, 2, 3]
CATEGORIES = [1, 2, 5]
IMAGE = st.sampled_from(IMAGES)
CATEGORY = st.sampled_from(CATEGORIES)
OBJECTS = st.lists(st.tuples(IMAGE, CATEGORY, BOXES), max_size=10)
FOUND = st.lists(st.tuples(IMAGE, CATEGORY, CONFIDENCES, BOXES), max_size=20)


def made(
    metric: str,
    objects: list,
    found: list,
    served: list[bool],
    *,
    count_unserved: bool = False,
) -> ScoringInput:
    truth = oracle.ground_truth(
        IMAGES,
        CATEGORIES,
        [(i, c, *box) for i, c, box in objects],
    )
    rows = np.array([(i, c, p, *box) for i, c, p, box in found], np.float64).reshape(
        -1,
        7,
    )
    return ScoringInput(
        metric,
        count_unserved,
        truth,
        rows,
        np.array([False, *served]),
        np.full((4, 5), 50.0),
    )


def told(scored: Scored) -> tuple[str, bytes | None]:
    return scored.figures, None if scored.halves is None else scored.halves.tobytes()


@settings(max_examples=60)
@given(
    st.sampled_from(METRICS), OBJECTS, st.lists(st.tuples(st.integers(0, 9), CATEGORY, BOXES), max_size=3), FOUND,
    st.lists(st.booleans(), min_size=3, max_size=3), st.booleans(),
)  # fmt: skip
def test_a_corrected_ground_truth_scores_as_if_nothing_were_known(
    metric: str,
    objects: list,
    changes: list,
    found: list,
    served: list[bool],
    count_unserved: bool,
) -> None:
    corrected = [*objects]
    for place, category, box in changes:
        corrected[place : place + 1] = [(2, category, box)]
    before = score_whole(
        made(metric, objects, found, served, count_unserved=count_unserved)
    )
    again = made(metric, corrected, found, served, count_unserved=count_unserved)
    known = scored_from(*told(before))
    assert told(known) == told(before)
    assert told(score_whole(again, known)) == told(score_whole(again))


def test_only_the_categories_that_a_correction_touches_are_scored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    objects = [
        (1, 1, (0, 0, 9, 9)),
        (2, 2, (0, 0, 9, 9)),
        (3, 5, (0, 0, 9, 9)),
    ]
    found = [(i, c, 0.5, box) for i, c, box in objects]
    known = score_whole(made("lpirc", objects, found, [True] * 3))
    scored: list[list[int]] = []
    plain = scoring_job.evaluated

    def evaluate(truth: object, *rest: object) -> object:
        scored.append(truth.category_ids.tolist())  # type: ignore[attr-defined]
        return plain(truth, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(scoring_job, "evaluated", evaluate)
    objects[1] = (2, 2, (50, 50, 59, 59))
    after = score_whole(made("lpirc", objects, found, [True] * 3), known)
    # By the contest's metric, and by that of the published champions.
    assert scored == [
        [2],
        [2],
    ]
    assert after.aps[CONTEST] == {1: 1.0, 2: 0.0, 5: 1.0}


def test_a_name_changes_with_all_that_the_outcome_follows_from() -> None:
    given = made("lpirc", [(1, 1, (0, 0, 9, 9))], [], [True] * 3)
    order = np.array([2, 1, 3])
    bodies = [("ab", 3, 0)]
    plain = ("lpirc", False, bodies, order, given.served, given.limits)
    other = [
        ("coco", *plain[1:]),
        ("lpirc", True, *plain[2:]),
        (*plain[:2], [("ab", 2, 1)], *plain[3:]),
        (*plain[:3], np.array([1, 2, 3]), *plain[4:]),
        (*plain[:4], ~given.served, given.limits),
        (*plain[:5], given.limits * 2),
    ]
    stems = {stem_of(*one) for one in (plain, *other)}
    assert len(stems) == 7
    assert stem_of(*plain) == stem_of(*plain)
    truth = given.ground_truth
    changed = [
        replace(truth, **{name: ~getattr(truth, name)})
        for name in ("difficult", "crowd")
    ]
    changed += [
        replace(truth, **{name: getattr(truth, name) + 1})
        for name in ("boxes", "area", "coco_boxes", "image")
    ]
    names = {name_of("stem", object_digests(one)) for one in (truth, *changed)}
    assert len(names) == 7
