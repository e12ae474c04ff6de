from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_score.detections import (
    MAX_PROBLEMS,
    parse_detections,
    parse_json,
    parse_text,
)
from lpirc_score.detections.parsed_rows import ENOUGH_PROBLEMS, NAMES
from referee.errors import RefereeError

IDS = np.array([1, 2, 20, 90], np.int64)
ROW = [3, 20, 0.5, 1.5, 2, 30, 40.25]
JSON = "application/json"
TEXT = "text/plain"


def parse(
    body: bytes | list[Any],
    content_type: str = JSON,
    images: int = 5,
) -> list[list[float]]:
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    rows = parse_detections(body, content_type, images, IDS)
    assert rows.dtype == np.float64
    assert rows.shape[1:] == (7,)
    return rows.tolist()


def refusal(body: bytes | list[Any], content_type: str = JSON) -> RefereeError:
    with pytest.raises(RefereeError) as failure:
        parse(body, content_type)
    return failure.value


def problems(
    body: bytes | list[Any],
    content_type: str = JSON,
) -> list[tuple[int, str]]:
    failure = refusal(body, content_type)
    assert failure.code == "bad-rows"
    listed: Any = failure.facts["problems"]
    assert failure.facts["total"] >= len(listed)  # type: ignore[operator]
    return [(problem["line"], problem["problem"]) for problem in listed]


numbers = st.floats(-1e6, 1e6) | st.integers(-(10**6), 10**6)
good_rows = st.lists(
    st.tuples(
        st.integers(1, 5),
        st.sampled_from(IDS.tolist()),
        numbers,
        numbers,
        numbers,
    ).map(lambda r: [*r, max(r[3], 0) + 1e6, r[4] + 1]),
    max_size=30,
)


@given(
    good_rows,
    st.sampled_from([" ", "\t", ",", ", ", " ,"]),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
)
def test_json_and_text_mean_the_same(
    rows: list[list[float]],
    blank: str,
    end: str,
) -> None:
    text = end.join(blank.join(map(repr, row)) for row in rows) + end
    assert (
        parse(rows)
        == parse(text.encode(), TEXT)
        == [[float(value) for value in row] for row in rows]
    )


@pytest.mark.parametrize("content_type", [JSON, "Application/JSON; charset=utf-8"])
def test_the_type_may_carry_parameters(content_type: str) -> None:
    assert parse([ROW], content_type) == [ROW]


@pytest.mark.parametrize("body", [b"", b" \n", b"[]", b" [ ] "])
def test_no_rows_are_taken_as_json(body: bytes) -> None:
    assert parse(body) == []


@pytest.mark.parametrize("body", [b"", b"\n", b" \r\n\r\n"])
def test_no_rows_are_taken_as_text(body: bytes) -> None:
    assert parse(body, TEXT) == []


def test_negative_and_fractional_corners_and_any_confidence_are_taken() -> None:
    assert parse([[1, 1, -7e10, -5, -0.25, -5, 0]]) == [[1, 1, -7e10, -5, -0.25, -5, 0]]


@pytest.mark.parametrize(
    "content_type",
    ["", "multipart/form-data", "text/html", "json"],
)
def test_other_types_are_not_understood(content_type: str) -> None:
    assert refusal(b"[]", content_type).code == "unsupported-media-type"


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[[1,2",
        b"[] []",
        b"{}",
        b"7",
        b'"rows"',
        b"null",
        b"\xff\xfe[\x00]\x00",
        "[]".encode("utf-16-le"),
        b"\x80\x81",
        b"[" * 200_000,
        b"[" * 200_000 + b"]" * 200_000,
        b"[[" + b"9" * 5000 + b"]]",
        b"\xef\xbb\xbf[]",
        b"[[1,2,3,4,5,6,07]]",
    ],
    ids=lambda body: repr(body[:12]),
)
def test_what_is_no_json_array_is_refused_in_one_sentence(body: bytes) -> None:
    failure = refusal(body)
    assert failure.code == "bad-json"
    assert "\n" not in failure.sentence


def test_of_a_json_array_no_more_is_decoded_than_the_problems_that_are_counted() -> (
    None
):
    many = refusal(b"[" + b"[]," * 20_000 + b"and so on")
    assert many.code == "bad-rows"
    assert many.facts["total"] == ENOUGH_PROBLEMS


@pytest.mark.parametrize("blank", [b" ", b"\n\t\r "])
def test_json_that_is_not_regular_is_read_row_by_row(blank: bytes) -> None:
    body = blank.join(
        [
            b"",
            b"[",
            b"[1,1,NaN,1,1,2,2]",
            b",",
            b'["]",1,1,1,1,2,2]',
            b",",
            b"5",
            b",",
            b"{}",
            b"]",
            b"",
        ]
    )
    assert [line for line, _ in problems(body)] == [1, 2, 3, 4]


@pytest.mark.parametrize("bad", ["1", True, None, [1], {}, "", "NaN"])
@pytest.mark.parametrize("column", [0, 2, 6])
def test_only_numbers_are_numbers(
    bad: object,
    column: int,
) -> None:
    ((line, problem),) = problems([ROW, [*ROW[:column], bad, *ROW[column + 1 :]]])
    words = {True: "true", None: "null"}
    shown = words[bad] if bad is True or bad is None else repr(bad)
    assert line == 2
    assert problem.startswith(f"{NAMES[column]}: {shown} is not a number")


@pytest.mark.parametrize("bad", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_json_numbers_must_be_finite(bad: str) -> None:
    ((line, problem),) = problems(b"[[1, 1, %s, 1, 1, 2, 2]]" % bad.encode())
    assert line == 1
    assert problem.startswith(f"confidence is {float(bad)}")


def test_whole_numbers_beyond_doubles_are_named_and_cut() -> None:
    ((_, problem),) = problems([[1, 1, 10**400, 1, 1, 2, 2]])
    assert problem.endswith("... is too large for a number")


@pytest.mark.parametrize("row", [[], [1], ROW[:6], [*ROW, 1]])
def test_rows_have_seven_numbers(row: list[float]) -> None:
    ((line, problem),) = problems([ROW, row, ROW])
    assert line == 2
    assert f"but this one has {len(row)}" in problem


@pytest.mark.parametrize("row", [7, "row", None, {"image": 1}])
def test_rows_are_lists(row: object) -> None:
    columns = "image, category, confidence, xmin, ymin, xmax, ymax"
    words = f"a row is a list of seven numbers ({columns}), not {row!r}"
    assert problems([row]) == [(1, words)]


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        (0, 0, "image 0 is not a whole number in 1..5"),
        (0, 6, "image 6 is not"),
        (0, 1.5, "image 1.5 is not"),
        (0, -1, "image -1 is not"),
        (0, 1e300, "image 1e+300 is not"),
        (1, 3, "category 3 is unknown"),
        (1, 1.5, "category 1.5 is unknown"),
        (1, 91, "category 91 is unknown"),
        (1, 0, "category 0 is unknown; the ids are "),
        (5, 1.25, "the box 1.5, 2, 1.25, 40.25 is inverted"),
        (6, 1, "the box 1.5, 2, 30, 1 is inverted"),
    ],
)
@pytest.mark.parametrize("content_type", [JSON, TEXT])
def test_values_are_checked_and_named(
    column: int,
    value: float,
    words: str,
    content_type: str,
) -> None:
    bad = [*ROW[:column], value, *ROW[column + 1 :]]
    text = "\n".join(" ".join(map(str, row)) for row in (ROW, bad)).encode()
    ((line, problem),) = problems(
        [ROW, bad] if content_type == JSON else text,
        content_type,
    )
    assert line == 2
    assert problem.startswith(words)


def test_every_problem_of_every_row_is_told_in_order() -> None:
    body = [
        [0, 3, 1, 9, 1, 2, 2],
        ROW,
        [1],
        [9, 1, 1, 1, 1, 2, 2],
        ["x", 1, 1, 1, 1, 1, 1],
    ]
    assert [line for line, _ in problems(body)] == [1, 1, 1, 3, 4, 5]
    assert refusal(body).facts["total"] == 6


def test_at_most_twenty_problems_are_told_and_all_are_counted() -> None:
    failure = refusal([ROW] + [[1]] * 30 + [[99, 1, 1, 1, 1, 2, 2]] * 30)
    listed: Any = failure.facts["problems"]
    assert [problem["line"] for problem in listed] == list(range(2, 2 + MAX_PROBLEMS))
    assert failure.facts["total"] == 60
    assert "59 more" in failure.sentence
    json.dumps(failure.facts)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"1 1 0.5 1 1 2", "but this one has 6"),
        (b"1 1 0.5 1 1 2 2 2", "but this one has 8"),
        (b"1,1,,0.5,1,1,2,2", "but this one has 8"),
        (b"1,1,,1,1,2,2", "'' is not a number"),
        (b",1,0.5,1,1,2,2", "'' is not a number"),
        (b"1,1,0.5,1,1,2,2,", "but this one has 8"),
        (b"1 1 0.5 1 1 2 2-2", "'2-2' is not a number"),
        (b"1 1 0.5 1 1 2 1_0", "'1_0' is not a number"),
        (b"1 1 0.5 1 1 2 0x2", "'0x2' is not a number"),
        ("1 1 0.5 1 1 2 ٢".encode(), "'٢' is not a number"),
        (b"1 1 nan 1 1 2 2", "confidence is nan"),
        (b"1 1 -inf 1 1 2 2", "confidence is -inf"),
        (b"image,class,confidence,xmin,ymin,xmax,ymax", "'image' is not a number"),
        (b"\xff\xfe1", "but this one has 1"),
        (b"[[1,1,1,1,1,2,2]]", "'[[1' is not a number"),
        (b"1 1 0.5 1 1 2 2\x00", "is not a number"),
    ],
)
def test_text_lines_are_read_strictly(
    line: bytes,
    words: str,
) -> None:
    ((number, problem),) = problems(
        b"1 1 0.5 1 1 2 2\n\n" + line + b"\r\n1 1 0.5 1 1 2 2\n",
        TEXT,
    )
    assert number == 3
    assert words in problem


def test_lines_are_counted_with_the_blank_ones() -> None:
    assert problems(b"\n\n0 1 0.5 1 1 2 2", TEXT)[0][0] == 3


@given(st.binary(max_size=80), st.sampled_from([JSON, TEXT]))
def test_garbage_is_refused_or_empty_and_never_a_defect(
    body: bytes,
    content_type: str,
) -> None:
    with suppress(RefereeError):  # anything else is a defect
        assert parse(body, content_type) == [] or body.strip()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=8)
        | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
)


@given(json_values)
def test_any_json_is_refused_or_holds_rows(value: object) -> None:
    with suppress(RefereeError):
        assert parse(json.dumps(value).encode()) == value


def test_parsers_alone_tell_lines_and_leave_the_checks() -> None:
    assert list(parse_json(b"[[9,9,9,9,9,9,9]]").lines) == [1]
    assert list(parse_text(b"\n9 9 9 9 9 9 9\n").lines) == [2]


def test_no_categories_means_none_is_known() -> None:
    with pytest.raises(RefereeError, match="category 1 is unknown"):
        parse_detections(b"[[1,1,1,1,1,1,1]]", JSON, 1, np.empty(0, np.int64))
