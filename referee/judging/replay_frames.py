"""The images of a replay and the boxes that came for them, bounded in number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from referee.judging.answered_images import is_answered_once
from referee.judging.run_course import answered_at, first_served, posted_after
from referee.store import Store

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_FRAMES = 2000
"""Images of a replay; of more, evenly spaced ones are kept."""
MOST_BOXES_EACH = 12  # of an image; more would hide one another
MOST_BOXES = 10_000  # of the replay
FAR = 1e5  # a corner further out is drawn there
IMAGE, CATEGORY, CONFIDENCE = range(3)


@dataclass(frozen=True, eq=False)
class Sent:
    """What went to and fro in a run.

    `images` (n,) were first served at `served_s` (n,), ascending, and answered at `answered_s` (n,), infinite if never.
    The POSTs (p,) came at `posts_s` with `counts` rows each; `rows` (m, 7) are those of all, in order of arrival.
    """

    images: Ints
    served_s: Floats
    answered_s: Floats
    posts_s: Floats
    counts: Ints
    rows: Floats

    @property
    def since_s(self) -> Floats:
        """Return the arrival time (m,) of each row."""
        return np.repeat(self.posts_s, self.counts)


@dataclass(frozen=True, eq=False)
class Frames:
    """The images of a replay, as in `Sent`."""

    image: Ints
    served_s: Floats
    answered_s: Floats


@dataclass(frozen=True, eq=False)
class Boxes:
    """The boxes of a replay in order of arrival: `rows` (b, 7), each with its frame and arrival time.

    `left_out` is the number of other boxes of these frames; `least` is the lowest confidence of those kept, None if
    there is no box.
    """

    rows: Floats
    frame: Ints
    at_s: Floats
    left_out: int
    least: float | None


def sent_in(store: Store, run: int) -> Sent:
    """Read what a run was served and what it sent."""
    images, served_s = first_served(store.served.in_order(run))
    arrivals = store.posts.arrivals(run)
    posts_s = np.array([at_s for at_s, _ in arrivals], np.float64)
    counts = np.array([count for _, count in arrivals], np.int64)
    if is_answered_once(store, run):
        first_s = store.answers.answered(run)
        own_s = [first_s.get(image, math.inf) for image in images.tolist()]
        answered_s = np.maximum(np.array(own_s, np.float64), served_s)
        none = np.empty((0, 7))
        return Sent(images, served_s, answered_s, posts_s, counts, none)
    is_of_boxes = store.posts.task_of(run) is None
    rows = store.posts.detections(run) if is_of_boxes else np.empty((0, 7))
    posted = posted_after(images, store.posts.images(run), counts)
    answered_s = np.maximum(answered_at(posts_s, posted, len(images)), served_s)
    return Sent(images, served_s, answered_s, posts_s, counts, rows)


def frames_of(sent: Sent) -> Frames:
    """Return the frames of a run."""
    kept = evenly(len(sent.images), MOST_FRAMES)
    return Frames(sent.images[kept], sent.served_s[kept], sent.answered_s[kept])


def evenly(count: int, most: int) -> Ints:
    """Return the indices of at most `most` of `count` things, evenly spaced."""
    if count <= most:
        return np.arange(count)
    return np.linspace(0, count - 1, most).astype(np.int64)


def boxes_of(sent: Sent, frames: Frames) -> Boxes:
    """Return the most confident boxes of each frame, and of all frames together."""
    since_s = sent.since_s
    numbers = sent.rows[:, IMAGE].astype(np.int64)
    largest = max(numbers.max(initial=0), frames.image.max(initial=0))
    frame_of = np.full(largest + 1, -1)
    frame_of[frames.image] = np.arange(len(frames.image))
    frame = frame_of[numbers]
    shown = np.flatnonzero(frame >= 0)

    confidence = sent.rows[:, CONFIDENCE]
    best_first = shown[np.argsort(-confidence[shown], kind="stable")]
    by_frame = best_first[np.argsort(frame[best_first], kind="stable")]
    first = np.searchsorted(frame[by_frame], frame[by_frame], side="left")
    place = np.arange(len(by_frame)) - first
    kept = by_frame[place < MOST_BOXES_EACH]
    if len(kept) > MOST_BOXES:
        most_confident = np.argsort(-confidence[kept], kind="stable")[:MOST_BOXES]
        kept = kept[most_confident]
    kept = kept[np.lexsort((kept, since_s[kept]))]
    return Boxes(
        sent.rows[kept],
        frame[kept],
        since_s[kept],
        left_out=len(shown) - len(kept),
        least=float(confidence[kept].min()) if len(kept) else None,
    )


def frame_columns(frames: Frames, sizes: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Return the JSON columns of frames; `sizes` is empty if the sizes of the images are unknown."""
    columns: dict[str, Any] = {
        "image": frames.image.tolist(),
        "served_s": seconds(frames.served_s),
        "answered_s": seconds(frames.answered_s),
        "width": [width for width, _ in sizes],
        "height": [height for _, height in sizes],
    }
    return columns


def box_columns(boxes: Boxes) -> dict[str, Any]:
    """Return the JSON columns of boxes, in whole pixels."""
    corners = np.clip(np.nan_to_num(boxes.rows[:, 3:]), -FAR, FAR)
    sizes = corners[:, 2:] - corners[:, :2] + 1
    columns: dict[str, Any] = {
        "frame": boxes.frame.tolist(),
        "at_s": seconds(boxes.at_s),
        "category": boxes.rows[:, CATEGORY].astype(np.int64).tolist(),
        "confidence": boxes.rows[:, CONFIDENCE].round(2).tolist(),
    }
    names = ("x", "y", "width", "height")
    figures = np.column_stack([corners[:, :2], sizes]).round().astype(np.int64)
    for name, column in zip(names, figures.T, strict=True):
        columns[name] = column.tolist()
    return columns


def seconds(values: Floats) -> list[float | None]:
    """Return times for JSON, to the millisecond; an infinite one is None."""
    return [_second(value) for value in values.tolist()]


def _second(value: float) -> float | None:
    return round(value, 3) if math.isfinite(value) else None
