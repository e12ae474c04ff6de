"""Reading files, pipes and what is neither."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from lpirc_testsets import TestSetError, import_labels
from lpirc_testsets.file_bytes import (
    file_bytes,
    no_such_file,
    read_text,
    require_regular,
)
from lpirc_testsets.folder import sha256_of
from lpirc_testsets.parquet_tables import is_parquet


def test_a_pipe_with_a_writer_is_read_to_its_end() -> None:
    content = bytes(range(256)) * 4096  # more than a pipe holds
    mine, theirs = os.pipe()  # as a shell gives one for <(command)

    def write() -> None:
        with os.fdopen(theirs, "wb") as pipe:
            pipe.write(content)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        assert file_bytes(Path(f"/dev/fd/{mine}")) == content
    finally:
        os.close(mine)  # ends the writer, if anything is left to write
    writer.join()


@pytest.mark.parametrize("name", ["pipe", "/dev/zero"])
def test_what_would_be_waited_for_or_never_ends_is_refused_by_its_name(
    tmp_path: Path,
    name: str,
) -> None:
    os.mkfifo(tmp_path / "pipe")
    for read in (file_bytes, require_regular):
        with pytest.raises(OSError, match="not a regular file") as failure:
            read(tmp_path / name)
        assert failure.value.filename == str(tmp_path / name)


def test_a_folder_or_a_missing_file_is_reported_in_the_systems_words(
    tmp_path: Path,
) -> None:
    with pytest.raises(IsADirectoryError) as failure:
        file_bytes(tmp_path)
    assert failure.value.filename == str(tmp_path)
    with pytest.raises(FileNotFoundError) as failure:
        file_bytes(tmp_path / "none")
    assert failure.value.filename == str(tmp_path / "none")


def test_a_pipe_of_labels_without_a_writer_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "labels.csv")
    with pytest.raises(TestSetError, match="not a regular file"):
        import_labels(tmp_path / "labels.csv", tmp_path, tmp_path / "out")


def test_a_pipe_as_image_is_refused_by_import_and_by_hashing(tmp_path: Path) -> None:
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    (tmp_path / "labels.csv").write_text("file,label\n1.jpg,7\n")
    os.mkfifo(pictures / "1.jpg")
    with pytest.raises(TestSetError, match="not a regular file"):
        import_labels(tmp_path / "labels.csv", pictures, tmp_path / "out")
    with pytest.raises(OSError, match="not a regular file"):
        sha256_of(pictures / "1.jpg")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"\x93NUMPY\x01\0", "it is a NumPy array; in Python, numpy.savetxt("),
        (b"PK\x03\x04\x14\0", "it is a ZIP archive; unpack it"),
        (b"PK\x03\x04\x14\0[Content_Types].xml", "it is a workbook of Excel or anot"),
        (b"PK\x03\x04\x14\0 manifest.dsse.json", "it is the bundle of a run; `referee"),
        (b"PAR1\x15\0", "it is Parquet; in Python, pandas.read_parquet("),
        (b"\x1f\x8b\x08\0", "it is compressed by gzip; unpack it with gunzip"),
        (b"BZh91AY&SY\xa0", "it is compressed by bzip2; unpack it with bunzip2"),
        (b"%PDF-1.7\n%", "it is a PDF document; save its table as CSV in UTF-8"),
        (b"SQLite format 3\0\x10", "it is an SQLite database; save its table as CSV"),
        (b"\xff\xd8\xff\xe0", "it is a JPEG image; give a file of text"),
        (b"\x80\x04\x95\x03", "it is a pickle of Python"),
        (b"\x1c\0\0\0TFL3\x14\0", "it is no text but a binary file, such as a model"),
    ],
)
def test_a_file_that_is_no_text_is_called_what_it_is(
    tmp_path: Path,
    content: bytes,
    told: str,
) -> None:
    path = tmp_path / "given"
    path.write_bytes(content)
    with pytest.raises(TestSetError) as refused:
        read_text(path)
    assert refused.value.sentence.startswith(f"{path}: {told}")
    assert '"FILE"' not in refused.value.sentence


@pytest.mark.parametrize("name", ["BZh_1", "BZh9", "%PDF_1", "PAR1", "SQLite format 3"])
def test_a_text_that_begins_with_the_letters_of_another_kind_is_read(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / "given"
    path.write_text(f"{name}.jpg,1,0.5\n")
    assert read_text(path) == f"{name}.jpg,1,0.5\n"
    assert not is_parquet(path)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("TRUTH.CSV", "no such file; did you mean {}/truth.csv?"),
        ("other", "no such file; check the path"),
        ("none/truth.csv", "no such file; its folder {}/none is not there, either"),
    ],
)
def test_a_missing_file_is_told_with_the_one_that_may_be_meant(
    tmp_path: Path, given: str, told: str
) -> None:
    (tmp_path / "truth.csv").write_text("x")
    with pytest.raises(TestSetError) as refused:
        read_text(tmp_path / given)
    assert refused.value.sentence == f"{tmp_path / given}: {told.format(tmp_path)}"


def test_a_folder_that_cannot_be_listed_is_not_called_missing(tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("a file")
    assert no_such_file(tmp_path / "folder" / "x") == "no such file; check the path"
