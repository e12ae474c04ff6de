"""The test-set folder: manifest, digest, verification, writing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_testsets import (
    Category,
    Image,
    TestSet,
    TestSetError,
    load_test_set,
    read_ground_truth,
    verify,
)
from lpirc_testsets.folder import compute_digest
from lpirc_testsets.writing import new_folder


def edit_manifest(test_set: TestSet, **changes: Any) -> None:
    path = test_set.folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(manifest | changes), encoding="utf-8")


def manifest_of(test_set: TestSet) -> Any:
    return json.loads((test_set.folder / "manifest.json").read_text(encoding="utf-8"))


def test_a_written_set_is_loaded_as_it_was_written(test_set: TestSet) -> None:
    assert load_test_set(test_set.folder) == test_set
    assert [image.number for image in test_set.images] == [1, 2, 3, 4, 5]
    assert test_set.image_path(5) == test_set.folder / "images" / "000005.jpg"


@pytest.mark.parametrize("number", [0, -1, 6])
def test_a_number_outside_the_set_has_no_image(test_set: TestSet, number: int) -> None:
    with pytest.raises(TestSetError) as caught:
        test_set.image_path(number)
    assert caught.value.code == "testset-no-such-image"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(TestSetError, match="nowhere") as caught:
        load_test_set(tmp_path / "nowhere")
    assert caught.value.code == "testset-missing"


def test_a_folder_without_manifest_or_of_another_format_is_not_a_test_set(
    tmp_path: Path,
    test_set: TestSet,
) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(TestSetError) as caught:
        load_test_set(tmp_path / "empty")
    assert caught.value.code == "testset-not-a-testset"
    for changes in ({"format": "other"}, {"version": 99}):
        edit_manifest(test_set, **changes)
        with pytest.raises(TestSetError) as caught:
            load_test_set(test_set.folder)
        assert caught.value.code == "testset-not-a-testset"


OF_TEXT = "a text; write the number without quotation marks"


@pytest.mark.parametrize(
    ("version", "told"),
    [
        ("1", f'version is "1", {OF_TEXT}: "version": 1'),
        (None, 'version is missing; write "version": 1'),
        (2, "version is 2, this program reads 1"),
        (True, "version is True, this program reads 1"),
        (1.0, "version is 1.0, this program reads 1"),
    ],
)  # fmt: skip
def test_a_version_that_only_looks_right_is_told(
    test_set: TestSet, version: object, told: str
) -> None:
    edit_manifest(test_set, version=version)
    with pytest.raises(TestSetError) as caught:
        load_test_set(test_set.folder)
    assert str(caught.value) == f"{test_set.folder}/manifest.json: {told}"


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("name", 5, '"name" is 5, and a text in quotation marks is needed'),
        ("images", 5, '"images" is 5, and a list [...] is needed'),
        ("images", [1], '1 is not an object {...} with "number"'),
        ("ground_truth", "a", "\"ground_truth\" is 'a', and an object {...} is needed"),
        ("images", [{"number": "1", "file": "a.jpg"}], f'a.jpg: "number" is "1", {OF_TEXT}: "number": 1'),
        ("categories", [{"id": "1", "name": "a"}], f'"id" is "1", {OF_TEXT}: "id": 1'),
        ("categories", [{"id": 1.5, "name": "a"}], '"id" is 1.5, and a whole number is needed'),
    ],
)  # fmt: skip
def test_a_value_of_another_kind_is_told_with_its_key(
    test_set: TestSet, key: str, value: object, told: str
) -> None:
    edit_manifest(test_set, **{key: value})
    with pytest.raises(TestSetError) as caught:
        load_test_set(test_set.folder)
    assert str(caught.value) == f"{test_set.folder}/manifest.json: {told}"


def test_a_folder_in_a_test_set_is_told_the_test_set(
    test_set: TestSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = test_set.folder / "images"
    told = f"it is a folder of the test set {test_set.folder}; name that: {test_set.folder}"
    with pytest.raises(TestSetError) as caught:
        load_test_set(images)
    assert str(caught.value) == f"{images}: {told}"
    with pytest.raises(TestSetError) as caught:
        read_ground_truth(images)
    assert str(caught.value) == f"{images}: {told}"
    monkeypatch.chdir(images)
    with pytest.raises(TestSetError) as caught:
        load_test_set(".")
    assert str(caught.value) == f".: {told}"


def test_a_manifest_that_is_not_json_or_lacks_something_is_damaged(
    test_set: TestSet,
) -> None:
    whole = manifest_of(test_set)
    path = test_set.folder / "manifest.json"
    spoilt = [
        whole | {"images": [1]},
        whole | {"digest": 5},
        {k: v for k, v in whole.items() if k != "categories"},
    ]
    for text in ["{", "\x00", *(json.dumps(each) for each in spoilt)]:
        path.write_text(text, encoding="utf-8")
        with pytest.raises(TestSetError, match=r"manifest\.json") as caught:
            load_test_set(test_set.folder)
        assert caught.value.code == "testset-damaged"


@pytest.mark.parametrize(
    "file",
    ["../x.jpg", "/etc/passwd", "a/../../x.jpg", "", "a\\b.jpg", "a//b.jpg"],
)
def test_a_manifest_cannot_lead_out_of_its_folder(test_set: TestSet, file: str) -> None:
    images = manifest_of(test_set)["images"]
    images[2]["file"] = file
    edit_manifest(test_set, images=images)
    with pytest.raises(TestSetError) as caught:
        load_test_set(test_set.folder)
    assert caught.value.code == "testset-damaged"


def test_a_gap_in_the_numbering_is_damage(test_set: TestSet) -> None:
    images = manifest_of(test_set)["images"]
    images[2]["number"] = 7
    edit_manifest(test_set, images=images)
    with pytest.raises(TestSetError, match="number 7, expected 3"):
        load_test_set(test_set.folder)


def test_a_manifest_that_does_not_fit_its_digest_is_damage(test_set: TestSet) -> None:
    categories = manifest_of(test_set)["categories"]
    categories[0]["name"] = "other"
    edit_manifest(test_set, categories=categories)
    with pytest.raises(TestSetError, match="digest") as caught:
        load_test_set(test_set.folder)
    assert caught.value.code == "testset-damaged"


def test_an_unchanged_set_has_no_problem(test_set: TestSet) -> None:
    assert verify(test_set) == ()


def test_every_changed_or_missing_file_is_found(test_set: TestSet) -> None:
    first = test_set.image_path(1)
    second = test_set.image_path(2)
    data = bytearray(first.read_bytes())
    data[-3] ^= 1
    first.write_bytes(data)
    second.unlink()
    test_set.ground_truth_path.write_text("{}", encoding="utf-8")
    problems = "\n".join(verify(test_set))
    assert len(verify(test_set)) == 3
    for path in (first, second, test_set.ground_truth_path):
        assert str(path) in problems


def test_a_changed_ground_truth_is_not_read(test_set: TestSet) -> None:
    text = test_set.ground_truth_path.read_text(encoding="utf-8")
    test_set.ground_truth_path.write_text(text + " ", encoding="utf-8")
    with pytest.raises(TestSetError, match="changed") as caught:
        read_ground_truth(test_set.folder)
    assert caught.value.code == "testset-damaged"


hashes = st.text("0123456789abcdef", min_size=64, max_size=64)
image_lists = st.lists(hashes, min_size=1, max_size=4).map(
    lambda found: [
        Image(n, f"{n}.jpg", 1, 1, sha256, "")
        for n, sha256 in enumerate(found, start=1)
    ]
)


@given(image_lists, hashes, st.data())
def test_the_digest_changes_with_any_byte_anywhere(
    images: list[Image],
    truth: str,
    data: st.DataObject,
) -> None:
    categories = [
        Category(1, "a"),
        Category(2, "b"),
    ]
    digest = compute_digest(images, truth, categories)
    index = data.draw(st.integers(0, len(images) - 1))
    other = images.copy()
    other[index] = replace(
        images[index],
        sha256=data.draw(hashes.filter(lambda h: h != images[index].sha256)),
    )
    assert compute_digest(other, truth, categories) != digest
    assert (
        compute_digest(
            images,
            data.draw(hashes.filter(lambda h: h != truth)),
            categories,
        )
        != digest
    )
    assert (
        compute_digest(
            images,
            truth,
            [
                Category(1, "a"),
                Category(3, "b"),
            ],
        )
        != digest
    )
    assert compute_digest(images[:-1], truth, categories) != digest


def test_the_digest_knows_the_order_but_neither_place_nor_name(
    test_set: TestSet,
    tmp_path: Path,
) -> None:
    digest = compute_digest(
        test_set.images,
        test_set.ground_truth_sha256,
        test_set.categories,
    )
    assert digest == test_set.digest
    assert (
        compute_digest(
            test_set.images[::-1],
            test_set.ground_truth_sha256,
            test_set.categories,
        )
        != digest
    )
    test_set.folder.rename(tmp_path / "elsewhere")
    edit_manifest(
        moved := replace(test_set, folder=tmp_path / "elsewhere"),
        name="other",
    )
    assert load_test_set(moved.folder).digest == digest


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    def fail() -> None:
        with new_folder(tmp_path / "out") as partial:
            (partial / "images" / "1.jpg").write_bytes(b"x")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_only_an_empty_folder_is_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    out.mkdir(parents=True)
    with new_folder(out):
        pass
    assert (out / "images").is_dir()
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for taken in (out, tmp_path / "file"):
        with pytest.raises(TestSetError) as caught, new_folder(taken):
            pass
        assert caught.value.code == "testset-exists"


def test_a_place_that_cannot_be_written_is_a_stated_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with (
        pytest.raises(TestSetError, match="file") as caught,
        new_folder(tmp_path / "file" / "out"),
    ):
        pass
    assert caught.value.code == "testset-not-written"


def test_a_loop_of_links_is_not_a_place_for_a_test_set(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    with pytest.raises(TestSetError, match=r"loop: ") as caught, new_folder(loop):
        pass
    assert caught.value.code == "testset-not-written"
    assert [one.name for one in tmp_path.iterdir()] == ["loop"]
