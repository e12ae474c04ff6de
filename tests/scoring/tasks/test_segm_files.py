"""COCO's files of masks: the same numbers as pycocotools from the same two files, and bad files in one sentence."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pycocotools import mask as masks

from lpirc_score.errors import CodedError
from lpirc_score.tasks.segm_files import evaluate_segm
from lpirc_testsets import TestSetError, synthesize
from lpirc_testsets.run_lengths import decode
from tests.scoring.tasks.segm_sets import official_numbers, random_set

near = partial(pytest.approx, abs=1e-12)


def files_of(
    seed: int,
    folder: Path,
) -> tuple[Path, Path, dict[str, Any], list[Any]]:
    """A random set as COCO's files, with ids from 1000 on, some objects as polygons, crowds as lists of counts."""
    truth, answers = random_set(seed)
    sizes = {
        image: objects[0].mask[:2] if objects else (30, 40)
        for image, objects in truth.by_image.items()
    }
    annotations = []
    for image, objects in truth.by_image.items():
        for one in objects:
            height, width = sizes[image]
            segmentation: Any = one.mask.coco | {"counts": one.mask.counts.decode()}
            if one.is_crowd:
                pixels = decode(
                    segmentation["counts"],
                    height,
                    width,
                )
                segmentation["counts"] = counts_of(pixels)
            elif len(annotations) % 3 == 0:
                segmentation = [[0, 0, width, 0, width / 2, height], [0, 0, 5, 1, 2, 1]]
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": image + 1000,
                    "category_id": one.category,
                    "segmentation": segmentation,
                    "area": one.area,
                    "iscrowd": int(one.is_crowd),
                    "bbox": [0, 0, 1, 1],
                }
            )
    dataset = {
        "images": [
            {"id": image + 1000, "width": width, "height": height}
            for image, (height, width) in sizes.items()
        ],
        "categories": [{"id": one.id, "name": one.name} for one in truth.categories],
        "annotations": annotations,
    }
    results = [
        {
            "image_id": image + 1000,
            "category_id": one.category,
            "score": one.score,
            "segmentation": {
                "size": [*sizes[image]],
                "counts": one.mask.counts.decode(),
            },
        }
        for image, one in answers
        if one.mask[:2] == sizes[image]
    ]
    paths = folder / f"truth-{seed}.json", folder / f"results-{seed}.json"
    for path, content in zip(
        paths,
        (dataset, results),
        strict=True,
    ):
        path.write_text(json.dumps(content))
    return *paths, dataset, results


def counts_of(pixels: np.ndarray) -> list[int]:
    flat = np.concatenate([[False], pixels.T.ravel()])
    edges = np.append(np.flatnonzero(flat[1:] != flat[:-1]), flat.size - 1)
    return [int(n) for n in np.diff(np.append(0, edges))]


@pytest.mark.parametrize("seed", range(12))
def test_the_numbers_are_those_of_pycocotools(
    seed: int,
    tmp_path: Path,
) -> None:
    truth, results, dataset, rows = files_of(seed, tmp_path)
    if not dataset["annotations"]:
        return
    found = evaluate_segm(truth, results)
    expected = official_numbers(dataset, rows)
    assert found.others == near(expected)
    assert found.accuracy == near(expected["AP"])


def test_of_crowds_alone_no_number_is_known_as_in_pycocotools(tmp_path: Path) -> None:
    truth, results, dataset, rows = files_of(3, tmp_path)
    crowds = [{**one, "iscrowd": 1} for one in dataset["annotations"]]
    truth.write_text(json.dumps({**dataset, "annotations": crowds}))
    expected = official_numbers({**dataset, "annotations": crowds}, rows)
    found = evaluate_segm(truth, results)
    assert found.others == expected == dict.fromkeys(expected)
    assert found.accuracy is None
    assert set(found.by_category.values()) == {None}


def test_a_set_is_scored_from_its_folder(tmp_path: Path) -> None:
    made = synthesize(
        tmp_path / "set",
        2,
        task="instances",
    )
    document = json.loads(made.ground_truth_path.read_text())
    rows = [
        {
            "image_id": one["image_id"],
            "category_id": one["category_id"],
            "score": 0.5,
            "segmentation": one["segmentation"],
        }
        for one in document["annotations"]
    ]
    (tmp_path / "results.json").write_text(json.dumps(rows))
    found = evaluate_segm(made.folder, tmp_path / "results.json")
    assert found.accuracy == pytest.approx(1.0)


def test_bad_files_are_refused_in_one_sentence(tmp_path: Path) -> None:
    truth, results, dataset, rows = files_of(3, tmp_path)
    assert rows
    nowhere = tmp_path / "nowhere.json"
    with pytest.raises(CodedError, match=r"nowhere\.json: No such file") as failure:
        evaluate_segm(truth, nowhere)
    assert failure.value.code == "answers-missing"
    with pytest.raises(TestSetError, match=r"nowhere\.json"):
        evaluate_segm(nowhere, results)
    with pytest.raises(CodedError, match="not COCO results, which are a JSON array"):
        evaluate_segm(truth, truth)
    results.write_text(json.dumps([*rows, {**rows[0], "image_id": 5}]))
    wrong = rf"results-3\.json: answer {len(rows) + 1}, image 5: the ground truth has no image 5\."
    with pytest.raises(CodedError, match=wrong):
        evaluate_segm(truth, results)
    with pytest.raises(TestSetError, match='it has no list "images"'):
        evaluate_segm(results, results)
    results.write_bytes(b"\xff")
    with pytest.raises(CodedError, match=r"results-3\.json: byte 0 is not UTF-8 text"):
        evaluate_segm(str(truth), str(results))
    truth.write_text(json.dumps({**dataset, "images": [{"id": 1}]}))
    with pytest.raises(
        TestSetError, match=r"images\[0\]: .* has no id, width and height"
    ):
        evaluate_segm(truth, results)
    twice = [*dataset["images"], {**dataset["images"][0], "width": 1}]
    truth.write_text(json.dumps({**dataset, "images": twice}))
    with pytest.raises(TestSetError, match=r"images\[\d\]: the id \d+ is that of an"):
        evaluate_segm(truth, results)
    without = [{**one, "segmentation": None} for one in dataset["annotations"]]
    truth.write_text(json.dumps({**dataset, "annotations": without}))
    with pytest.raises(TestSetError, match="and instances are needed"):
        evaluate_segm(truth, results)


def test_the_counts_that_the_tests_write_are_pycocotools() -> None:
    pixels = np.random.default_rng(0).random((7, 5)) < 0.5
    listed = {"size": [7, 5], "counts": counts_of(pixels)}
    coded = masks.frPyObjects(
        [listed],
        7,
        5,
    )[0]
    assert (
        decode(
            coded["counts"].decode(),
            7,
            5,
        ).tolist()
        == pixels.tolist()
    )
