"""Small real data sets to import, a synthetic test set, and the shared photographs."""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from lpirc_testsets import TestSet, synthesize

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture(scope="session")
def voc100() -> Path:
    folder = SHARED / "voc100"
    if not folder.is_dir():
        reason = f"{folder} is not here: the hundred VOC photographs are kept outside the project"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return folder


def jpeg(
    size: tuple[int, int] = (40, 30),
    seed: int = 0,
    mode: str = "RGB",
    kind: str = "JPEG",
) -> bytes:
    bands = len(Image.new(mode, (1, 1)).getbands())
    noise = np.random.default_rng(seed).integers(
        0,
        255,
        (size[1], size[0], bands),
        dtype=np.uint8,
    )
    out = io.BytesIO()
    Image.frombytes(mode, size, noise.tobytes()).save(out, format=kind)
    return out.getvalue()


@pytest.fixture(name="jpeg")
def jpeg_fixture() -> Callable[..., bytes]:
    return jpeg


@dataclass
class CocoSource:
    """A folder of images and a COCO document, which tests may spoil before it is written."""

    root: Path
    document: dict[str, Any] = field(default_factory=dict)

    @property
    def annotations(self) -> Path:
        return self.root / "instances.json"

    @property
    def images(self) -> Path:
        return self.root / "pictures"

    @property
    def out(self) -> Path:
        return self.root / "out"

    def add_image(
        self,
        id_: int,
        file: str,
        data: bytes | None = None,
        **entry: object,
    ) -> None:
        path = self.images / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jpeg(seed=id_ % 1000) if data is None else data)
        self.document["images"].append(
            {
                "id": id_,
                "file_name": file,
                "width": 40,
                "height": 30,
                **entry,
            }
        )

    def add_object(
        self,
        image: int,
        category: int,
        bbox: list[float],
        **entry: object,
    ) -> None:
        known = self.document["annotations"]
        known.append(
            {
                "id": len(known) + 1,
                "image_id": image,
                "category_id": category,
                "bbox": bbox,
                **entry,
            }
        )

    def write(self) -> Path:
        self.annotations.write_text(json.dumps(self.document), encoding="utf-8")
        return self.annotations


@pytest.fixture
def coco_source(tmp_path: Path) -> CocoSource:
    """Three images with sparse ids in no order, the middle one without objects."""
    source = CocoSource(
        tmp_path,
        {
            "images": [],
            "annotations": [],
            "categories": [],
        },
    )
    source.document["categories"] = [
        {"id": 18, "name": "dog"},
        {"id": 3, "name": "car"},
    ]
    source.add_image(20180000900, "c.jpg")
    source.add_image(7, "a.jpg")
    source.add_image(500, "b.jpg")
    source.add_object(20180000900, 3, [0, 0, 40, 30], area=1000, iscrowd=0)
    source.add_object(7, 18, [1.5, 2, 10.25, 4], iscrowd=0)
    source.add_object(7, 18, [3, 4, 5, 6], area=12.5, iscrowd=1)
    return source


@dataclass
class VocSource:
    """Folders of images and VOC annotations."""

    root: Path

    @property
    def annotations(self) -> Path:
        return self.root / "Annotations"

    @property
    def images(self) -> Path:
        return self.root / "JPEGImages"

    @property
    def out(self) -> Path:
        return self.root / "out"

    def add_image(self, file: str, data: bytes | None = None) -> None:
        path = self.images / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(
            jpeg(seed=len(file) + sum(file.encode())) if data is None else data
        )

    def annotate(
        self,
        xml: str,
        file: str | None,
        *objects: str,
        size: tuple[int, int] | None = (40, 30),
    ) -> None:
        path = self.annotations / xml
        path.parent.mkdir(parents=True, exist_ok=True)
        name = "" if file is None else f"<filename>{file}</filename>"
        stated = (
            ""
            if size is None
            else f"<size><width>{size[0]}</width><height>{size[1]}</height></size>"
        )
        path.write_text(
            f"<annotation>{name}{stated}{''.join(objects)}</annotation>",
            encoding="utf-8",
        )


def voc_object(name: str, *corners: object, more: str = "") -> str:
    tags = zip(("xmin", "ymin", "xmax", "ymax"), corners, strict=True)
    box = "".join(f"<{tag}>{value}</{tag}>" for tag, value in tags)
    return f"<object><name>{name}</name>{more}<bndbox>{box}</bndbox></object>"


@pytest.fixture(name="voc_object")
def voc_object_fixture() -> Callable[..., str]:
    return voc_object


@pytest.fixture
def voc_source(tmp_path: Path) -> VocSource:
    """Two annotated images and one without annotation."""
    source = VocSource(tmp_path)
    for file in ("b.jpg", "a.jpg", "unannotated.jpg"):
        source.add_image(file)
    head = "<part><name>head</name><bndbox><xmin>1</xmin></bndbox></part>"
    whole = voc_object("zebra", 1.5, 2, 3.25, 9, more=head)
    source.annotate(
        "a.xml",
        "a.jpg",
        voc_object("zebra", 1, 1, 40, 30, more="<difficult>1</difficult>"),
    )
    source.annotate("b.xml", "b.jpg", voc_object("ant", 2, 3, 2, 9), whole)
    return source


@pytest.fixture(scope="session")
def synthetic_set(tmp_path_factory: pytest.TempPathFactory) -> TestSet:
    folder = tmp_path_factory.mktemp("synthetic") / "set"
    return synthesize(
        folder,
        images=5,
        categories=4,
        seed=3,
        size=(96, 64),
    )


@pytest.fixture
def test_set(synthetic_set: TestSet, tmp_path: Path) -> TestSet:
    """A copy of the synthetic set, to be spoilt."""
    shutil.copytree(synthetic_set.folder, tmp_path / "set")
    return replace(synthetic_set, folder=tmp_path / "set")
