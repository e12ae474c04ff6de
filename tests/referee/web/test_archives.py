"""A batch is a zip that any reader takes, of the length said before, and any part of it is that part."""

from __future__ import annotations

import io
import zipfile
import zlib

from hypothesis import given
from hypothesis import strategies as st

from referee.web.archives import Entry, StoredZip, joined
from referee.web.images import ImageFacts

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
    return b"".join(made.parts(0, made.size))


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
    assert b"".join(made.parts(start, stop)) == whole(made)[start:stop]


@given(files=FILES, data=st.data())
def test_the_shares_tell_which_files_a_part_takes_from(files: list[bytes], data: st.DataObject) -> None:
    made = archive(files)
    stop = data.draw(st.integers(0, made.size))
    before, after = made.shares(0, stop), made.shares(stop, made.size)
    assert [a + b for a, b in zip(before, after, strict=True)] == [len(content) for content in files]


def test_a_file_that_no_byte_is_wanted_of_is_not_read() -> None:
    def refuse() -> bytes:
        raise AssertionError

    made = StoredZip(
        [Entry("1.jpg", ImageFacts(100, 0), refuse), Entry("2.jpg", ImageFacts(1, 0), lambda: b"x")]
    )
    header = 30 + len("1.jpg")
    assert len(b"".join(made.parts(0, header))) == header
    assert b"".join(made.parts(header + 100, made.size)).startswith(b"PK\3\4")


@given(parts=st.lists(st.binary(max_size=20)), least=st.integers(1, 50))
def test_joined_chunks_are_the_same_bytes_and_none_but_the_last_is_small(
    parts: list[bytes], least: int
) -> None:
    chunks = list(joined(iter(parts), least))
    assert b"".join(chunks) == b"".join(parts)
    assert all(len(chunk) >= least for chunk in chunks[:-1])
