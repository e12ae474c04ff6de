"""The timeline that `lpirc-client run --timeline FILE` wrote, joined to the referee's clock by its receipts. Pure.

A team hands the file in, so nothing in it is trusted: what is not understood is refused, and a file without a body of
the run is another run's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from referee.errors import RefereeError
from referee.store.records import Post

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_BYTES = 2**28
MOST_S = 1e7
DETECTOR = ("waiting", "detecting", "posting")
FETCH = "fetch"
SEND = "send"
NAMES = (*DETECTOR, FETCH, SEND)


@dataclass(frozen=True, eq=False)
class Spans:
    """The spans (n,) of one thread, by their start, in seconds of the client's clock.

    `kind` is an index into NAMES, `image` the image that a span concerns, or the first one, and `images` how many; 0
    stands for none.
    """

    start_s: Floats
    end_s: Floats
    kind: Ints
    image: Ints
    images: Ints


@dataclass(frozen=True)
class Sent:
    """A body that the client sent between two moments of its clock, and the SHA-256 and the link of its receipt."""

    start_s: float
    end_s: float
    sha256: str
    link: str | None


@dataclass(frozen=True, eq=False)
class ClientTimeline:
    """The spans of the detector's thread, of the thread that fetches and of the one that sends, and the bodies sent."""

    detector: Spans
    fetches: Spans
    sends: Spans
    bodies: tuple[Sent, ...]


@dataclass(frozen=True)
class Joined:
    """The referee's time of the client's zero, off by at most `error_s`, from `bodies` of the `sent` bodies.

    Each body arrived while the client was sending it, which bounds the offset of the two clocks. If no offset fits all
    of them, the clocks `drift`, and `error_s` is what the best offset leaves.
    """

    offset_s: float
    error_s: float
    bodies: int
    sent: int
    drift: bool


def read_timeline(content: bytes) -> ClientTimeline:
    """Read the content of a timeline file; a last line that is cut off is ignored.

    Raises RefereeError `bad-timeline`.
    """
    if len(content) > MOST_BYTES:
        raise _refused(f"it has {len(content)} bytes, more than {MOST_BYTES}")
    events = [one for one in _events(content) if one]
    spans: dict[str, list[tuple[float, float, int, int, int]]] = {
        name: [] for name in NAMES
    }
    bodies = []
    for event in events:
        if event.get("ph") != "X" or event.get("name") not in NAMES:
            continue
        name = str(event["name"])
        span, args = _span(event)
        spans[name].append((*span, NAMES.index(name), *_images(args)))
        digest = args.get("sha256")
        if name == SEND and isinstance(digest, str):
            link = args.get("link")
            known = link if isinstance(link, str) else None
            bodies.append(Sent(*span, digest, known))
    if not any(spans.values()):
        raise _refused("it has no span of a run")
    of_detector = [one for name in DETECTOR for one in spans[name]]
    return ClientTimeline(
        _by_start(of_detector),
        _by_start(spans[FETCH]),
        _by_start(spans[SEND]),
        tuple(bodies),
    )


def join(
    timeline: ClientTimeline,
    posts: Sequence[tuple[float, Post]],
) -> Joined:
    """Join the client's clock to the referee's by the posts, each with the time at which it arrived.

    Raises RefereeError `other-timeline` if no body of the timeline is one of the posts.
    """
    pairs = list(_matched(timeline.bodies, posts))
    if not pairs:
        sentence = (
            f"None of the {len(timeline.bodies)} bodies in this timeline is a body of this run: it belongs to another "
            "run, or to a client of an earlier version, which wrote no receipts into it."
        )
        raise RefereeError("other-timeline", sentence)
    least = max(arrived_s - body.end_s for body, arrived_s in pairs)
    most = min(arrived_s - body.start_s for body, arrived_s in pairs)
    return Joined(
        offset_s=(least + most) / 2,
        error_s=abs(most - least) / 2,
        bodies=len(pairs),
        sent=len(timeline.bodies),
        drift=least > most,
    )


def _matched(
    bodies: Sequence[Sent],
    posts: Sequence[tuple[float, Post]],
) -> Iterator[tuple[Sent, float]]:
    """Yield each body with its arrival, by its receipt's link. Without one, by a hash that occurs once."""
    by_link = {
        post.link.hex(): arrived_s
        for arrived_s, post in posts
        if post.previous is not None
    }
    by_digest: dict[str, list[float]] = {}
    for arrived_s, post in posts:
        by_digest.setdefault(post.sha256, []).append(arrived_s)
    for body in bodies:
        if body.link is not None:
            if body.link in by_link:
                yield body, by_link[body.link]
        elif len(by_digest.get(body.sha256, ())) == 1:
            yield body, by_digest[body.sha256][0]


def _events(content: bytes) -> Iterator[Mapping[str, Any]]:
    """Yield the events of a trace; of a file that was cut off, those on whole lines."""
    try:
        found = json.loads(content)
        if isinstance(found, dict):
            found = found.get("traceEvents")
    except (ValueError, RecursionError):
        found = list(_events_by_line(content))
    if not isinstance(found, list):
        raise _refused("it is not a list of events")
    for event in found:
        if not isinstance(event, dict):
            raise _refused(f"{event!r:.40} is not an event")
        yield event


def _events_by_line(content: bytes) -> Iterator[Any]:
    lines = content.lstrip(b"[").splitlines()
    for number, line in enumerate(lines, start=1):
        text = line.strip().rstrip(b",]")
        try:
            if text:
                yield json.loads(text)
        except (ValueError, RecursionError):
            if number == len(lines):
                return
            raise _refused(f"line {number} is not an event: {line[:40]!r}") from None


def _span(event: Mapping[str, Any]) -> tuple[tuple[float, float], Mapping[str, Any]]:
    """Return start and end of an event in seconds, and its arguments."""
    start = _microseconds(event, "ts")
    took = _microseconds(event, "dur")
    args = event.get("args", {})
    if took < 0 or not isinstance(args, dict):
        raise _refused(f"{event!r:.60} is not a span")
    return (start, start + took), args


def _microseconds(event: Mapping[str, Any], name: str) -> float:
    value = event.get(name)
    if (
        not isinstance(value, int | float)
        or isinstance(value, bool)
        or not abs(value) <= MOST_S * 1e6  # nor if it is not finite
    ):
        raise _refused(f"{name} is {value!r:.40}, not a time in microseconds")
    return float(value) / 1e6


def _images(args: Mapping[str, Any]) -> tuple[int, int]:
    """Return the first image of a span and how many it has; 0 where the file does not say so."""
    image = _count(args.get("image", 0))
    images = _count(args.get("images", 1 if image else 0))
    return image, images


def _count(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31:
        return value
    raise _refused(f"{value!r:.40} is not a number of images")


def _by_start(spans: list[tuple[float, float, int, int, int]]) -> Spans:
    columns = np.array(sorted(spans), np.float64).reshape(-1, 5)
    start_s, end_s, kind, image, images = columns.T
    return Spans(
        start_s,
        end_s,
        kind.astype(np.int64),
        image.astype(np.int64),
        images.astype(np.int64),
    )


def _refused(why: str) -> RefereeError:
    sentence = f"This is not a timeline of lpirc-client: {why}."
    return RefereeError("bad-timeline", sentence)
