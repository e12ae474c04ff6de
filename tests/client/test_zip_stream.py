"""A batch is read as it arrives; another kind of zip, or a part of one, is reported."""

from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_client.errors import ClientError
from lpirc_client.zip_stream import entries, numbered

FILES = st.lists(st.binary(max_size=50), max_size=6)


def packed(files: list[bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", method) as archive:
        for number, content in enumerate(files, start=7):
            archive.writestr(f"{number}.jpg", content)
    return sink.getvalue()


@given(files=FILES)
def test_entries_are_what_was_packed(files: list[bytes]) -> None:
    names = [f"{number}.jpg" for number in range(7, 7 + len(files))]
    assert list(entries(io.BytesIO(packed(files)).read)) == list(
        zip(names, files, strict=True)
    )


@given(files=FILES.filter(len), data=st.data())
def test_a_batch_that_ends_too_soon_gives_what_came_and_then_fails(
    files: list[bytes],
    data: st.DataObject,
) -> None:
    whole = packed(files)
    cut = data.draw(st.integers(0, whole.index(b"PK\1\2") + 3))
    came: list[bytes] = []
    with pytest.raises(ClientError) as failure:
        came.extend(content for _, content in entries(io.BytesIO(whole[:cut]).read))
    assert failure.value.code == "connection-lost"
    assert came == files[: len(came)]


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"<html>" + b" " * 60, "bad-batch"),
        (packed([b"a" * 500], zipfile.ZIP_DEFLATED), "bad-batch"),
        (b"", "connection-lost"),
    ],
)
def test_what_is_not_a_stored_zip_is_reported(sent: bytes, code: str) -> None:
    with pytest.raises(ClientError) as failure:
        list(entries(io.BytesIO(sent).read))
    assert failure.value.code == code


def test_a_batch_of_other_images_is_reported() -> None:
    assert list(numbered(io.BytesIO(packed([b"x"])).read, 7)) == [(7, b"x")]
    with pytest.raises(ClientError, match=r"'7\.jpg' where 8\.jpg was expected"):
        list(numbered(io.BytesIO(packed([b"x"])).read, 8))
