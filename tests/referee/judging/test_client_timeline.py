"""The client's timeline is read strictly and joined by its receipts, with the error of the joining."""

from __future__ import annotations

import json
from typing import Any

import pytest

from referee.errors import RefereeError
from referee.judging.client_timeline import Joined, join, read_timeline
from referee.store.records import Post

DIGESTS = ["a" * 64, "b" * 64, "c" * 64]


def event(name: str, start_s: float, end_s: float, **args: Any) -> dict[str, Any]:
    return {
        "name": name,
        "ph": "X",
        "ts": round(start_s * 1e6),
        "dur": round((end_s - start_s) * 1e6),
        "pid": 1,
        "tid": name,
        "args": args,
    }


def written(*events: dict[str, Any]) -> bytes:
    """The file as the client writes it."""
    lines = ",\n".join(json.dumps(one) for one in events)
    return f"[{lines},\n{{}}]\n".encode()


def sends(*spans: tuple[float, float, int]) -> bytes:
    return written(
        *(
            event(
                "send",
                start,
                end,
                sha256=DIGESTS[number - 1],
            )
            for start, end, number in spans
        )
    )


def joined(content: bytes, *arrived_s: float) -> Joined:
    posts = [post(digest) for digest in DIGESTS]
    return join(read_timeline(content), list(zip(arrived_s, posts, strict=False)))


def post(digest: str, number: int | None = None, nonce: bytes = b"") -> Post:
    """A receipt, with a link if it has a number."""
    previous = None if number is None else nonce.ljust(32, b"\0")
    return Post(
        1,
        digest,
        1,
        number,
        previous,
        "2026",
    )


def test_each_body_arrived_while_it_was_sent_which_bounds_the_offset() -> None:
    content = sends((1.0, 1.4, 1), (2.0, 2.2, 2), (3.0, 3.4, 3))
    found = joined(
        content,
        11.3,
        12.1,
        13.1,
    )
    assert found.offset_s == pytest.approx((9.9 + 10.1) / 2)
    assert found.error_s == pytest.approx(0.1)
    assert (found.bodies, found.sent, found.drift) == (3, 3, False)
    true = 9.95
    assert abs(found.offset_s - true) <= found.error_s


def test_clocks_that_drift_are_told_with_what_the_best_offset_leaves() -> None:
    found = joined(sends((1.0, 1.1, 1), (600.0, 600.1, 2)), 1.05, 600.45)
    assert found.drift
    assert found.error_s == pytest.approx(0.15)
    assert found.offset_s == pytest.approx(0.20)


def test_a_body_that_was_sent_twice_is_told_apart_by_the_link_of_its_receipt() -> None:
    first = post(DIGESTS[0], 1)
    second = post(DIGESTS[0], 2)
    sent = [
        event(
            "send",
            start_s,
            start_s + 0.1,
            sha256=DIGESTS[0],
            link=link,
        )
        for start_s, link in ((5.0, second.link.hex()), (7.0, None))
    ]
    found = join(read_timeline(written(*sent)), [(1.0, first), (5.05, second)])
    assert (found.bodies, found.sent) == (1, 2)
    assert found.offset_s == pytest.approx(0.0)


def test_the_timeline_of_another_run_with_the_same_bodies_is_refused() -> None:
    theirs = post(DIGESTS[0], 1, b"their run")
    sent = event(
        "send",
        1.0,
        1.1,
        sha256=DIGESTS[0],
        link=theirs.link.hex(),
    )
    timeline = read_timeline(written(sent))
    own = post(DIGESTS[0], 1, b"this run")
    with pytest.raises(RefereeError, match="belongs to another run"):
        join(timeline, [(1.05, own)])
    assert join(timeline, [(1.05, theirs)]).bodies == 1


def test_the_timeline_of_another_run_is_refused() -> None:
    with pytest.raises(RefereeError, match="belongs to another run") as refused:
        joined(sends((1.0, 1.1, 3)), 1.05)
    assert refused.value.code == "other-timeline"


def test_a_file_that_was_cut_off_is_read_to_its_last_whole_line() -> None:
    content = sends((1.0, 1.1, 1), (2.0, 2.1, 2), (3.0, 3.1, 3))
    cut = content[: content.index(b'"c')]
    assert len(read_timeline(cut).bodies) == 2


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[{}]",
        b"no\njson\n",
        b"[1, 2]",
        b"\xff\xfe",
        b"[" * 100_000,
        written(event("send", 0, 1) | {"ts": "0"}),
        written(event("send", 0, 1) | {"ts": None}),
        written(event("send", 0, 1) | {"dur": -5}),
        written(event("send", 0, 1) | {"args": []}),
        written(
            event(
                "fetch",
                0,
                1,
                image=-1,
            )
        ),
        written(
            event(
                "fetch",
                0,
                1,
                image=1,
                images=1e9,
            )
        ),
        written(
            event(
                "fetch",
                0,
                1,
                image=2**80,
            )
        ),
        b'[{"name": "send", "ph": "X", "ts": NaN, "dur": 1}]',
        b'[{"name": "send", "ph": "X", "ts": 1' + b"0" * 400 + b', "dur": 1}]',
        written({"name": "<script>", "ph": "X"}),
    ],
)
def test_what_is_no_timeline_is_refused_in_one_sentence(content: bytes) -> None:
    with pytest.raises(RefereeError, match="not a timeline of lpirc-client") as refused:
        read_timeline(content)
    assert refused.value.code == "bad-timeline"
    assert len(refused.value.sentence) < 200


def test_a_file_with_a_hundred_million_images_in_a_fetch_costs_no_memory() -> None:
    content = written(
        event(
            "fetch",
            0,
            1,
            image=1,
            images=2**31 - 1,
        ),
        event(
            "send",
            1.0,
            2.0,
            sha256=DIGESTS[0],
        ),
    )
    assert read_timeline(content).fetches.images.tolist() == [2**31 - 1]
