"""A refused body says what it seems to be: compressed, of another type, in another order of bytes or columns."""

from __future__ import annotations

import gzip
import io
import json

import numpy as np
import pytest

from lpirc_score.detections.bodies import parse_detections
from lpirc_score.errors import CodedError

IDS = np.array([1, 3, 7])
ROWS = [[1.0, 3.0, 0.5, 10.0, 20.0, 30.0, 40.0], [2.0, 7.0, 0.25, 1.0, 2.0, 3.0, 4.0]]
ARRAY = np.array(ROWS)
TEXT = b"1 3 0.5 10 20 30 40\n2 7 0.25 1 2 3 4\n"
JSON = json.dumps(ROWS).encode()
PACKED = "application/octet-stream"
FORM = "application/x-www-form-urlencoded"


def refusal(body: bytes, kind: str) -> CodedError:
    with pytest.raises(CodedError) as caught:
        parse_detections(body, kind, 5, IDS)
    return caught.value


def numpy_file() -> bytes:
    file = io.BytesIO()
    np.save(file, ARRAY.astype("<f4"))
    return file.getvalue()


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (gzip.compress(JSON, mtime=0), "application/json", "compressed by gzip"),
        (gzip.compress(ARRAY.tobytes(), mtime=0), PACKED, "compressed by gzip"),
        (numpy_file(), PACKED, "rows.astype('<f4').tobytes()"),
        (TEXT.decode().encode("utf-16"), "text/plain", "seems to be UTF-16"),
        (b"\xef\xbb\xbf" + TEXT, "text/plain", "byte order mark"),
        (ARRAY.astype("<f4").tobytes(), "text/plain", f"Content-Type: {PACKED}"),
        (ARRAY.astype("<f4").tobytes(), "application/json", f"Content-Type: {PACKED}"),
        (JSON, "text/csv", "Content-Type: application/json"),
        (JSON, FORM, "Content-Type: application/json"),
        (JSON, PACKED, "Content-Type: application/json"),
        (TEXT, "application/json", "Content-Type: text/plain"),
        (TEXT.replace(b" ", b","), "application/json", "Content-Type: text/plain"),
        (TEXT, FORM, "Content-Type: text/plain"),
        (TEXT, PACKED, "Content-Type: text/plain"),
        (b"image=1&class=3&confidence=1&xmin=1", FORM, "'image, class', which is not"),
        (b"image_name[]=1&CLASS_ID[]=3", FORM, "'image_name[], CLASS_ID[]', which"),
        (b"[1, 3, 0.5, 10, 20, 30, 40]", "application/json", "a list of rows"),
        (TEXT.replace(b" ", b";"), "text/csv", "by commas or blanks"),
        (
            TEXT.replace(b" ", b";").replace(b".", b","),
            "text/csv",
            "decimal points",
        ),
        (ARRAY.astype(">f4").tobytes(), PACKED, "Read as big-endian float32"),
        (ARRAY.astype("<f8").tobytes(), PACKED, "Read as float64"),
        (ARRAY.astype("<i4").tobytes(), PACKED, "Read as int32"),
        (ARRAY.astype("<f2").tobytes(), PACKED, "Read as float16"),
        (ARRAY.astype("<f4").T.tobytes(), PACKED, "one column after the other"),
    ],
)
def test_a_refused_body_says_what_it_seems_to_be(
    body: bytes, kind: str, words: str
) -> None:
    assert words in refusal(body, kind).sentence


def test_what_a_body_seems_to_be_leaves_code_and_problems_as_they_are() -> None:
    told = refusal(TEXT.replace(b" ", b";"), "text/csv")
    assert told.code == "bad-rows"
    assert told.facts["total"] == 2
    assert refusal(TEXT, FORM).code == "length-mismatch"
    assert refusal(TEXT, "application/json").code == "bad-json"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"hello", "text/plain"),
        (b"{}", "application/json"),
        (b"x" * 56, PACKED),
        (b"x" * 29, PACKED),
        (b"1 99 0.5 0 0 5 5", "text/plain"),
        (b"[[1, 99, 0.5, 0, 0, 5, 5]]", "application/json"),
        (np.array([[1, 99, 0.5, 0, 0, 5, 5]], "<f4").tobytes(), PACKED),
    ],
)
def test_nothing_is_guessed_where_nothing_is_plausible(body: bytes, kind: str) -> None:
    sentence = refusal(body, kind).sentence
    for word in ("seems", "Read as", "Separate", "list of rows:"):
        assert word not in sentence


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([1, 2, 3], "category 99 is unknown; the ids are 1 to 3."),
        ([1, 3, 7], "category 99 is unknown; the ids are 1, 3, 7."),
        ([*range(2, 90, 2)], "the 44 ids are 2, 4, 6, 8, 10, ... 88."),
        ([], "category 99 is unknown."),
        ([*range(99)], "the ids are 0 to 98; if yours begin with 1, subtract 1 from "),
    ],
)
def test_an_unknown_category_is_told_which_ids_there_are(
    ids: list[int], words: str
) -> None:
    with pytest.raises(CodedError) as caught:
        parse_detections(b"1 99 0.5 0 0 5 5", "text/plain", 5, np.array(ids, np.int64))
    assert words in caught.value.sentence


def test_a_number_in_quotes_is_told_to_lose_them() -> None:
    told = refusal(b'[["1", 3, 0.5, 0, 0, 5, 5]]', "application/json")
    assert "image: '1' is not a number; write numbers without quotes" in told.sentence


@pytest.mark.parametrize("kind", ["application/json", "text/csv", PACKED, FORM])
@pytest.mark.parametrize("blank", [b" ", b", ", b";\t", b"\n", b"1 ", b"e", b"[ "])
def test_a_refusal_of_any_length_ends_at_once(kind: str, blank: bytes) -> None:
    """A pattern whose time grows with the square of the blanks let one team stall a worker for 40 s."""
    body = b"1" + blank * (2**20 // len(blank)) + b"x"
    assert refusal(body, kind).code
