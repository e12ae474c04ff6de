"""The images of an open run that are answered already, in tasks that take one answer for each image."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from lpirc_score.tasks.taken_answers import TakenAnswers
from referee.errors import RefereeError
from referee.store import NewPost
from referee.store.records import Post

MOST_LISTED = 20
"""Maximum number of images that a refusal lists; all are counted."""


class AnsweredOnce:
    """When each image was first answered, in seconds since the run's start.

    One body is stored at a time: whichever of two comes first is on disk, with its key, before the other is looked at.
    """

    def __init__(self, answered_s: Mapping[int, float]) -> None:
        self._answered_s = dict(answered_s)
        self._lock = threading.Lock()

    def take(
        self,
        taken: TakenAnswers,
        post: NewPost,
        store: Callable[[], Post],
    ) -> Post:
        """Store a body, count its images as answered, and return its receipt.

        Raises RefereeError `answered-already` if one of them was answered before and the task is answered once, and
        the errors of `store`.
        """
        with self._lock:
            if taken.is_once:
                self._require_new(taken)
            receipt = store()
            # Otherwise it is the receipt of an earlier body with the same key.
            if receipt.sha256 == post.sha256:
                for image in taken.images:
                    self._answered_s.setdefault(image, post.elapsed_s)
        return receipt

    def _require_new(self, taken: TakenAnswers) -> None:
        again = [image for image in taken.images if image in self._answered_s]
        if not again:
            return
        first = again[0]
        more = f" (and {len(again) - 1} more)" if len(again) > 1 else ""
        raise RefereeError(
            "answered-already",
            f"Image {first} was answered {self._answered_s[first]:.3f} s into the run{more}: each image is answered "
            "once, so nothing of this body was taken; send only images that are not answered.",
            images=again[:MOST_LISTED],
            total=len(again),
        )
