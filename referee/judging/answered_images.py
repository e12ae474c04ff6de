"""How many images of a run are answered: what a client has finished, while it may have fetched all images long before.

The first POST with rows for an image, or for an image that was served later, answers it, as in
`referee.judging.run_course`. In a task that takes one answer for each image only an answer of its own answers it.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from lpirc_score.errors import CodedError
from lpirc_score.tasks.offered import task_named
from referee.store import Store


def is_answered_once(store: Store, run: int) -> bool:
    """Return True if the task of a run takes one answer for each image, as one that is not installed is taken to."""
    name = store.posts.task_of(run)
    if name is None:
        return False
    try:
        return task_named(name).is_once
    except CodedError:
        return True


@dataclass
class _Read:
    """What is read of a run: each image's place in the order of serving, and the POSTs.

    A POST came at `posts_s`; `answered` is how many images it left answered, or answered itself if `is_once`.
    `not_placed` has the images of rows that came before their image was served, each with the index of the first such
    POST.
    """

    is_once: bool
    post: int = 0
    served: int = 0
    places: dict[int, int] = field(default_factory=dict)
    not_placed: dict[int, int] = field(default_factory=dict)
    posts_s: list[float] = field(default_factory=list)
    answered: list[int] = field(default_factory=list)


class AnsweredImages:
    """Counts the answered images of runs; each look reads only what is new since the last one."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read: dict[int, _Read] = {}
        self._lock = threading.Lock()

    def count(self, run: int) -> int:
        """Return how many images of a run are answered."""
        with self._lock:
            read = self._renewed(run)
            return sum(read.answered) if read.is_once else max(read.answered, default=0)

    def by_time(self, run: int, at_s: Iterable[float]) -> list[int]:
        """Return how many images were answered at each of these seconds of the run."""
        with self._lock:
            read = self._renewed(run)
            in_time = sorted(zip(read.posts_s, read.answered, strict=True))
        posts_s = [one for one, _ in in_time]
        after = np.add if read.is_once else np.maximum
        most = after.accumulate([0, *(one for _, one in in_time)])
        return [int(most[bisect_right(posts_s, one)]) for one in at_s]

    def _renewed(self, run: int) -> _Read:
        if run not in self._read:
            self._read[run] = _Read(is_answered_once(self._store, run))
        read = self._read[run]
        images, read.post = self._store.posts.images_after(run, read.post)
        arrivals = self._store.posts.arrivals(run)[len(read.posts_s) :]
        begin = 0
        for at_s, count in arrivals:
            if begin + count > len(images):
                break  # it came after the rows were read
            for image in np.unique(images[begin : begin + count]).tolist():
                read.not_placed.setdefault(image, len(read.posts_s))
            read.posts_s.append(at_s)
            read.answered.append(0)
            begin += count
        # Only now: served images are committed no later than the POST that answers them.
        served, read.served = self._store.served.after(run, read.served)
        for image in served:
            read.places.setdefault(image, len(read.places) + 1)
        self._place(read)
        return read

    def _place(self, read: _Read) -> None:
        """Count for each POST the images of its rows that are served by now."""
        for image in read.not_placed.keys() & read.places.keys():
            post = read.not_placed.pop(image)
            if read.is_once:
                read.answered[post] += 1
            else:
                read.answered[post] = max(read.answered[post], read.places[image])
