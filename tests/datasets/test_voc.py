"""Importing VOC and ILSVRC DET."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lpirc_testsets import TestSet, TestSetError, check, import_voc, read_ground_truth

if TYPE_CHECKING:
    from conftest import VocSource


def imported(source: VocSource, categories: Path | None = None) -> TestSet:
    return import_voc(source.annotations, source.images, source.out, categories)


def problems(source: VocSource, categories: Path | None = None) -> str:
    with pytest.raises(TestSetError) as caught:
        imported(source, categories)
    assert caught.value.code == "import-invalid"
    assert not source.out.exists()
    assert not list(source.root.glob(".*")), "a refused import leaves nothing behind"
    return "\n".join(caught.value.problems)


def test_annotated_images_are_numbered_by_file_name_and_the_others_left_out(
    voc_source: VocSource,
) -> None:
    made = imported(voc_source)
    assert [(image.file, image.source_id) for image in made.images] == [
        ("a.jpg", "a"),
        ("b.jpg", "b"),
    ]
    for image in made.images:
        data = made.image_path(image.number).read_bytes()
        assert data == (voc_source.images / image.file).read_bytes()
    assert check(made.folder) == ()


def test_objects_keep_corners_difficulty_and_name(voc_source: VocSource) -> None:
    truth = read_ground_truth(imported(voc_source).folder)
    assert truth.image.tolist() == [1, 2, 2]
    assert truth.category_names == ("ant", "zebra")
    assert truth.category.tolist() == [2, 1, 2]
    assert truth.boxes.tolist() == [
        [1, 1, 40, 30],
        [2, 3, 2, 9],
        [1.5, 2, 3.25, 9],
    ]
    assert truth.difficult.tolist() == [True, False, False]
    assert truth.area.tolist() == [1200, 7, 22]
    assert not truth.crowd.any()


def test_a_file_of_names_numbers_the_categories(
    voc_source: VocSource,
    tmp_path: Path,
) -> None:
    names = tmp_path / "names.txt"
    names.write_text("zebra\nfox\n\nant \n", encoding="utf-8-sig")
    truth = read_ground_truth(imported(voc_source, names).folder)
    assert truth.category_names == ("zebra", "fox", "ant")
    assert truth.category.tolist() == [1, 3, 1]


def test_a_file_of_names_must_hold_every_name_once(
    voc_source: VocSource,
    tmp_path: Path,
) -> None:
    names = tmp_path / "names.txt"
    names.write_text("zebra\nzebra\n", encoding="utf-8")
    text = problems(voc_source, names)
    assert "'zebra' is listed more than once" in text
    assert "b.xml: 'ant' is not among the categories" in text
    names.write_text("", encoding="utf-8")
    assert "no categories in it" in problems(voc_source, names)
    assert "none.txt: no such file" in problems(voc_source, tmp_path / "none.txt")


def test_an_annotation_without_objects_is_an_image_of_the_set(
    voc_source: VocSource,
) -> None:
    voc_source.annotate("unannotated.xml", "unannotated.jpg")
    made = imported(voc_source)
    assert len(made.images) == 3
    assert read_ground_truth(made.folder).image_ids.tolist() == [1, 2, 3]


def test_the_image_is_found_without_extension_in_folders_or_by_the_name_of_the_annotation(
    voc_source: VocSource,
    voc_object: Callable[..., str],
) -> None:
    box = voc_object("ant", 1, 1, 2, 2)
    for file in ("val/ILSVRC_1.JPEG", "ünï 1.JPG", "renamed.jpg"):
        voc_source.add_image(file)
    voc_source.annotate("val/ILSVRC_1.xml", "ILSVRC_1", box)
    voc_source.annotate("ünï 1.XML", None, box)
    voc_source.annotate("renamed.xml", "original.png", box, size=None)
    made = imported(voc_source)
    assert [i.file for i in made.images] == [
        "a.jpg",
        "b.jpg",
        "renamed.jpg",
        "val/ILSVRC_1.JPEG",
        "ünï 1.JPG",
    ]
    assert made.images[3].source_id == "val/ILSVRC_1"
    assert check(made.folder) == ()


def test_an_annotation_may_have_a_byte_order_mark_and_another_encoding(
    voc_source: VocSource,
) -> None:
    path = voc_source.annotations / "a.xml"
    text = path.read_text(encoding="utf-8")
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    other = '<?xml version="1.0" encoding="iso-8859-1"?>' + text.replace(
        "zebra",
        "zébra",
    )
    (voc_source.annotations / "b.xml").write_bytes(
        other.replace("a.jpg", "b.jpg").encode("latin-1")
    )
    assert read_ground_truth(imported(voc_source).folder).category_names == (
        "zebra",
        "zébra",
    )


def test_all_problems_are_reported_at_once(
    voc_source: VocSource,
    voc_object: Callable[..., str],
    jpeg: Callable[..., bytes],
) -> None:
    good = voc_object("ant", 1, 1, 2, 2)
    for name in ("c", "d", "e", "f", "g", "h", "i", "j"):
        voc_source.add_image(f"{name}.jpg")
    voc_source.annotate(
        "c.xml",
        "c.jpg",
        voc_object("ant", 9, 1, 2, 2),
        voc_object("ant", 1, "?", 2, 2),
    )
    voc_source.annotate(
        "d.xml",
        "d.jpg",
        voc_object("ant", 1, 1, 42, 2),
        good,
        size=(41, 30),
    )
    voc_source.annotate("e.xml", "e.jpg", voc_object("ant", 1, 1, 42, 2))
    voc_source.annotate(
        "f.xml",
        "f.jpg",
        "<object><name>ant</name></object>",
        "<object/>",
    )
    voc_source.annotate(
        "g.xml",
        "g.jpg",
        voc_object("ant", 1, 1, 2, 2, more="<difficult>2</difficult>"),
    )
    voc_source.annotate("h.xml", "missing.jpg", good)
    (voc_source.images / "h.jpg").unlink()
    (voc_source.annotations / "i.xml").write_text("<annotation>", encoding="utf-8")
    (voc_source.annotations / "j.xml").write_text("<html/>", encoding="utf-8")
    (voc_source.images / "a.jpg").write_bytes(jpeg()[:200])
    voc_source.annotate("k.xml", "b.jpg", voc_object("ant", "inf", 1, 2, 2))
    text = problems(voc_source)
    for expected in (
        "c.xml: object 1: 'ant': box [9.0, 1.0, 2.0, 2.0] is inverted",
        "c.xml: object 2: <ymin> '?' is not a finite number",
        "d.jpg: is 40 x 30 pixels",
        "e.xml: box [1.0, 1.0, 42.0, 2.0] (left, top, right, bottom), number 1 of its image, leaves image e.jpg",
        "f.xml: object 1: 'ant': <bndbox> is missing",
        "f.xml: object 2: <name> '' is not a name",
        "g.xml: object 1: 'ant': difficult '2'",
        "missing.jpg: No such file",
        "i.xml: not a plain XML file",
        "j.xml: its root is <html>",
        "a.jpg: cannot be decoded",
        "b.jpg: 2 images have this file name",
        "k.xml: object 1: <xmin> 'inf' is not a finite number",
    ):
        assert expected in text


def test_entities_and_huge_annotations_are_refused(voc_source: VocSource) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><annotation>&b;</annotation>'
    (voc_source.annotations / "a.xml").write_text(bomb, encoding="utf-8")
    (voc_source.annotations / "b.xml").write_bytes(
        b"<annotation>" + b" " * (9 * 2**20) + b"</annotation>"
    )
    text = problems(voc_source)
    assert "a.xml: not a plain XML file: it has a DTD" in text
    assert "b.xml: more than 2097152 bytes" in text


def test_folders_must_exist_and_hold_annotations(voc_source: VocSource) -> None:
    with pytest.raises(TestSetError, match="nowhere") as caught:
        import_voc(voc_source.root / "nowhere", voc_source.images, voc_source.out)
    assert caught.value.code == "import-missing"
    with pytest.raises(TestSetError, match="nowhere") as caught:
        import_voc(voc_source.annotations, voc_source.root / "nowhere", voc_source.out)
    assert caught.value.code == "import-missing"
    with pytest.raises(TestSetError, match="no XML files"):
        import_voc(voc_source.images, voc_source.images, voc_source.out)


def test_a_folder_of_annotations_is_a_ground_truth_as_its_import_would_be(
    voc_source: VocSource,
) -> None:
    of_import = read_ground_truth(imported(voc_source).folder)
    for direct in (
        read_ground_truth(voc_source.annotations),
        read_ground_truth(voc_source.annotations.parent),
    ):
        assert direct.category_names == of_import.category_names
        stems = [Path(name).stem for name in direct.image_names]
        assert stems == [Path(name).stem for name in of_import.image_names]
        for column in (
            "image_ids",
            "category_ids",
            "image",
            "category",
            "boxes",
            "difficult",
            "crowd",
            "area",
        ):
            assert (
                getattr(direct, column).tolist() == getattr(of_import, column).tolist()
            ), column


def test_every_problem_of_a_folder_of_annotations_is_told(
    voc_source: VocSource,
) -> None:
    (voc_source.annotations / "broken.xml").write_text("<annotation>")
    first = sorted(voc_source.annotations.glob("*.xml"))[0]
    (voc_source.annotations / "zz-twin.xml").write_text(first.read_text())
    with pytest.raises(TestSetError) as refused:
        read_ground_truth(voc_source.annotations)
    assert refused.value.code == "ground-truth-invalid"
    told = "\n".join(refused.value.problems)
    assert "broken.xml: not a plain XML file: it ends in the middle, so" in told
    assert "zz-twin.xml: another annotation is of the same image" in told


@pytest.mark.parametrize(
    ("tags", "name"),
    [
        ("<filename>sub/a.jpg</filename>", "sub/a.jpg"),
        ("<filename>C:\\data\\a.jpg</filename>", "a.jpg"),
        ("<filename>/home/me/a.jpg</filename>", "a.jpg"),
        ("<path>/home/me/a.jpg</path>", "a.jpg"),
        ("<filename></filename><path>C:\\data\\a b.JPG</path>", "a b.JPG"),
        ("", "first"),
    ],
)
def test_an_image_is_called_as_its_annotation_says_and_not_by_where_it_lay(
    tmp_path: Path,
    voc_object: Callable[..., str],
    tags: str,
    name: str,
) -> None:
    of = voc_object("cat", 1, 1, 9, 9)
    (tmp_path / "first.xml").write_text(f"<annotation>{tags}{of}</annotation>")
    assert read_ground_truth(tmp_path).image_names == (name,)
