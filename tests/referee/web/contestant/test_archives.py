"""A batch is a zip that any reader takes, of the length said before, and any part of it is that part."""

from __future__ import annotations

import io
import threading
import time
import zipfile
import zlib

from hypothesis import given
from hypothesis import strategies as st

from referee.web.contestant.archives import (
    REMEMBERED_LAYOUTS,
    REMEMBERED_RUNS,
    Entry,
    Layouts,
    StoredZip,
    joined,
)
from referee.web.image_files import ImageFacts

FILES = st.lists(st.binary(max_size=40), max_size=6)


def archive(files: list[bytes]) -> StoredZip:
    return StoredZip(
        [
            Entry(
                f"{number}.jpg",
                ImageFacts(len(content), zlib.crc32(content)),
                lambda content=content: content,
            )
            for number, content in enumerate(files, start=1)
        ]
    )


def whole(made: StoredZip) -> bytes:
    return part(made, 0, made.size)


def part(made: StoredZip, start: int, stop: int) -> bytes:
    return b"".join(content for content, _ in made.parts(start, stop))


@given(files=FILES)
def test_it_holds_what_was_put_in_under_the_numbers_names(files: list[bytes]) -> None:
    made = archive(files)
    assert len(whole(made)) == made.size
    with zipfile.ZipFile(io.BytesIO(whole(made))) as read:
        assert read.testzip() is None
        assert [info.filename for info in read.infolist()] == [f"{n}.jpg" for n in range(1, len(files) + 1)]
        assert [read.read(info) for info in read.infolist()] == files
        assert all(info.compress_type == zipfile.ZIP_STORED for info in read.infolist())


@given(files=FILES, data=st.data())
def test_every_part_is_that_part_of_the_whole(files: list[bytes], data: st.DataObject) -> None:
    made = archive(files)
    start = data.draw(st.integers(0, made.size))
    stop = data.draw(st.integers(start, made.size))
    assert part(made, start, stop) == whole(made)[start:stop]


@given(files=FILES, data=st.data())
def test_what_is_sent_of_each_file_is_told_with_it(files: list[bytes], data: st.DataObject) -> None:
    made = archive(files)
    stop = data.draw(st.integers(0, made.size))
    sent = [0] * len(files)
    for start, end in ((0, stop), (stop, made.size)):
        for _, of_files in joined(made.parts(start, end), 20):
            for number, size in of_files:
                sent[number] += size
    assert sent == [len(content) for content in files]


def test_a_file_that_no_byte_is_wanted_of_is_not_read() -> None:
    def refuse() -> bytes:
        raise AssertionError

    made = StoredZip(
        [Entry("1.jpg", ImageFacts(100, 0), refuse), Entry("2.jpg", ImageFacts(1, 0), lambda: b"x")]
    )
    header = 30 + len("1.jpg")
    assert len(part(made, 0, header)) == header
    assert part(made, header + 100, made.size).startswith(b"PK\3\4")


@given(parts=st.lists(st.binary(max_size=20)), least=st.integers(1, 50))
def test_joined_chunks_are_the_same_bytes_and_none_but_the_last_is_small(
    parts: list[bytes], least: int
) -> None:
    chunks = list(joined(iter([(content, None) for content in parts]), least))
    assert b"".join(chunk for chunk, _ in chunks) == b"".join(parts)
    assert all(len(chunk) >= least for chunk, _ in chunks[:-1])


def test_those_who_ask_for_the_same_at_once_share_one_layout() -> None:
    layouts, together, made = Layouts(), threading.Barrier(4), []

    def lay_out() -> StoredZip:
        made.append(archive([b"x"]))
        return made[-1]

    def ask() -> None:
        together.wait()
        layouts.of(1, range(1, 3), lay_out)

    def slowly() -> StoredZip:
        together.wait()  # the others ask while this one is being laid out
        time.sleep(0.05)
        return lay_out()

    others = [threading.Thread(target=ask) for _ in range(3)]
    for other in others:
        other.start()
    layouts.of(1, range(1, 3), slowly)
    for other in others:
        other.join()
    assert len(made) == 1


def test_the_last_layouts_of_each_run_are_remembered_and_no_more() -> None:
    layouts, made = Layouts(), []

    def lay_out() -> StoredZip:
        made.append(archive([b"x"]))
        return made[-1]

    def ask(run: int, first: int) -> StoredZip:
        return layouts.of(run, range(first, first + 1), lay_out)

    assert ask(1, 1) is ask(1, 1)
    assert ask(2, 1) is not ask(1, 1)
    for first in range(2, REMEMBERED_LAYOUTS + 2):
        ask(1, first)
    assert len(made) == 2 + REMEMBERED_LAYOUTS
    ask(1, 1)
    assert len(made) == 3 + REMEMBERED_LAYOUTS
    for run in range(3, REMEMBERED_RUNS * 2):
        ask(run, 1)
    assert len(layouts._runs) == REMEMBERED_RUNS
