"""A site published each minute: what did not change is not written, and neither a kill nor a full disk breaks it."""

from __future__ import annotations

import errno
import gzip
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from unittest import mock

import pytest

from referee.errors import RefereeError
from referee.judging.public_documents import empty_board
from referee.publishing import site_disk
from referee.publishing.packed_pages import LEAST_BYTES, PACKED_KINDS, packed
from referee.publishing.site_publication import Publication
from referee.publishing.site_verification import verify_site
from tests.contest_day import TIMEOUT_S
from tests.referee.factories import START, House
from tests.referee.publishing.conftest import LATER

Publish = Callable[..., Publication]
MINUTE = timedelta(minutes=1)
CHANGES_EACH_MINUTE = {
    "index.html",
    "index.html.gz",
    "board.json",
    "board.json.gz",
    "manifest.json",
    "manifest.dsse.json",
}


def inodes(folder: Path) -> dict[str, int]:
    return {
        one.relative_to(folder).as_posix(): one.stat().st_ino
        for one in folder.rglob("*")
        if one.is_file()
    }


def test_only_what_states_the_time_is_written_each_minute(published: Publish) -> None:
    first = published(every_s=60)
    before = inodes(first.folder)
    for minute in (1, 2, 3):
        published(
            every_s=60,
            now=LATER + minute * MINUTE,
        )
        after = inodes(first.folder)
        assert after.keys() == before.keys()
        written = {name for name, inode in after.items() if inode != before[name]}
        assert written == CHANGES_EACH_MINUTE
        assert verify_site(first.folder, None).problems == []
        before = after


def test_nothing_at_all_is_written_while_the_board_is_frozen(
    made: House, published: Publish
) -> None:
    made.store.published.freeze(
        START,
        empty_board(made.contest),
    )
    first = published(every_s=60)
    before = inodes(first.folder)
    place = first.folder.resolve()
    with mock.patch.object(Path, "write_bytes", side_effect=AssertionError):
        again = published(
            every_s=60,
            now=LATER + MINUTE,
        )
    assert not again.is_new
    assert first.folder.resolve() == place
    assert inodes(first.folder) == before


def test_a_page_that_another_hand_has_altered_is_not_taken_over(
    published: Publish,
) -> None:
    """A rival with access to the web server's disk alters a page that the next version would link to."""
    first = published(every_s=60)
    page = next((first.folder / "teams").glob("*.html"))
    right = page.read_bytes()
    page.write_bytes(right.replace(b"otters", b"badger"))
    published(
        every_s=60,
        now=LATER + MINUTE,
    )
    assert page.read_bytes() == right
    assert verify_site(first.folder, None).problems == []


# Packed pages


def test_each_page_has_a_packed_one_beside_it_and_the_size_counts_it(
    published: Publish,
) -> None:
    made = published(final=True)
    files = [one for one in made.folder.rglob("*") if one.is_file()]
    assert made.size == sum(one.stat().st_size for one in files)
    for page in files:
        small = page.with_name(f"{page.name}.gz")
        signed = page.name in ("manifest.json", "manifest.dsse.json")
        long = page.stat().st_size >= LEAST_BYTES
        if page.suffix not in PACKED_KINDS or signed or not long:
            assert not small.exists()
            continue
        assert gzip.decompress(small.read_bytes()) == page.read_bytes(), page
        assert small.stat().st_size < page.stat().st_size


def test_the_same_pages_are_packed_to_the_same_bytes() -> None:
    files = {"a.html": b"<p>hello</p>" * 100, "b.png": b"x" * 1000, "c.js": b"1"}
    first = packed(files)
    assert first.keys() == {"a.html.gz"}
    with mock.patch("time.time", return_value=0.0):
        assert packed(files) == first


# A kill, a full disk

KILLED = """
import os, signal, sys
from pathlib import Path
from datetime import datetime, timedelta
from referee.contest import open_contest
from referee.publishing import site_folder
from referee.publishing.site_publication import publish_site
from referee.publishing.site_verification import verify_site

folder, out, now = Path(sys.argv[1]), Path(sys.argv[2]), datetime.fromisoformat(sys.argv[3])

def victim(step):
    done = 0
    def counted(function):
        def called(*args, **kwargs):
            nonlocal done
            done += 1
            if done == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*args, **kwargs)
        return called
    for name in ("write_bytes", "mkdir", "rename", "replace", "symlink_to", "hardlink_to", "rmdir", "unlink"):
        setattr(Path, name, counted(getattr(Path, name)))
    os.fsync = counted(os.fsync)
    site_folder.shutil.rmtree = counted(site_folder.shutil.rmtree)
    with open_contest(folder) as contest:
        publish_site(contest, out, now + timedelta(minutes=step), every_s=60)

step = int(sys.argv[4])
killed = 0
while True:
    step += 2
    child = os.fork()
    if not child:
        try:
            victim(step)
        except BaseException:
            import traceback; traceback.print_exc(); os._exit(2)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if out.exists() or killed:
        problems = verify_site(out, None).problems if out.exists() else []
        assert not problems, (step, problems)
    if not os.WIFSIGNALED(status):
        assert os.WEXITSTATUS(status) == 0, (step, status)
        break
    killed += 1
print(killed)
"""


@pytest.mark.parametrize("begun", [False, True])
def test_killed_at_any_step_the_site_is_whole_and_the_next_publication_works(
    made: House, published: Publish, tmp_path: Path, begun: bool
) -> None:
    """SIGKILL before each second write, link, rename and flush; what it leaves is what the next one begins with."""
    site = tmp_path / "site"
    if begun:
        published(every_s=60)
    made.store.close()
    command = [sys.executable, "-c", KILLED, str(made.folder), str(site)]
    done = subprocess.run(
        [*command, LATER.isoformat(), str(int(begun))],
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S * 4,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 10, "each step was tried"
    versions = site.with_name(f".{site.name}.versions")
    assert len([*versions.iterdir()]) <= 2
    assert verify_site(site, None).problems == []


def test_a_disk_that_fills_leaves_the_site_and_gives_back_what_was_written(
    published: Publish, tmp_path: Path
) -> None:
    first = published(every_s=60)
    before = inodes(first.folder)
    whole = Path.write_bytes
    calls = 0

    def fills(path: Path, content: bytes) -> int:
        nonlocal calls
        calls += 1
        if calls == 3:
            whole(
                path,
                content[: len(content) // 2],
            )
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return whole(path, content)

    with (
        mock.patch.object(Path, "write_bytes", fills),
        pytest.raises(RefereeError) as refused,
    ):
        published(
            every_s=60,
            now=LATER + MINUTE,
        )
    assert refused.value.code == "site-disk-full"
    assert "the site stays as it was" in refused.value.sentence
    assert inodes(first.folder) == before
    versions = tmp_path / ".site.versions"
    assert len([*versions.iterdir()]) == 1, "no half version takes up space"
    assert published(every_s=60, now=LATER + MINUTE).is_new


def test_a_publication_leaves_the_contest_its_space(
    made: House, published: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the contest's own disk readings and detections come first: a site never takes the last of it."""
    monkeypatch.setattr(
        site_disk,
        "SPARED_BYTES",
        2**70,
    )
    with pytest.raises(RefereeError) as refused:
        published(final=True)
    assert refused.value.code == "site-disk-full"
    assert "are kept for the contest" in refused.value.sentence
    assert not (made.folder.parent / ".site.versions").exists()
