"""A hundred real photographs, in both forms of annotation."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from lpirc_testsets import TestSet, check, import_coco, import_voc, read_ground_truth


@pytest.fixture(scope="session")
def from_coco(voc100: Path, tmp_path_factory: pytest.TempPathFactory) -> TestSet:
    out = tmp_path_factory.mktemp("imports") / "coco"
    return import_coco(
        voc100 / "annotations_coco" / "instances.json",
        voc100 / "images",
        out,
    )


@pytest.fixture(scope="session")
def from_voc(voc100: Path, tmp_path_factory: pytest.TempPathFactory) -> TestSet:
    out = tmp_path_factory.mktemp("imports") / "voc"
    return import_voc(
        voc100 / "annotations_voc",
        voc100 / "images",
        out,
        voc100 / "voc.names",
    )


def test_both_imports_hold_the_whole_set_untouched(
    voc100: Path,
    from_coco: TestSet,
    from_voc: TestSet,
) -> None:
    for made in (from_coco, from_voc):
        assert check(made.folder) == ()
        assert len(made.images) == 100
        assert made.objects == 273
        assert len(made.categories) == 20
        for image in made.images:
            data = made.image_path(image.number).read_bytes()
            assert data == (voc100 / "images" / image.file).read_bytes()
    assert sorted(i.sha256 for i in from_coco.images) == sorted(
        i.sha256 for i in from_voc.images
    )
    assert [i.file for i in from_voc.images] == sorted(i.file for i in from_coco.images)
    assert from_coco.digest != from_voc.digest


def test_the_coco_import_equals_the_file(voc100: Path, from_coco: TestSet) -> None:
    path = voc100 / "annotations_coco" / "instances.json"
    source = json.loads(path.read_text(encoding="utf-8"))
    truth = read_ground_truth(from_coco.folder)
    direct = read_ground_truth(path)
    assert (
        truth.coco_boxes.tolist()
        == direct.coco_boxes.tolist()
        == [a["bbox"] for a in source["annotations"]]
    )
    assert truth.boxes.tolist() == direct.boxes.tolist()
    assert truth.area.tolist() == [a["area"] for a in source["annotations"]]
    assert truth.category.tolist() == [a["category_id"] for a in source["annotations"]]
    assert truth.image_names == direct.image_names
    rank = {
        id_: number
        for number, id_ in enumerate(
            sorted(image["id"] for image in source["images"]),
            start=1,
        )
    }
    assert truth.image.tolist() == [rank[a["image_id"]] for a in source["annotations"]]
    assert [
        int(image.source_id) for image in from_coco.images
    ] == direct.image_ids.tolist()


def test_the_voc_import_equals_the_files(voc100: Path, from_voc: TestSet) -> None:
    truth = read_ground_truth(from_voc.folder)
    names = dict(zip(truth.category_ids.tolist(), truth.category_names, strict=True))
    found = [
        (truth.image_names[number - 1], names[category], *box)
        for number, category, box in zip(
            truth.image.tolist(),
            truth.category.tolist(),
            truth.boxes.tolist(),
            strict=True,
        )
    ]
    expected = []
    for path in sorted((voc100 / "annotations_voc").glob("*.xml")):
        root = ET.parse(path).getroot()  # noqa: S314
        for item in root.findall("object"):
            corners = [
                float(item.findtext(f"bndbox/{tag}") or "")
                for tag in ("xmin", "ymin", "xmax", "ymax")
            ]
            expected.append(
                (root.findtext("filename"), item.findtext("name"), *corners)
            )
    assert found == expected


def test_a_file_of_names_gives_the_ids(voc100: Path, from_voc: TestSet) -> None:
    names = (voc100 / "voc.names").read_text(encoding="utf-8").split()
    assert [category.name for category in from_voc.categories] == names
