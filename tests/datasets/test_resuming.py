"""An import that was interrupted goes on where it was."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lpirc_testsets import Reports, TestSetError, check, import_coco
from lpirc_testsets.set_building import COPIED
from lpirc_testsets.writing import new_folder

if TYPE_CHECKING:
    from conftest import CocoSource

KILLED = """
import os, signal, sys
from pathlib import Path
from lpirc_testsets import Reports, import_coco
def progress(done, total):
    if done == 2:
        os.kill(os.getpid(), signal.SIGKILL)
import_coco(*map(Path, sys.argv[1:]), Reports(progress=progress))
"""


@pytest.fixture
def interrupted(coco_source: CocoSource) -> CocoSource:
    """An import of four images, interrupted when two of them were done."""

    def progress(done: int, _total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    coco_source.add_image(600, "deep/d.jpg")
    with pytest.raises(KeyboardInterrupt):
        import_coco(
            coco_source.write(),
            coco_source.images,
            coco_source.out,
            Reports(progress=progress),
        )
    assert not coco_source.out.exists()
    return coco_source


def partial(source: CocoSource) -> Path:
    return source.root / ".out.partial"


def test_what_is_copied_is_not_copied_again(interrupted: CocoSource) -> None:
    copied = partial(interrupted) / "images" / "a.jpg"
    before = copied.stat()
    seen: list[tuple[int, int]] = []
    made = import_coco(
        interrupted.annotations,
        interrupted.images,
        interrupted.out,
        Reports(progress=lambda *at: seen.append(at)),
    )
    after = made.image_path(1).stat()
    assert after.st_ino == before.st_ino
    assert after.st_mtime_ns == before.st_mtime_ns
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert check(made.folder) == ()
    assert not partial(interrupted).exists()


def test_the_set_is_the_one_of_an_import_without_interruption(
    interrupted: CocoSource,
    tmp_path: Path,
) -> None:
    resumed = import_coco(interrupted.annotations, interrupted.images, interrupted.out)
    at_once = import_coco(
        interrupted.annotations,
        interrupted.images,
        tmp_path / "other" / "out",
    )
    assert resumed.digest == at_once.digest


def test_a_copy_or_source_that_changed_is_copied_again(
    interrupted: CocoSource,
    jpeg: Callable[..., bytes],
) -> None:
    copied = partial(interrupted) / "images" / "a.jpg"
    copied.write_bytes(copied.read_bytes()[:-1] + b"x")
    (interrupted.images / "b.jpg").write_bytes(jpeg(seed=77))
    made = import_coco(interrupted.annotations, interrupted.images, interrupted.out)
    for file in ("a.jpg", "b.jpg"):
        assert (made.folder / "images" / file).read_bytes() == (
            interrupted.images / file
        ).read_bytes()
    assert check(made.folder) == ()


def test_a_broken_image_is_found_although_the_journal_was_cut_off(
    interrupted: CocoSource,
) -> None:
    journal = partial(interrupted) / COPIED
    journal.write_text(journal.read_text()[:-1])
    (interrupted.images / "c.jpg").write_bytes(b"x")
    with pytest.raises(TestSetError, match=r"c\.jpg: is not an image"):
        import_coco(interrupted.annotations, interrupted.images, interrupted.out)
    assert not partial(interrupted).exists(), "a refused import leaves nothing behind"


def test_another_import_to_the_same_place_leaves_nothing_of_the_first(
    interrupted: CocoSource,
) -> None:
    document = json.loads(interrupted.annotations.read_text())
    document["images"] = [
        one for one in document["images"] if one["file_name"] == "c.jpg"
    ]
    document["annotations"] = document["annotations"][:1]
    interrupted.annotations.write_text(json.dumps(document))
    made = import_coco(interrupted.annotations, interrupted.images, interrupted.out)
    assert [one.file for one in made.images] == ["c.jpg"]
    assert check(made.folder) == ()


def test_two_imports_do_not_make_one_set_at_once(coco_source: CocoSource) -> None:
    with new_folder(coco_source.out, resumable=True) as folder:
        (folder / "mine").write_text("x")
        with pytest.raises(
            TestSetError,
            match="another import is writing to it; wait until that import ends",
        ) as caught:
            import_coco(coco_source.write(), coco_source.images, coco_source.out)
        assert (folder / "mine").exists()
    assert caught.value.code == "testset-not-written"


def test_a_process_that_is_killed_leaves_no_set_and_the_next_completes_it(
    coco_source: CocoSource,
) -> None:
    arguments = [coco_source.write(), coco_source.images, coco_source.out]
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, *map(str, arguments)],
        timeout=60,
    )
    assert ended.returncode == -signal.SIGKILL
    assert not coco_source.out.exists()
    assert len((partial(coco_source) / COPIED).read_text().splitlines()) == 2
    assert check(import_coco(*arguments).folder) == ()


def test_a_disk_that_is_full_leaves_no_set_and_the_next_completes_it(
    coco_source: CocoSource,
) -> None:
    arguments = [coco_source.write(), coco_source.images, coco_source.out]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # No file may be larger: each image is.
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(TestSetError, match="File too large") as caught:
            import_coco(*arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.code == "testset-not-written"
    assert not coco_source.out.exists()
    assert check(import_coco(*arguments).folder) == ()
