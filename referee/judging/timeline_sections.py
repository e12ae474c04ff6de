"""Sections of a run between the moments at which a span of the client's timeline begins or ends. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from referee.judging.client_timeline import NAMES, ClientTimeline, Spans

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

KINDS = ("waiting", "fetching", "detecting", "posting", "idle")
WAITING, FETCHING, DETECTING, POSTING, IDLE = range(5)
EVERYONE = -1
NONE = -1
_WAITS = NAMES.index("waiting")
_DETECTS = NAMES.index("detecting")
_HANDS_OVER = NAMES.index("posting")


@dataclass(frozen=True, eq=False)
class Sections:
    """Sections (s,) of a run between `edges_s` (s + 1,): the kind of each, and who takes it.

    `group` is an index into `takers`, lists of places of images in the order of service, or EVERYONE.
    """

    edges_s: Floats
    kind: Ints
    group: Ints
    takers: Sequence[Ints]


def sections_of(
    timeline: ClientTimeline,
    offset_s: float,
    images: Ints,
    elapsed_s: float,
) -> Sections:
    """Return the sections of a run of `elapsed_s`, whose `images` (n,) were served in this order.

    `offset_s` is the referee's time of the client's zero.
    """
    edges_s = _edges_s(timeline, offset_s, elapsed_s)
    middles_s = (edges_s[:-1] + edges_s[1:]) / 2 - offset_s
    detects, fetches, sends = (_span_at(one, middles_s) for one in _threads(timeline))
    kind = _kinds(timeline.detector, detects, fetches, sends)

    place = {image: at for at, image in enumerate(images.tolist())}
    of_spans = [_of_span(one, place) for one in _singles(timeline.detector)]
    of_fetches = _of_fetches(timeline.fetches, place)
    of_sends = _of_sends(timeline, place)
    takers = [*of_spans, *of_fetches, *of_sends]
    group = np.where(detects == NONE, EVERYONE, detects)
    is_fetched = (kind == FETCHING) & (fetches != NONE)
    group[is_fetched] = fetches[is_fetched] + len(of_spans)
    has_none = np.array([len(one) == 0 for one in takers] + [True])
    is_sent = (kind == POSTING) & (sends != NONE) & has_none[group]
    group[is_sent] = sends[is_sent] + len(of_spans) + len(of_fetches)
    group[has_none[group] | (kind == IDLE)] = EVERYONE
    return Sections(edges_s, kind, group, takers)


def hidden_s(timeline: ClientTimeline, offset_s: float, elapsed_s: float) -> float:
    """Return the seconds in which images were fetched or rows sent while the detector detected."""
    edges_s = _edges_s(timeline, offset_s, elapsed_s)
    middles_s = (edges_s[:-1] + edges_s[1:]) / 2 - offset_s
    detects, fetches, sends = (_span_at(one, middles_s) for one in _threads(timeline))
    kind = _kinds(timeline.detector, detects, fetches, sends)
    is_hidden = (kind == DETECTING) & ((fetches != NONE) | (sends != NONE))
    return float(np.diff(edges_s)[is_hidden].sum())


def _threads(timeline: ClientTimeline) -> tuple[Spans, Spans, Spans]:
    return timeline.detector, timeline.fetches, timeline.sends


def _edges_s(timeline: ClientTimeline, offset_s: float, elapsed_s: float) -> Floats:
    ends = [[0.0, elapsed_s]]
    for one in _threads(timeline):
        for moments_s in (one.start_s, one.end_s):
            moved_s = np.clip(moments_s + offset_s, 0.0, elapsed_s)
            ends.append(moved_s.tolist())
    return np.unique(np.concatenate(ends))


def _span_at(spans: Spans, moments_s: Floats) -> Ints:
    """Return the span (n,) of each moment: the one that began last, or NONE if that is over."""
    if not len(spans.start_s):
        return np.full(len(moments_s), NONE)
    latest = np.searchsorted(spans.start_s, moments_s, side="right") - 1
    is_in = (latest >= 0) & (moments_s < spans.end_s[np.maximum(latest, 0)])
    return np.where(is_in, latest, NONE)


def _kinds(detector: Spans, detects: Ints, fetches: Ints, sends: Ints) -> Ints:
    """Return the kind of each section: the first that applies. Before the first span, the client waits."""
    of_detector = np.append(detector.kind, -1)[detects]
    has_begun = (detects != NONE) | (fetches != NONE) | (sends != NONE)
    is_before = ~np.maximum.accumulate(has_begun)
    waits = of_detector == _WAITS
    return np.select(
        [
            of_detector == _DETECTS,
            of_detector == _HANDS_OVER,
            fetches != NONE,
            (sends != NONE) & ~waits,
            waits | is_before,
        ],
        [DETECTING, POSTING, FETCHING, POSTING, WAITING],
        IDLE,
    )


def _singles(detector: Spans) -> list[int]:
    images: list[int] = detector.image.tolist()
    return images


def _of_span(image: int, place: dict[int, int]) -> Ints:
    return _places([image], place)


def _of_fetches(fetches: Spans, place: dict[int, int]) -> list[Ints]:
    """Return the places of the images that each fetch brought."""
    found = []
    pairs = zip(fetches.image.tolist(), fetches.images.tolist(), strict=True)
    for first, count in pairs:
        last = min(first + count, first + len(place))
        found.append(_places(range(first, last), place))
    return found


def _of_sends(timeline: ClientTimeline, place: dict[int, int]) -> list[Ints]:
    """Return the places of the images that each body answered: those handed over next, as many as it says."""
    detector = timeline.detector
    is_handed = (detector.kind == _HANDS_OVER) & (detector.image > 0)
    handed: list[int] = detector.image[is_handed].tolist()
    found = []
    first = 0
    for count in timeline.sends.images.tolist():
        found.append(_places(handed[first : first + count], place))
        first += count
    return found


def _places(images: Sequence[int], place: dict[int, int]) -> Ints:
    known = [place[one] for one in images if one in place]
    return np.array(known, np.int64)
