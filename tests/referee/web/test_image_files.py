"""Images are the bytes that the manifest was made for, from memory or from disk, or they are not served."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from lpirc_testsets import TestSet, synthesize
from referee.errors import RefereeError
from referee.web.image_files import ImageFiles, memory_for_images


@pytest.fixture
def images(tmp_path: Path) -> TestSet:
    return synthesize(
        tmp_path / "set",
        images=3,
        categories=2,
        seed=1,
        size=(96, 64),
    )


def content(images: TestSet, number: int) -> bytes:
    return images.image_path(number).read_bytes()


def refused(files: ImageFiles, number: int) -> str:
    with pytest.raises(RefereeError) as error:
        files.read(number)
    assert error.value.code == "testset-changed"
    return error.value.sentence


@pytest.mark.parametrize("memory_bytes", [0, 5000, 10**9, None])
def test_an_image_is_its_file_however_much_memory_there_is(
    images: TestSet,
    memory_bytes: int | None,
) -> None:
    files = ImageFiles(images, memory_bytes)
    for _ in range(2):
        for number in (1, 2, 3):
            assert files.read(number) == content(images, number)
            assert files.facts(number).size == len(content(images, number))
            assert files.facts(number).crc32 == zlib.crc32(content(images, number))


def test_memory_is_bounded(images: TestSet) -> None:
    sizes = [len(content(images, number)) for number in (1, 2, 3)]
    files = ImageFiles(images, sum(sizes) - 1)
    files.preload()
    kept = [len(one) for one in files._kept if one is not None]  # noqa: SLF001 - what is kept in memory shows only inside
    assert sum(sizes) - max(sizes) <= sum(kept) < sum(sizes)
    assert memory_for_images() > 0


def test_a_file_that_changed_before_it_was_read_is_not_served_and_named_in_the_log_only(
    images: TestSet,
    caplog: pytest.LogCaptureFixture,
) -> None:
    images.image_path(1).write_bytes(content(images, 2))
    images.image_path(2).unlink()
    files = ImageFiles(images)
    files.preload()
    assert "is not the file" in refused(files, 1)
    assert "cannot be read" in refused(files, 2)
    for number in (1, 2):
        name = images.image_path(number).name
        assert name not in refused(files, number)
        assert caplog.text.count(name) == 1
    assert files.read(3) == content(images, 3)


def test_a_file_that_changes_later_is_not_served_from_disk_and_still_right_from_memory(
    images: TestSet,
) -> None:
    on_disk = ImageFiles(images, 0)
    in_memory = ImageFiles(images)
    before = content(images, 1)
    for files in (on_disk, in_memory):
        files.preload()
    images.image_path(1).write_bytes(before + b"\0")
    assert "is not the file" in refused(on_disk, 1)
    assert in_memory.read(1) == before
    images.image_path(1).write_bytes(before)
    assert on_disk.read(1) == before
