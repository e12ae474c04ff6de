"""Conditions and ranges mean what RFC 9110 says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.errors import RefereeError
from referee.web.conditions import Selection, select

TAG = '"abc"'
WHOLE = Selection(200, 0, 10)


def chosen(size: int = 10, method: str = "GET", **headers: str) -> Selection:
    return select({"REQUEST_METHOD": method} | {f"HTTP_{k}": v for k, v in headers.items()}, TAG, size)


def refused(**headers: str) -> str:
    with pytest.raises(RefereeError) as error:
        chosen(**headers)
    return error.value.code


def test_a_post_has_no_conditions() -> None:
    assert chosen(method="POST", IF_NONE_MATCH="*", IF_MATCH='"other"', RANGE="bytes=0-0") == WHOLE


@pytest.mark.parametrize(
    ("asked", "start", "stop"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=2-4", 2, 5),
        ("bytes=2-", 2, 10),
        ("bytes=9-9", 9, 10),
        ("bytes=0-99", 0, 10),
        ("bytes=-3", 7, 10),
        ("bytes=-99", 0, 10),
        ("bytes = 1-2", 1, 3),
        ("BYTES=1-2", 1, 3),
        ("bytes=0-99999999999999999999", 0, 10),
    ],
)
def test_a_single_range_is_that_part(asked: str, start: int, stop: int) -> None:
    assert chosen(RANGE=asked) == Selection(206, start, stop)


@pytest.mark.parametrize(
    "asked",
    ["", "bytes", "bytes=", "bytes=-", "bytes=4-2", "bytes=x-2", "lines=1-2", "bytes=0-1,3-4", "bytes=٣-"],
)
def test_what_is_no_single_range_is_answered_by_the_whole(asked: str) -> None:
    assert chosen(RANGE=asked) == WHOLE


@pytest.mark.parametrize("asked", ["bytes=10-", "bytes=10-20", "bytes=-0", "bytes=99999999999999999999-"])
def test_a_range_beyond_the_end_cannot_be_satisfied(asked: str) -> None:
    assert refused(RANGE=asked) == "range-not-satisfiable"
    assert chosen(method="HEAD", RANGE=asked) == WHOLE  # ranges are for GET only


@given(size=st.integers(1, 50), first=st.integers(0, 60), last=st.integers(0, 60))
def test_every_range_lies_within_the_whole(size: int, first: int, last: int) -> None:
    try:
        found = chosen(size, RANGE=f"bytes={first}-{last}")
    except RefereeError:
        assert first >= size
        assert first <= last
        return
    expected = range(size) if last < first else range(size)[first : last + 1]
    assert range(found.start, found.stop) == expected
    assert found.status == (200 if last < first else 206)


@pytest.mark.parametrize(("tag", "status"), [(TAG, 206), (f" {TAG} ", 206), ('"b"', 200), (f"W/{TAG}", 200)])
def test_if_range_lets_a_range_pass_only_for_the_same_bytes(tag: str, status: int) -> None:
    assert chosen(RANGE="bytes=0-1", IF_RANGE=tag).status == status


def test_a_date_in_if_range_is_not_the_same_bytes() -> None:
    assert chosen(RANGE="bytes=0-1", IF_RANGE="Sat, 29 Oct 1994 19:43:31 GMT") == WHOLE


@pytest.mark.parametrize("tags", [TAG, "*", f"W/{TAG}", f'"x", {TAG}', f'W/"x",{TAG}'])
def test_if_none_match_spares_what_is_known(tags: str) -> None:
    assert chosen(IF_NONE_MATCH=tags).status == 304
    assert chosen(method="HEAD", IF_NONE_MATCH=tags).status == 304


@pytest.mark.parametrize("tags", ["", '"x"', "abc", '"abc', '"ab"'])
def test_if_none_match_of_something_else_spares_nothing(tags: str) -> None:
    assert chosen(IF_NONE_MATCH=tags) == WHOLE


@pytest.mark.parametrize(
    ("tags", "fits"), [(TAG, True), ("*", True), (f'"x",{TAG}', True), (f"W/{TAG}", False)]
)
def test_if_match_is_compared_strongly(tags: str, fits: bool) -> None:
    if fits:
        assert chosen(IF_MATCH=tags) == WHOLE
    else:
        assert refused(IF_MATCH=tags) == "precondition-failed"


def test_if_match_comes_before_if_none_match_and_both_before_the_range() -> None:
    assert refused(IF_MATCH='"x"', IF_NONE_MATCH=TAG) == "precondition-failed"
    assert chosen(IF_NONE_MATCH=TAG, RANGE="bytes=99-").status == 304
