"""Which images a folder holds, under which numbers."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from lpirc_client.errors import ClientError, ModelError
from lpirc_client.harness.images import ImageFile, content, digest, list_images
from tests.forbidden import LOOP, loop_at


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def set_in(folder: Path, *entries: dict[str, object]) -> Path:
    (folder / "images").mkdir()
    (folder / "images" / "b.jpg").write_bytes(b"bee")
    (folder / "manifest.json").write_text(json.dumps({"images": entries}))
    return folder


def test_a_plain_folder_is_numbered_by_name_and_other_files_left_aside(
    tmp_path: Path,
) -> None:
    for name in ("b.png", "a.JPG", "notes.txt", "c.jpeg"):
        (tmp_path / name).touch()
    images = [
        ImageFile(1, tmp_path / "a.JPG"),
        ImageFile(2, tmp_path / "b.png"),
        ImageFile(3, tmp_path / "c.jpeg"),
    ]
    assert list_images(tmp_path) == images
    assert list_images(tmp_path, 2) == images[:2]


def test_a_test_set_gives_its_own_numbers_in_its_order(tmp_path: Path) -> None:
    folder = set_in(
        tmp_path,
        {"number": 7, "file": "b.jpg", "sha256": "x"},
        {"number": 2, "file": "a.jpg"},
    )
    assert list_images(folder) == [
        ImageFile(7, folder / "images" / "b.jpg", "x"),
        ImageFile(2, folder / "images" / "a.jpg"),
    ]


def test_the_digest_is_of_lines_of_number_and_hash(tmp_path: Path) -> None:
    images = [
        ImageFile(4, tmp_path / "a.png"),
        ImageFile(2, tmp_path / "b.png"),
    ]
    for image in images:
        image.path.write_bytes(image.path.name.encode())
    lines = f"4 {sha256(b'a.png')}\n2 {sha256(b'b.png')}\n"
    assert digest(images) == sha256(lines.encode())


def test_an_image_that_is_not_the_manifests_is_refused(tmp_path: Path) -> None:
    folder = set_in(
        tmp_path,
        {
            "number": 1,
            "file": "b.jpg",
            "sha256": sha256(b"bee"),
        },
    )
    (image,) = list_images(folder)
    assert content(image) == b"bee"
    image.path.write_bytes(b"wasp")
    with pytest.raises(
        ModelError,
        match=r"image 1 .*its SHA-256 is not the manifest's",
    ):
        content(image)


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ("{", "not a test set's manifest"),
        ("[]", "not a test set's manifest"),
        (
            '{"images": [{"number": 1e999, "file": "a"}]}',
            "not a test set's manifest: OverflowError",
        ),
        ("[" * 100_000, "not a test set's manifest: RecursionError"),
        ('{"images": [{"number": 1}]}', "not a test set's manifest: KeyError"),
        (
            '{"images": [{"number": 1, "file": "a"}, {"number": 1, "file": "b"}]}',
            "two images have the same number",
        ),
        ('{"images": []}', "there is no image in it"),
    ],
)
def test_a_file_that_is_not_a_manifest_is_refused(
    tmp_path: Path,
    manifest: str,
    said: str,
) -> None:
    (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(ClientError, match=said):
        list_images(tmp_path)


def test_a_pipe_as_manifest_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "manifest.json")
    with pytest.raises(ClientError, match="it is not a regular file"):
        list_images(tmp_path)


@pytest.mark.parametrize("name", ["a\0b.jpg", "\ud800.jpg"])
def test_a_name_that_no_file_can_have_is_reported(tmp_path: Path, name: str) -> None:
    with pytest.raises(ModelError, match=r"image 1 .*it cannot be read"):
        content(ImageFile(1, tmp_path / name))


def test_a_missing_folder_image_or_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="nowhere: cannot be read: No such file"):
        list_images(tmp_path / "nowhere")
    with pytest.raises(ModelError, match="there is no image in it"):
        list_images(tmp_path)
    with pytest.raises(
        ModelError,
        match=r"image 1 \(.*gone.png\): it cannot be read: No such file",
    ):
        content(ImageFile(1, tmp_path / "gone.png"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_as_image_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jpg")
    with pytest.raises(
        ModelError,
        match=r"image 1 \(.*a\.jpg\): it cannot be read: it is not a regular file",
    ):
        digest(list_images(tmp_path))


def test_a_manifest_that_cannot_be_looked_at_makes_no_plain_folder_of_a_test_set(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.jpg").touch()
    loop = loop_at(tmp_path / "manifest.json")
    with pytest.raises(ClientError) as caught:
        list_images(tmp_path)
    assert caught.value.code == "bad-testset"
    assert caught.value.sentence == f"{loop}: cannot be read: {LOOP}"
