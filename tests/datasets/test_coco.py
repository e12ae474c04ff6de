"""Importing COCO."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from lpirc_testsets import (
    Reports,
    TestSet,
    TestSetError,
    check,
    import_coco,
    load_test_set,
    read_ground_truth,
)

if TYPE_CHECKING:
    from conftest import CocoSource


def imported(source: CocoSource) -> TestSet:
    return import_coco(source.write(), source.images, source.out)


def problems(source: CocoSource) -> str:
    with pytest.raises(TestSetError) as caught:
        imported(source)
    assert caught.value.code == "import-invalid"
    left = {path.name for path in source.root.iterdir()}
    assert left <= {"instances.json", "pictures"}, (
        "a refused import leaves nothing behind"
    )
    return "\n".join(caught.value.problems)


def test_images_are_numbered_by_rank_of_their_id_and_keep_name_and_bytes(
    coco_source: CocoSource,
) -> None:
    made = imported(coco_source)
    assert [(image.file, image.source_id) for image in made.images] == [
        ("a.jpg", "7"),
        ("b.jpg", "500"),
        ("c.jpg", "20180000900"),
    ]
    for image in made.images:
        data = made.image_path(image.number).read_bytes()
        assert data == (coco_source.images / image.file).read_bytes()
    assert made == load_test_set(coco_source.out)
    assert check(coco_source.out) == ()


def test_objects_keep_box_area_crowd_and_category(coco_source: CocoSource) -> None:
    truth = read_ground_truth(imported(coco_source).folder)
    assert truth.image.tolist() == [3, 1, 1]
    assert truth.image_ids.tolist() == [1, 2, 3]
    assert truth.category_ids.tolist() == [3, 18]
    assert truth.category_names == ("car", "dog")
    assert truth.category.tolist() == [3, 18, 18]
    assert truth.coco_boxes.tolist() == [
        [0, 0, 40, 30],
        [1.5, 2, 10.25, 4],
        [3, 4, 5, 6],
    ]
    assert truth.area.tolist() == [1000, 41, 12.5]
    assert truth.crowd.tolist() == [False, False, True]


def test_names_may_be_unicode_in_folders_and_upper_case(
    coco_source: CocoSource,
) -> None:
    for id_, file in enumerate(
        ("München/straße 1.JPG", "日本/写真.jpeg", "x.JPEG"),
        start=10_001,
    ):
        coco_source.add_image(id_, file)
    made = imported(coco_source)
    assert [image.file for image in made.images[2:5]] == [
        "München/straße 1.JPG",
        "日本/写真.jpeg",
        "x.JPEG",
    ]
    assert check(made.folder) == ()


@pytest.mark.parametrize("mode", ["L", "CMYK"])
def test_grey_and_cmyk_jpegs_are_copied_like_any_other(
    coco_source: CocoSource,
    jpeg: Callable[..., bytes],
    mode: str,
) -> None:
    data = jpeg(mode=mode)
    coco_source.add_image(1, "special.jpg", data)
    made = imported(coco_source)
    assert made.image_path(1).read_bytes() == data
    assert check(made.folder) == ()


def test_boxes_without_width_are_kept_as_real_coco_files_have_them(
    coco_source: CocoSource,
) -> None:
    coco_source.add_object(7, 3, [5, 5, 0, 3])
    made = imported(coco_source)
    assert read_ground_truth(made.folder).coco_boxes[-1].tolist() == [5, 5, 0, 3]
    assert check(made.folder) == ()


def test_images_may_be_unmeasured(coco_source: CocoSource) -> None:
    del (
        coco_source.document["images"][0]["width"],
        coco_source.document["images"][0]["height"],
    )
    made = imported(coco_source)
    assert made.images[2].width == 40
    assert made.images[2].height == 30


def test_a_byte_order_mark_is_skipped(coco_source: CocoSource) -> None:
    path = coco_source.write()
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert len(import_coco(path, coco_source.images, coco_source.out).images) == 3


def test_a_file_of_another_form_is_told_by_its_beginning(
    coco_source: CocoSource,
) -> None:
    path = coco_source.write()
    path.write_text("image,class,xmin\n1,2,3\n")
    said = "not JSON: it begins with 'image,class,xmin'; ground truth in COCO's form is"
    with pytest.raises(TestSetError, match=said):
        import_coco(path, coco_source.images, coco_source.out)


def test_all_problems_are_reported_at_once(
    coco_source: CocoSource,
    jpeg: Callable[..., bytes],
) -> None:
    coco_source.add_image(1, "small.jpg", jpeg((20, 30)))
    coco_source.add_image(2, "broken.jpg", jpeg()[:300])
    coco_source.add_image(3, "text.jpg", b"no image at all")
    coco_source.add_image(4, "drawing.jpg", jpeg(kind="PNG"))
    coco_source.add_image(5, "empty.jpg", b"")
    (coco_source.images / "a.jpg").unlink()
    coco_source.add_object(500, 3, [30, 20, 20, 5])
    coco_source.add_object(500, 99, [0, 0, 2, 2])
    coco_source.add_object(12345, 3, [0, 0, 2, 2])
    coco_source.add_object(500, 3, [0, 0, -2, 2])
    text = problems(coco_source)
    assert "a.jpg: No such file" in text
    assert "small.jpg: is 20 x 30 pixels" in text
    assert "says 40 x 30" in text
    assert "broken.jpg: cannot be decoded" in text
    assert "text.jpg: is not an image" in text
    assert "empty.jpg: is empty" in text
    assert "drawing.jpg: is PNG, not JPEG" in text
    assert (
        "box [30.0, 20.0, 49.0, 24.0] (left, top, right, bottom), number 1 of its image, leaves image b.jpg"
        in text
    )
    assert "category_id 99" in text
    assert "image_id 12345" in text
    assert "inverted" in text
    assert len(text.splitlines()) == 10


def test_no_more_than_twenty_problems_are_reported(coco_source: CocoSource) -> None:
    for _ in range(40):
        coco_source.add_object(7, 99, [0, 0, 2, 2])
    assert len(problems(coco_source).splitlines()) == 20


@pytest.mark.parametrize("file", ["../outside.jpg", "/etc/hostname", "a/../b.jpg"])
def test_a_file_name_cannot_lead_out_of_the_folder(
    coco_source: CocoSource,
    file: str,
) -> None:
    coco_source.document["images"].append({"id": 1, "file_name": file})
    reports = Reports()
    with pytest.raises(TestSetError) as refused:
        import_coco(coco_source.write(), coco_source.images, coco_source.out, reports)
    assert "is not a plain file name" in "\n".join(refused.value.problems)
    (row,) = (one for one in reports.problems.rows if "plain" in one.problem)
    assert row.remedy.startswith("name the image as it lies in the folder of --images:")


def test_two_images_cannot_share_a_file(coco_source: CocoSource) -> None:
    coco_source.add_image(1, "a.jpg")
    assert "a.jpg: 2 images have this file name" in problems(coco_source)


def test_a_nameless_image_is_reported(coco_source: CocoSource) -> None:
    coco_source.document["images"].append({"id": 1})
    assert "image 1 has no file_name" in problems(coco_source)


def test_a_missing_folder_or_file_is_named(coco_source: CocoSource) -> None:
    path = coco_source.write()
    with pytest.raises(TestSetError, match="nowhere") as caught:
        import_coco(path, coco_source.root / "nowhere", coco_source.out)
    assert caught.value.code == "import-missing"
    with pytest.raises(TestSetError, match=r"none\.json") as caught:
        import_coco(coco_source.root / "none.json", coco_source.images, coco_source.out)
    assert caught.value.code == "ground-truth-missing"


def test_an_existing_folder_is_not_overwritten(coco_source: CocoSource) -> None:
    imported(coco_source)
    with pytest.raises(TestSetError) as caught:
        imported(coco_source)
    assert caught.value.code == "testset-exists"
    assert check(coco_source.out) == ()


def test_a_folder_with_none_of_the_images_is_told_in_one_sentence(
    coco_source: CocoSource, jpeg: Callable[..., bytes]
) -> None:
    coco_source.add_image(7, "b/second.jpg", jpeg())
    other = coco_source.out.parent / "other"
    other.mkdir()
    said = (
        f"{other}: none of the . annotated images is in this folder; the first is '[ab]"
    )
    with pytest.raises(TestSetError, match=said) as caught:
        import_coco(coco_source.write(), other, coco_source.out)
    assert caught.value.sentence.endswith("give --images the folder that has them")


@pytest.mark.parametrize(
    "file", ["/nope/{}.jpg", "../{}.jpg", "C:\\{}.jpg", "a" * 300 + "{}", "ä" * 200 + "{}"]
)  # fmt: skip
def test_a_folder_is_not_blamed_for_the_names_of_its_images(
    coco_source: CocoSource, file: str
) -> None:
    for number, image in enumerate(coco_source.document["images"]):
        image["file_name"] = file.format(number)
    told = problems(coco_source)
    assert "none of the" not in told
    assert len(told.splitlines()) >= 3
