"""A batch is a zip that any reader takes, of the length stated before."""

from __future__ import annotations

import io
import zipfile
import zlib

from hypothesis import given
from hypothesis import strategies as st

from referee.web.contestant.stored_zip import Entry, StoredZip
from referee.web.image_files import ImageFacts

FILES = st.lists(st.binary(max_size=40), max_size=6)


def archive(files: list[bytes]) -> StoredZip:
    facts = [ImageFacts(len(content), zlib.crc32(content)) for content in files]
    entries = [Entry(f"{place + 1}.jpg", one, place) for place, one in enumerate(facts)]
    return StoredZip(entries, lambda number: files[number])


@given(files=FILES, least=st.integers(1, 100))
def test_it_holds_what_was_put_in_under_the_numbers_names(
    files: list[bytes],
    least: int,
) -> None:
    made = archive(files)
    whole = b"".join(chunk for chunk, _ in made.chunks(least))
    assert len(whole) == made.size
    with zipfile.ZipFile(io.BytesIO(whole)) as read:
        assert read.testzip() is None
        assert [info.filename for info in read.infolist()] == [
            f"{n}.jpg" for n in range(1, len(files) + 1)
        ]
        assert [read.read(info) for info in read.infolist()] == files
        assert all(info.compress_type == zipfile.ZIP_STORED for info in read.infolist())


@given(files=FILES, least=st.integers(1, 100))
def test_each_chunk_names_the_files_that_end_in_it_and_only_the_last_is_small(
    files: list[bytes],
    least: int,
) -> None:
    made = archive(files)
    chunks = list(made.chunks(least))
    assert [one for _, ended in chunks for one in ended] == [
        (n, len(content)) for n, content in enumerate(files)
    ]
    assert all(len(chunk) >= least for chunk, _ in chunks[:-1])


def test_a_file_is_read_only_when_its_chunk_is_wanted() -> None:
    read: list[int] = []

    def content(number: int) -> bytes:
        read.append(number)
        return b"x"

    facts = ImageFacts(1, zlib.crc32(b"x"))
    chunks = StoredZip(
        [
            Entry("1.jpg", facts, 7),
            Entry("2.jpg", facts, 8),
        ],
        content,
    ).chunks(1)
    assert next(chunks)[0].endswith(b"x")
    assert read == [7]
