"""Every kind of body means the same, and reading it quickly gives what reading it patiently gives."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from urllib.parse import quote_plus

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_score.detections import (
    Rows,
    parse_detections,
    parse_form,
    parse_json,
    parse_packed,
    parse_text,
)
from referee.errors import RefereeError
from tests.scoring.detections.detection_bodies import (
    FIELDS,
    FORM,
    JSON,
    PACKED,
    TEXT,
    bodies,
    form,
    number,
    read_json,
    read_text,
    small_pieces,
)

IDS = np.array([1, 2, 20, 90], np.int64)
ROW = [3, 20, 0.5, 1.5, 2, 30, 40.25]
MIB = 2**20

floats = st.floats(-1e6, 1e6, width=32)
some_rows = st.lists(st.tuples(*[floats] * 7), max_size=12)
# Tokens that a quick reader could take for something else.
TOKENS = [
    "1",
    "0",
    "-0",
    "2.5",
    "-3",
    "1e3",
    "1E-2",
    "12.",
    ".5",
    "+1",
    "007",
    "1e+05",
    "9" * 30,
    "1e400",
    "1e",
    "-",
]
TOKENS += [
    "2-2",
    "1.2.3",
    "nan",
    "inf",
    "0x1",
    "1_0",
    "null",
    "true",
    "[1]",
    '"1"',
    "٢",
    "é",
    "",
    "1e-400",
    "5e-324",
]
tokens = st.sampled_from(TOKENS) | st.floats().map(repr) | st.integers().map(str)
plain_tokens = st.sampled_from(TOKENS[:7]) | floats.map(repr)
lines = st.lists(plain_tokens, min_size=7, max_size=7) | st.lists(tokens, max_size=8)
separators = st.sampled_from([" ", ",", "\t", ", ", "  ", " ,", ",,"])


def values(parse: Callable[[bytes], Rows], body: bytes) -> list[list[float]] | None:
    """What a parser reads; None when it finds fault."""
    try:
        rows = parse(body)
    except RefereeError:
        return None
    return None if rows.unreadable.total else rows.values.tolist()


def same(found: list[list[float]] | None, expected: list[list[float]] | None) -> bool:
    if found is None or expected is None:
        return found is expected
    shape = (-1, 7)
    return np.array_equal(
        np.reshape(found, shape),
        np.reshape(expected, shape),
        equal_nan=True,
    )


def refusal(
    body: bytes,
    kind: str,
) -> RefereeError:
    with pytest.raises(RefereeError) as failure:
        parse_detections(body, kind, 5, IDS)
    assert "\n" not in failure.value.sentence
    return failure.value


def problems(
    body: bytes,
    kind: str = FORM,
) -> list[tuple[int, str]]:
    failure = refusal(body, kind)
    assert failure.code == "bad-rows"
    return [(one["line"], one["problem"]) for one in failure.facts["problems"]]  # type: ignore[attr-defined]


@given(some_rows, st.booleans())
def test_all_kinds_mean_the_same(
    rows: list[tuple[float, ...]],
    in_pieces: bool,
) -> None:
    with small_pieces() if in_pieces else nullcontext():
        parsers = {
            JSON: parse_json,
            TEXT: parse_text,
            FORM: parse_form,
            PACKED: parse_packed,
        }
        for kind, body in bodies(rows).items():
            assert same(values(parsers[kind], body), [list(row) for row in rows]), kind


@given(
    st.lists(lines, max_size=6),
    separators,
    st.sampled_from(["\n", "\r\n", "\r", "\n\n", " \n"]),
    st.booleans(),
)
def test_text_is_read_as_by_a_patient_reader(
    rows: list[list[str]],
    separator: str,
    end: str,
    in_pieces: bool,
) -> None:
    body = end.join(separator.join(row) for row in rows).encode()
    with small_pieces() if in_pieces else nullcontext():
        assert same(values(parse_text, body), read_text(body))


@given(st.text("0123456789.,-+eE \t\n", max_size=60), st.booleans())
def test_any_text_of_numbers_characters_is_read_as_by_a_patient_reader(
    text: str,
    in_pieces: bool,
) -> None:
    with small_pieces() if in_pieces else nullcontext():
        assert same(values(parse_text, text.encode()), read_text(text.encode()))


@given(
    st.lists(lines, max_size=6),
    st.sampled_from(["],[", "] ,\n[", "],,[", "]["]),
    st.booleans(),
)
def test_json_is_read_as_by_a_patient_reader(
    rows: list[list[str]],
    between: str,
    in_pieces: bool,
) -> None:
    body = ("[[" + between.join(",".join(row) for row in rows) + "]]").encode()
    with small_pieces() if in_pieces else nullcontext():
        assert same(values(parse_json, body), read_json(body))


@pytest.mark.parametrize("blanks", [0, 1, 2**16])
def test_an_array_of_nothing_but_blanks_has_no_rows(blanks: int) -> None:
    assert parse_json(b"[" + b" \n" * blanks + b"]").values.shape == (0, 7)


@given(st.text('0123456789.,-+eE[] \n"', max_size=60), st.booleans())
def test_any_brackets_and_numbers_are_read_as_by_a_patient_reader(
    text: str,
    in_pieces: bool,
) -> None:
    body = b"[" + text.encode() + b"]"
    with small_pieces() if in_pieces else nullcontext():
        assert same(values(parse_json, body), read_json(body))


def read_columns(columns: Sequence[Sequence[str]]) -> list[list[float]] | None:
    try:
        read = [[number(value.strip()) for value in column] for column in columns]
    except ValueError:
        return None
    return [list(row) for row in zip(*read, strict=True)]


@given(
    st.data(),
    st.integers(1, 6),
    st.sampled_from([quote_plus, str]),
    st.sampled_from(["by row", "by list", "by row alone"]),
    st.booleans(),
)
def test_a_form_is_read_as_by_a_patient_reader(
    data: st.DataObject,
    count: int,
    escape: Callable[[str], str],
    order: str,
    in_pieces: bool,
) -> None:
    columns = data.draw(
        st.lists(
            st.lists(plain_tokens | tokens, min_size=count, max_size=count),
            min_size=7,
            max_size=7,
        )
    )
    pairs = [
        (name, value)
        for name, column in zip(FIELDS, columns, strict=True)
        for value in column
    ]
    if order != "by list":
        pairs = [
            (name, column[i])
            for i in range(count)
            for name, column in zip(FIELDS, columns, strict=True)
        ]
    fields = [f"{name}={escape(value)}" for name, value in pairs]
    body = "&".join(
        fields if order == "by row alone" else ["token=a.b", *fields, "more"]
    ).encode()
    if escape is str:  # a plus is a blank
        columns = [[value.replace("+", " ") for value in column] for column in columns]
    with small_pieces() if in_pieces else nullcontext():
        assert same(values(parse_form, body), read_columns(columns))


def test_an_image_may_be_named_as_a_file() -> None:
    rows = [[f"{image}.jpg", *ROW[1:]] for image in (3, 1, 5)]
    interleaved = b"&".join(form([row]) for row in rows)
    for body in (
        form(rows, token="x%=+y"),
        form(rows),
        interleaved,
        form(rows).replace(b".", b"%2E"),
    ):
        assert parse_detections(body, FORM, 5, IDS)[:, 0].tolist() == [3, 1, 5]
    assert problems(form([["3.jpg3", *ROW[1:]]])) == [
        (1, "image_name: '3.jpg3' is not a number")
    ]
    assert problems(form([[".jpg", *ROW[1:]]])) == [
        (1, "image_name: '' is not a number")
    ]
    assert problems(form([[3, "20.jpg", *ROW[2:]]])) == [
        (1, "CLASS_ID: '20.jpg' is not a number")
    ]


def test_the_lists_of_a_form_may_come_in_any_order_among_others() -> None:
    rows = [ROW, [1, 2, -7, 0, 0, 0, 0]]
    fields = form(rows).decode().split("&")
    by_name = sorted(fields, key=lambda field: field.partition("=")[0])
    for body in (
        "&".join(by_name),
        "&".join(["a=1", *by_name[:5], "&", "b", *by_name[5:], "z"]),
    ):
        assert parse_detections(body.encode(), FORM, 5, IDS).tolist() == rows
    assert (
        parse_detections("&".join(reversed(fields)).encode(), FORM, 5, IDS).tolist()
        == rows[::-1]
    )


def test_a_name_that_only_looks_like_one_of_the_seven_is_not_taken_for_it() -> None:
    row = form([ROW])
    for name, other in (
        (b"xmin", b"xmine"),
        (b"xmin", b"xm.in"),
        (b"CLASS_ID", b"CLASS_ID2"),
    ):
        code = refusal(row.replace(name, other) + b"&" + row, FORM).code
        assert code == "length-mismatch"
    swapped = (
        row.replace(b"xmin", b"?").replace(b"ymin", b"xmin").replace(b"?", b"ymin")
    )
    assert parse_detections(swapped, FORM, 5, IDS).tolist() == [
        [*ROW[:3], ROW[4], ROW[3], *ROW[5:]]
    ]


def test_escaped_names_are_names() -> None:
    assert parse_detections(
        form([ROW]).replace(b"xmin", b"%78min"),
        FORM,
        5,
        IDS,
    ).tolist() == [ROW]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            b"image,class,confidence,xmin,ymin,xmax,ymax\n1,1,.5,0,0,5,5\n",
            "line 1: it is",
        ),
        (b'\n"image_id" c s a b c d\r\n1 1 .5 0 0 5 5\n', "line 2: it is"),
        (b"image\n" + b"1 1 .5 0 0 5 5\n" * 99_999, "line 1: it is"),
        (b"1 1 .5 0 0 5 5\nimage\n", "line 2: a row needs seven numbers"),
        (b"1 1 x 0 0 5 5\n", "line 1: confidence: 'x' is not a number"),
    ],
)
def test_a_header_is_refused_as_one(body: bytes, told: str) -> None:
    failure = refusal(body, "text/csv")
    assert failure.code == "bad-rows"
    header = " a header; send the rows without it" if told.endswith("it is") else ""
    assert failure.sentence.startswith(f"Nothing was stored: {told}{header}")
    assert failure.facts["total"] == 1


@pytest.mark.parametrize("body", [b"", b"&", b"token=abc", b"token=a%2Bb&"])
def test_a_form_without_lists_has_no_rows(body: bytes) -> None:
    assert parse_detections(body, FORM, 5, IDS).shape == (0, 7)


@pytest.mark.parametrize(
    "body",
    [b"1 1 .5 0 0 5 5\n", b"[[1,1,.5,0,0,5,5]]", b"image=1", b"token=x&class_id=3"],
)
def test_what_is_no_form_of_detections_is_not_taken_for_none(body: bytes) -> None:
    failure = refusal(body, FORM)
    assert failure.code == "length-mismatch"
    assert "none of the lists" in failure.sentence


def test_unequal_lists_are_told_by_their_lengths() -> None:
    failure = refusal(
        form([ROW] * 2).replace(b"&ymax=40.25", b"", 1) + b"&CLASS_ID=1",
        FORM,
    )
    assert failure.code == "length-mismatch"
    assert (
        "2 image_name, 3 CLASS_ID, 2 confidence, 2 xmin, 2 ymin, 2 xmax, 1 ymax"
        in failure.sentence
    )
    with small_pieces():
        assert refusal(form([ROW] * 9)[:-12], FORM).code == "length-mismatch"


def test_what_is_wrong_in_a_form_is_told_by_row_and_list() -> None:
    rows = [
        ROW,
        [3, "cat", *ROW[2:]],
        [9, *ROW[1:]],
        [3, 20, "nan", *ROW[3:]],
        [3, 20, "1,2", *ROW[3:]],
    ]
    told = [
        (2, "CLASS_ID: 'cat' is not a number"),
        (3, "image 9 is not a whole number in 1..5"),
        (4, "confidence is nan; only finite numbers are allowed"),
        (5, "confidence: '1,2' is not a number; write 1.2"),
    ]
    assert problems(form(rows)) == told
    with small_pieces():
        assert problems(form(rows)) == told


def test_packed_rows_are_float32_in_little_endian_order() -> None:
    assert parse_packed(bytes.fromhex("0000803f") * 7).values.tolist() == [[1.0] * 7]
    assert parse_packed(b"").values.shape == (0, 7)


@pytest.mark.parametrize("extra", [1, 27])
def test_a_packed_body_that_was_cut_is_told_by_its_last_row(extra: int) -> None:
    told = problems(np.array([ROW] * 2, "<f4").tobytes() + b"x" * extra, PACKED)
    assert told == [(3, f"a packed row is 28 bytes, the last one has {extra}")]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_packed_numbers_must_be_finite(bad: float) -> None:
    body = np.array([ROW, [*ROW[:5], bad, ROW[6]]], "<f4").tobytes()
    assert problems(body, PACKED) == [
        (2, f"xmax is {bad}; only finite numbers are allowed")
    ]


def test_an_id_that_float32_cannot_tell_from_its_neighbour_is_refused() -> None:
    ids = np.array([2**24 - 1, 2**24, 2**24 + 1], np.int64)
    body = np.array([[1, one, *ROW[2:]] for one in ids], "<f4").tobytes()
    with pytest.raises(RefereeError) as failure:
        parse_detections(body, PACKED, 5, ids)
    told = failure.value.facts["problems"]
    assert [one["line"] for one in told] == [2, 3]  # type: ignore[attr-defined]
    for kind in (JSON, TEXT, FORM):
        body = bodies([[1, int(one), *ROW[2:]] for one in ids])[kind]
        assert parse_detections(body, kind, 5, ids)[:, 1].tolist() == ids.tolist()


def test_lines_are_counted_across_pieces() -> None:
    text = b"3 20 .5 1.5 2 30 40.25\n" * 7 + b"\n9 1 1 1 1 2 2\n\nx\n"
    with small_pieces():
        assert [line for line, _ in problems(text, TEXT)] == [9, 11]
        body = json.dumps([ROW] * 8 + [[9, *ROW[1:]], ROW[:6], ROW]).encode()
        assert [line for line, _ in problems(body, JSON)] == [9, 10]


KIB = 2**10
BOMBS = {
    "one line": (TEXT, b"1 " * 128 * KIB),
    "blanks": (TEXT, b" " * 256 * KIB),
    "short lines": (TEXT, b"x\n" * 128 * KIB),
    "bytes": (TEXT, bytes(range(256)) * KIB),
    "utf-16": (TEXT, ("1 1 .5 1 1 2 2\n" * 8 * KIB).encode("utf-16")),
    "deep": (JSON, b"[" * 256 * KIB),
    "deep and closed": (JSON, b"[" * 128 * KIB + b"]" * 128 * KIB),
    "empty rows": (JSON, b"[" + b"[]," * 80 * KIB + b"[]]"),
    "numbers": (JSON, b"[" + b"1," * 128 * KIB + b"1]"),
    "objects": (JSON, b"[" + b"{}," * 80 * KIB + b"{}]"),
    "rows of objects": (JSON, b"[" + b"[{},{},{},{},{},{},{}]," * 11 * KIB + b"[]]"),
    "huge number": (JSON, b"[[" + b"9" * 256 * KIB + b"]]"),
    "long string": (JSON, b'["' + b"a" * 256 * KIB + b'"]'),
    "utf-16 rows": (JSON, ("[[1,1,1,1,1,2,2]]" * 7 * KIB).encode("utf-16")),
    "ampersands": (FORM, b"&" * 256 * KIB),
    "other fields": (FORM, b"a=1&" * 64 * KIB),
    "escaped fields": (FORM, b"%61=1&" * 42 * KIB),
    "one escape": (FORM, b"%31" * 85 * KIB),
    "escaped value": (FORM, b"xmin=" + b"%31" * 85 * KIB),
    "long names": (FORM, (b"x" * 100_000 + b"=1&") * 2),
    "one list": (FORM, b"xmin=1&" * 36 * KIB),
    "no numbers": (FORM, b"&".join(name.encode() + b"=x" for name in FIELDS * 4 * KIB)),
    "not finite": (PACKED, b"\xff" * 28 * 9 * KIB),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_without_taking_much_memory(name: str) -> None:
    kind, body = BOMBS[name]
    tracemalloc.start()
    try:
        assert refusal(body, kind).code in ("bad-rows", "bad-json", "length-mismatch")
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Lists of Python objects are what takes memory: a body of 4 MiB never takes more than 160 MiB.
    assert most_bytes < 40 * len(body) + MIB


def test_a_body_with_very_many_problems_is_read_no_further() -> None:
    failure = refusal(b"x\n" * 50_000, TEXT)
    assert 10_000 <= failure.facts["total"] < 50_000  # type: ignore[operator]


@given(
    st.binary(max_size=200),
    st.sampled_from([JSON, TEXT, FORM, PACKED]),
    st.booleans(),
)
def test_garbage_is_refused_or_empty_and_never_a_defect(
    body: bytes,
    kind: str,
    in_pieces: bool,
) -> None:
    with small_pieces() if in_pieces else nullcontext():
        try:
            assert len(parse_detections(body, kind, 5, IDS)) == 0
        except RefereeError as failure:
            assert failure.code in ("bad-rows", "bad-json", "length-mismatch")  # noqa: PT017 - either may be
