"""What a check of a test-set folder finds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lpirc_testsets import TestSet, TestSetError, check


def edit(path: Path, change: Callable[[Any], None]) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")


def test_a_fresh_set_has_no_problems(test_set: TestSet) -> None:
    assert check(test_set.folder) == ()


def test_a_folder_that_is_not_a_test_set_is_refused(tmp_path: Path) -> None:
    for folder, code in (
        (tmp_path / "none", "testset-missing"),
        (tmp_path, "testset-not-a-testset"),
    ):
        with pytest.raises(TestSetError) as caught:
            check(folder)
        assert caught.value.code == code


def test_missing_changed_undecodable_double_and_extra_images_are_all_found(
    test_set: TestSet,
) -> None:
    test_set.image_path(1).unlink()
    test_set.image_path(2).write_bytes(test_set.image_path(2).read_bytes()[:400])
    test_set.image_path(3).write_bytes(test_set.image_path(4).read_bytes())
    (test_set.folder / "images" / "extra.jpg").write_bytes(b"x")
    (test_set.folder / "notes.txt").write_text("x", encoding="utf-8")
    found = check(test_set.folder)
    expected = (
        "000001.jpg: No such",
        "000002.jpg: SHA",
        "000003.jpg: SHA",
        "000002.jpg: cannot",
        "extra",
        "notes.txt",
    )
    assert len(found) == len(expected)
    for part in expected:
        assert any(part in problem for problem in found), part


def test_the_same_bytes_under_two_numbers_are_found(test_set: TestSet) -> None:
    test_set.image_path(3).write_bytes(test_set.image_path(4).read_bytes())
    edit(
        test_set.folder / "manifest.json",
        lambda m: m["images"][2].update(sha256=m["images"][3]["sha256"]),
    )
    assert any(
        "000004.jpg: it is the same image as 000003.jpg" in problem
        for problem in check(test_set.folder)
    )


def test_a_manifest_with_gaps_wrong_sizes_or_digest_is_reported(
    test_set: TestSet,
) -> None:
    def spoil(manifest: Any) -> None:
        manifest["images"][1]["number"] = 20
        manifest["images"][2]["width"] = 5
        manifest["digest"] = "0" * 64

    edit(test_set.folder / "manifest.json", spoil)
    found = "\n".join(check(test_set.folder))
    assert "has number 20, expected 2" in found
    assert "000003.jpg: is 96 x 64 pixels, the manifest says 5 x 64" in found
    assert "digest 000" in found
    assert "image 20 (000002.jpg) is not in it" in found
    assert "image 2 is not in the manifest" in found


def test_every_wrong_object_is_reported_with_its_value(test_set: TestSet) -> None:
    def spoil(truth: Any) -> None:
        truth["annotations"][0]["bbox"] = [90, 0, 10, 10]
        truth["annotations"][1]["bbox"] = [-1, 0, 10, 10]
        truth["annotations"][2]["bbox"] = [5, 5, -1, 10]
        truth["annotations"][3]["category_id"] = 77
        truth["annotations"] += [
            truth["annotations"][4] | {"id": 1000 + n, "image_id": 99}
            for n in range(30)
        ]
        truth["images"][0]["file_name"] = "other.jpg"
        truth["categories"][0]["name"] = "other"

    edit(test_set.ground_truth_path, spoil)
    found = check(test_set.folder)
    text = "\n".join(found)
    assert "ground_truth.json: SHA-256" in text
    assert "[90.0, 0.0, 99.0, 9.0] (left, top, right, bottom), number " in text
    assert "[-1.0, 0.0, 8.0, 9.0] (left, top, right, bottom), number " in text
    assert "inverted" in text
    assert "category_id 77" in text
    assert "its categories are not those" in text
    assert "image 1 has another name" in text
    assert text.count("image_id 99") == 30


def test_a_box_in_an_unknown_image_is_reported(test_set: TestSet) -> None:
    def spoil(truth: Any) -> None:
        truth["images"].append(
            {
                "id": 6,
                "file_name": "x.jpg",
                "width": 5,
                "height": 5,
            }
        )
        truth["annotations"][0].update(image_id=6, bbox=[-5, 0, 2, 2])

    edit(test_set.ground_truth_path, spoil)
    assert any(
        "image 6 is not in the manifest" in problem
        for problem in check(test_set.folder)
    )


def test_a_ground_truth_that_is_missing_or_not_json_is_reported(
    test_set: TestSet,
) -> None:
    test_set.ground_truth_path.write_text("{", encoding="utf-8")
    assert len(check(test_set.folder)) == 2
    test_set.ground_truth_path.unlink()
    assert len(check(test_set.folder)) == 1
