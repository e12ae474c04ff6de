"""A check of `referee doctor`: a window that leaves less than 10 ms for an image is pointed out."""

from __future__ import annotations

from collections.abc import Iterator

from referee.contest import Contest
from referee.seams import Finding

LEAST_MS = 10.0


def look_at_window(contest: Contest) -> Iterator[Finding]:
    """Yield advice if the window is that short."""
    images = contest.config.images.per_attempt or len(contest.test_set.images)
    each_ms = 1000 * contest.config.window_s / images
    if each_ms < LEAST_MS:
        words = f"window_s = {contest.config.window_s} leaves {each_ms:.1f} ms an image"
        yield Finding("window-short", f"{words}; write more.", is_advice=True)
