"""COCO's twelve numbers of masks, held against pycocotools on random sets that are full of the cases that matter."""

from __future__ import annotations

import io
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lpirc_score.analysis.halves import halves_of
from lpirc_score.errors import CodedError
from lpirc_score.metrics import groups as groups_module
from lpirc_score.tasks import instance_masks
from lpirc_score.tasks.instance_masks import Instance, Mask, TrueInstance, mask_program
from lpirc_score.tasks.instances import TASK, evaluate, halves
from lpirc_score.tasks.offered import task_named
from lpirc_score.tasks.task_kinds import Answer, Figures, Truth
from lpirc_score.tasks.task_scores import figures_of, halves_accuracy
from lpirc_testsets import Category, TestSetError, synthesize
from tests.scoring.tasks.segm_sets import NAMES, mask_of, official, random_set

near = partial(pytest.approx, abs=1e-12)


def all_images(truth: Truth) -> np.ndarray:
    return np.array([*truth.by_image], np.int64)


def assert_official(
    found: Figures,
    expected: dict[str, float | None],
) -> None:
    known = {name: value for name, value in expected.items() if value is not None}
    assert found.others == near(known)
    assert found.accuracy == near(known.get("AP", 0.0))


@pytest.mark.parametrize("part", range(6))
def test_the_numbers_are_those_of_pycocotools(part: int) -> None:
    for seed in range(10_000 + 100 * part, 10_000 + 100 * part + 15):
        truth, answers = random_set(seed)
        found = evaluate(
            truth,
            answers,
            all_images(truth),
        )
        assert_official(found, official(truth, answers))


def test_only_the_images_that_count_are_scored() -> None:
    for seed in range(6):
        truth, answers = random_set(seed)
        some = all_images(truth)[::2]
        found = figures_of(
            TASK,
            truth,
            answers,
            some,
        )
        assert_official(
            found,
            official(
                truth,
                answers,
                some.tolist(),
            ),
        )


def test_portions_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    truth, answers = random_set(7)
    images = all_images(truth)
    whole = evaluate(
        truth,
        answers,
        images,
    )
    monkeypatch.setattr(
        groups_module,
        "_BATCH",
        1,
    )
    assert (
        evaluate(
            truth,
            answers,
            images,
        )
        == whole
    )


def test_halves_are_what_each_half_scores_alone() -> None:
    for seed in range(4):
        truth, answers = random_set(seed)
        images = all_images(truth)
        drawn = halves_of(len(images)).T
        asked = (truth, answers, images)
        found = halves(*asked, drawn)
        by_task = halves_accuracy(TASK, *asked)
        assert found.tolist() == by_task.tolist()
        for half in (0, 1, 37, 150, 299):
            alone = evaluate(
                truth,
                answers,
                images[drawn[half]],
            )
            assert found[half] == near(alone.accuracy)


def pixels(
    top: int,
    left: int,
    bottom: int,
    right: int,
) -> np.ndarray:
    found = np.zeros((40, 50), np.bool_)
    found[top:bottom, left:right] = True
    return found


def truth_of(*objects: TrueInstance) -> Truth:
    return Truth((Category(1, "one"), Category(2, "two")), {1: objects})


def an_object(
    mask: np.ndarray,
    is_crowd: bool = False,
) -> TrueInstance:
    return TrueInstance(
        1,
        mask_of(mask),
        float(mask.sum()),
        is_crowd,
    )


def an_answer(
    mask: np.ndarray,
    score: float = 0.5,
    category: int = 1,
) -> Answer:
    return Answer(
        1,
        Instance(
            category,
            score,
            mask_of(mask),
        ),
    )


ONE = np.array([1])
CORNER = pixels(
    0,
    0,
    9,
    9,
)
ELSEWHERE = pixels(
    20,
    20,
    30,
    30,
)
THE_OBJECT = truth_of(an_object(CORNER))


def test_masks_are_compared_and_not_their_boxes() -> None:
    ring = pixels(
        0,
        0,
        20,
        20,
    ) ^ pixels(
        2,
        2,
        18,
        18,
    )
    truth = truth_of(an_object(ring))
    right = evaluate(
        truth,
        [an_answer(ring)],
        ONE,
    )
    assert right.accuracy == near(1.0)
    same_box = an_answer(
        pixels(
            0,
            0,
            20,
            20,
        )
    )
    assert (
        evaluate(
            truth,
            [same_box],
            ONE,
        ).accuracy
        == 0.0
    )


def test_a_crowd_swallows_any_number_of_answers() -> None:
    truth = truth_of(
        an_object(CORNER),
        an_object(
            pixels(
                10,
                10,
                40,
                50,
            ),
            True,
        ),
    )
    inside = [
        an_answer(
            pixels(
                12 + n,
                12,
                20 + n,
                30,
            ),
            0.9,
        )
        for n in range(5)
    ]
    found = evaluate(
        truth,
        [*inside, an_answer(CORNER)],
        ONE,
    )
    assert found.accuracy == near(1.0)


def test_the_hundred_and_first_answer_of_an_image_is_not_looked_at() -> None:
    truth = THE_OBJECT
    misses = [an_answer(ELSEWHERE, 0.9)] * 100
    right = an_answer(CORNER)
    after = evaluate(
        truth,
        [*misses, right],
        ONE,
    )
    assert after.others["AR100"] == 0.0
    last = evaluate(
        truth,
        [*misses[1:], right],
        ONE,
    )
    assert last.others["AR100"] == 1.0


def test_what_has_no_object_has_no_number() -> None:
    found = evaluate(
        THE_OBJECT,
        [],
        ONE,
    )
    assert found.by_category == {1: 0.0, 2: None}
    assert "APlarge" not in found.others
    assert found.others["APsmall"] == 0.0
    nothing = evaluate(
        truth_of(),
        [an_answer(CORNER)],
        ONE,
    )
    assert nothing.accuracy == 0.0
    assert nothing.others == {}


def test_the_names_of_the_numbers_are_those_of_the_metric_coco() -> None:
    found = evaluate(
        THE_OBJECT,
        [],
        ONE,
    )
    assert [name for name in NAMES if name in found.others] == [*found.others]


def test_areas_of_more_masks_than_a_byte_counts_are_found() -> None:
    masks = [
        an_answer(
            pixels(
                0,
                0,
                1 + n % 40,
                1 + n % 50,
            ),
            1 / (n + 1),
        )
        for n in range(600)
    ]
    truth = THE_OBJECT
    assert_official(
        evaluate(
            truth,
            masks,
            ONE,
        ),
        official(truth, masks),
    )


def test_a_synthetic_set_is_read_and_its_own_truth_is_perfect(tmp_path: Path) -> None:
    made = synthesize(
        tmp_path / "set",
        3,
        task="instances",
    )
    truth = TASK.read_truth(made)
    answers = [
        Answer(
            image,
            Instance(
                one.category,
                0.5,
                one.mask,
            ),
        )
        for image, objects in truth.by_image.items()
        for one in objects
    ]
    assert len(answers) > 2
    found = figures_of(
        TASK,
        truth,
        answers,
        np.arange(1, 4),
    )
    assert found.accuracy == near(1.0)


def test_a_set_without_masks_is_refused(tmp_path: Path) -> None:
    made = synthesize(tmp_path / "set", 1)
    with pytest.raises(
        TestSetError, match="it has boxes, and instances are needed"
    ) as failure:
        TASK.read_truth(made)
    assert failure.value.code == "no-truth-for-task"


def test_without_pycocotools_a_sentence_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(
        sys.modules,
        "pycocotools",
        None,
    )
    mask_program.cache_clear()
    with pytest.raises(CodedError) as failure:
        evaluate(
            truth_of(),
            [],
            ONE,
        )
    mask_program.cache_clear()
    assert failure.value.code == "pycocotools-missing"
    assert "pip install pycocotools" in failure.value.sentence


def test_it_is_found_by_its_name() -> None:
    assert task_named("instances") is TASK


def test_a_mask_is_what_pycocotools_takes() -> None:
    mask = mask_of(
        pixels(
            1,
            2,
            3,
            4,
        )
    )
    assert mask == Mask(
        40,
        50,
        mask.counts,
    )
    assert instance_masks.mask_program().area([mask.coco]).tolist() == [4]


def test_an_answer_is_shown_beside_the_object_that_it_overlaps_most() -> None:
    assert TASK.show is not None
    objects = (
        an_object(
            pixels(
                0,
                0,
                10,
                10,
            )
        ),
        an_object(ELSEWHERE),
    )
    _, given = an_answer(
        pixels(
            0,
            5,
            10,
            15,
        )
    )
    shown = TASK.show(objects, given)
    assert shown.sentence == (
        "Category 1 with confidence 0.50, 100 pixels: it overlaps the best object of its category by 33.3% "
        "(orange: only the answer, blue: only the object)."
    )
    assert shown.png is not None
    colours = np.asarray(Image.open(io.BytesIO(shown.png)).convert("RGBA"))
    seen = [tuple(colours[0, x].tolist()) for x in (0, 5, 10, 15)]
    assert len({*seen}) == 4
    assert seen[3][3] == 0
    _, other = an_answer(
        pixels(
            0,
            0,
            1,
            1,
        ),
        category=2,
    )
    assert TASK.show(objects, other).sentence.endswith("no object of this category.")
    assert TASK.show(objects, None).sentence == (
        "No instance came; the image has 2 objects."
    )
