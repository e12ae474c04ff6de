"""Parts of a set: what pycocotools computes with imgIds, catIds and useCats = 0, and what a blacklist leaves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lpirc_score import (
    METRICS,
    CodedError,
    Detections,
    GroundTruth,
    ap_by_size,
    evaluate,
    evaluate_slices,
    pool_categories,
    select,
)
from lpirc_score.analysis.selection import leave_out
from tests.scoring.official_coco import is_same, judged, mean_of
from tests.scoring.test_coco import random_set

SETS = range(40)
"""1,000 of these random sets were compared once; this many are again and again."""


def same_summary(part: tuple[GroundTruth, Detections], **params: object) -> None:
    whole = params.pop("whole")
    theirs = judged(*whole, **params)  # type: ignore[misc]
    ours = evaluate(*part, "coco").summary
    assert ours is not None
    pairs = zip(ours.items(), theirs.stats, strict=True)
    wrong = [
        (name, mine, other) for (name, mine), other in pairs if not is_same(mine, other)
    ]
    assert wrong == []


def drawn(seed: int) -> tuple[GroundTruth, Detections, list[int], list[int]]:
    truth, found, _ = random_set(seed)
    chance = np.random.default_rng(seed)
    some = [
        chance.choice(ids, chance.integers(1, len(ids) + 1), replace=False).tolist()
        for ids in (truth.image_ids, truth.category_ids)
    ]
    return truth, found, *some


@pytest.mark.parametrize("seed", SETS)
def test_some_images_and_some_categories_score_as_in_pycocotools(seed: int) -> None:
    truth, found, images, categories = drawn(seed)
    whole = (truth, found)
    of_images = select(*whole, images=images)
    of_categories = select(*whole, categories=categories)
    of_both = select(*whole, images=images, categories=categories)
    same_summary(of_images, whole=whole, imgIds=images)
    same_summary(of_categories, whole=whole, catIds=categories)
    same_summary(
        of_both,
        whole=whole,
        imgIds=images,
        catIds=categories,
    )


@pytest.mark.parametrize("seed", SETS)
def test_all_categories_as_one_score_as_in_pycocotools(seed: int) -> None:
    truth, found, _, _ = drawn(seed)
    same_summary(pool_categories(truth, found), whole=(truth, found), useCats=0)


@pytest.mark.parametrize("seed", SETS)
def test_the_sizes_of_coco_are_those_of_pycocotools(seed: int) -> None:
    truth, found, _, _ = drawn(seed)
    theirs = judged(truth, found)
    ours = ap_by_size(truth, found, "coco")
    assert list(ours) == [
        "all",
        "small",
        "medium",
        "large",
    ]
    for place, (one, stat) in enumerate(zip(ours.values(), (0, 3, 4, 5), strict=True)):
        assert is_same(one.map, theirs.stats[stat])
        for category, ap in enumerate(one.ap.values()):
            assert is_same(ap, mean_of(theirs, category, place))


@pytest.mark.parametrize("metric", METRICS)
def test_what_is_left_out_scores_as_what_is_blacklisted(metric: str) -> None:
    for seed in SETS:
        truth, found, _ = random_set(seed)
        pairs = [
            (image, category)
            for image in truth.image_ids.tolist()[::2]
            for category in truth.category_ids.tolist()[-1:]
        ]
        left = evaluate(*leave_out(truth, found, pairs), metric)
        whole = evaluate(
            truth,
            found,
            metric,
            blacklist=pairs,
        )
        assert (left.map, left.ap, left.counts) == (whole.map, whole.ap, whole.counts)
        assert leave_out(truth, found, []) == (truth, found)


def test_a_selection_keeps_the_order_and_the_names() -> None:
    truth, found, _ = random_set(3)
    names = tuple(f"{id_}.jpg" for id_ in truth.image_ids.tolist())
    truth = replace(truth, image_names=names)
    image = int(truth.image_ids[-1])
    part, rows = select(truth, found, images=[image, image])
    assert part.image_ids.tolist() == [image]
    assert part.image_names == (f"{image}.jpg",)
    assert part.category_names == truth.category_names
    is_own = found.image == image
    assert rows.confidence.tolist() == found.confidence[is_own].tolist()
    none, nothing = select(
        truth,
        found,
        images=[],
        categories=[],
    )
    assert (len(none.image), len(nothing), len(none.category_ids)) == (0, 0, 0)


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ({"images": [77]}, "unknown-image"),
        ({"categories": [77]}, "unknown-category"),
    ],
)
def test_an_id_that_the_ground_truth_does_not_have_is_refused(
    wanted: dict[str, list[int]],
    code: str,
) -> None:
    truth, found, _ = random_set(3)
    with pytest.raises(CodedError, match=r"has no .* 77") as refused:
        select(truth, found, **wanted)
    assert refused.value.code == code


def test_pooling_refuses_a_category_that_pycocotools_would_not_see() -> None:
    truth, found, _ = random_set(3)
    odd = replace(found, category=np.full(len(found), 77))
    with pytest.raises(CodedError) as refused:
        pool_categories(truth, odd)
    assert refused.value.code == "unknown-category"


@pytest.mark.parametrize("metric", METRICS)
def test_a_slice_is_what_its_images_score_alone(metric: str) -> None:
    for seed in SETS[:10]:
        truth, found, banned = random_set(seed)
        first = truth.image_ids.tolist()[:1]
        every = truth.image_ids.tolist()
        slices = evaluate_slices(
            truth,
            found,
            {"first": first, "all": every, "none": []},
            metric,
            blacklist=banned,
        )
        whole = evaluate(
            truth,
            found,
            metric,
            blacklist=banned,
        )
        assert slices["all"].ap == whole.ap
        assert slices["none"].map is None
        part, rows = select(truth, found, images=first)
        here = [pair for pair in banned if pair[0] in first]
        assert slices["first"] == evaluate(
            part,
            rows,
            metric,
            blacklist=here,
        )


def test_an_image_of_a_slice_that_does_not_exist_is_refused() -> None:
    truth, found, _ = random_set(3)
    with pytest.raises(CodedError, match="has no image 77"):
        evaluate_slices(truth, found, {"night": [77]})
