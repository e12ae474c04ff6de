"""The stand-alone verifier reads bodies as the referee does, also those that no client of ours writes."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from referee.errors import RefereeError
from referee.evidence.recomputed_run import rows_of
from tests.referee.evidence.proved import second_verifier

BODIES = second_verifier("verify_bodies")
IMAGES = 5
CATEGORIES = {1, 2}
TEXT = "text/plain"
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=XX"
FIELDS = "image_name=1&CLASS_ID=1&confidence=.5&xmin=1&ymin=2&xmax=3&ymax=4"
ROW = [1, 1, 0.5, 1, 2, 3, 4]


def multipart(header: str) -> bytes:
    fields = [field.split("=") for field in FIELDS.split("&")]
    parts = [f"--XX\r\n{header % name}\r\n\r\n{value}\r\n" for name, value in fields]
    return "".join([*parts, "--XX--\r\n"]).encode()


TAKEN = [
    (" 1 , 1\t.5,1 ,2 3 4. \r\r\n\n", TEXT, [ROW], 0),
    ("1\xa01 +5e-1 1\x0b2 03 4\x0c", TEXT, [ROW], 0),
    ("[[1.0, 1, 0.5, 1, 2, 3, 4]]", JSON, [ROW], 0),
    (" \n", JSON, [], 0),
    (FIELDS, FORM, [ROW], 0),
    (f"&&{FIELDS}&", FORM, [ROW], 0),
    (FIELDS.replace(".5", "+%2B.5%0A").replace("CLASS", "%43LASS"), FORM, [ROW], 0),
    (FIELDS.replace("=1&", "=a%5Cb/1.JPeG%20&", 1), FORM, [ROW], 0),
    (FIELDS.replace("=1&", "=1.jpg.jpg&", 1), FORM, [], 1),
    (FIELDS.replace("=1&", "=&", 1), FORM, [], 1),
    (FIELDS.replace("xmax=3", "xmax=-3"), FORM, [[1, 1, 0.5, 1, 2, -3, 4]], 0),
    (f"{FIELDS}&xmin=5", FORM, [ROW], 1),
    ("xmin=1&ymin=2", FORM, [], 1),
    ("token=a", FORM, [], 0),
    ("image_name", FORM, [], 1),
    ("other=1", FORM, [], 1),
    (multipart('Content-Disposition: form-data; name="%s"'), MULTIPART, [ROW], 0),
    (
        multipart("Content-Type: text/plain\r\ncontent-disposition:form-data; name=%s"),
        MULTIPART,
        [ROW],
        0,
    ),
    (multipart('Content-Disposition: form-data;\r\n\tname="%s"'), MULTIPART, [ROW], 0),
    (
        multipart('Content-Disposition: form-data; name="%s"; filename="a"'),
        MULTIPART,
        [],
        0,
    ),
]
REFUSED = [
    *(
        (text, TEXT)
        for text in (
            "1,1,.5,1,2,3,4,",
            "1,,1,.5,1,2,3,4",
            "1;1;.5;1;2;3;4",
            ",",
            "\ufeff1 1 .5 1 2 3 4",
        )
    ),
    *(
        (text, TEXT)
        for text in (
            "1 1 1_0 1 2 3 4",
            "1 1 inf 1 2 3 4",
            "1 1 .5 3 2 1 4",
            "\u0661 1 .5 1 2 3 4",
        )
    ),
    *(
        (f"[[{values},1,0.5,1,2,3,4]]", JSON)
        for values in ("true", "1.5", "9", "NaN", '"1"', f"1{'0' * 400}", "")
    ),
    *(
        ("\ufeff[[1,1,0.5,1,2,3,4]]", JSON),
        ("[[1,1,0.5,1,2,3,4],]", JSON),
        ("{}", JSON),
    ),
    *(
        (FIELDS.replace("&", ";"), FORM),
        (f"{FIELDS}&image_name=2", FORM),
    ),
]


def test_neither_takes_an_id_that_float32_may_have_rounded() -> None:
    packed = "application/octet-stream"
    for category, is_taken in ((2.0**24 - 1, True), (2.0**24, False)):
        body = np.array([1, category, 0.5, 1, 2, 3, 4], "<f4").tobytes()
        categories = {2**24 - 1, 2**24}
        post = {
            "kind": "body",
            "content_type": packed,
            "refused": 0,
            "sha256": hashlib.sha256(body).hexdigest(),
        }
        if is_taken:
            assert (
                len(rows_of(body, packed, IMAGES, np.array(sorted(categories)))[0]) == 1
            )
            assert len(BODIES.accepted_rows(post, body, IMAGES, categories)) == 1
            continue
        with pytest.raises(RefereeError):
            rows_of(body, packed, IMAGES, np.array(sorted(categories)))
        with pytest.raises(Exception, match="float32 may have rounded"):
            BODIES.accepted_rows(post, body, IMAGES, categories)


def by_second(
    body: bytes,
    content_type: str,
    refused: int,
) -> list[list[float]]:
    post = {
        "kind": "body",
        "content_type": content_type,
        "refused": refused,
    }
    post["sha256"] = hashlib.sha256(body).hexdigest()
    return [[*row] for row in BODIES.accepted_rows(post, body, IMAGES, CATEGORIES)]


@pytest.mark.parametrize(("text", "content_type", "rows", "refused"), TAKEN)
def test_both_take_the_same_rows(
    text: str | bytes,
    content_type: str,
    rows: list[object],
    refused: int,
) -> None:
    body = text if isinstance(text, bytes) else text.encode()
    mine, left = rows_of(body, content_type, IMAGES, np.array([*CATEGORIES]))
    assert mine.tolist() == rows
    assert left.total == refused
    assert by_second(body, content_type, refused) == rows


@pytest.mark.parametrize(("text", "content_type"), REFUSED)
def test_what_the_referee_would_never_take_neither_takes(
    text: str,
    content_type: str,
) -> None:
    with pytest.raises(RefereeError):
        rows_of(text.encode(), content_type, IMAGES, np.array([*CATEGORIES]))
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever comes of it, the item fails
        by_second(text.encode(), content_type, 0)
