"""Reports on stderr how far a run is: a bar, lines, JSON lines, or nothing."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from lpirc_client.terminal import say
from lpirc_client.wire import DETECTIONS

if TYPE_CHECKING:
    import rich.progress

JSON_INTERVAL_S = 0.2
LINE_INTERVAL_S = 2.0
CHOICES = ("auto", "bar", "json", "none")


@dataclass(frozen=True)
class Progress:
    """`images` of the run's images (`of`) are posted, with `detections` rows; `remaining_s` of the window is left.

    `answers` is what these rows are called; the JSON lines are without it.
    """

    images: int
    of: int
    detections: int
    remaining_s: float
    answers: str = DETECTIONS


class Reporter:
    """Reports nothing."""

    def update(self, progress: Progress) -> None:
        """Report how far the run is."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class Lines(Reporter):
    """Reports lines, at most one every `interval_s` and always the last; as JSON objects or in words."""

    def __init__(
        self,
        interval_s: float,
        *,
        as_json: bool,
    ) -> None:
        self._interval_s = interval_s
        self._as_json = as_json
        self._due = 0.0

    def update(self, progress: Progress) -> None:
        """Write a line if one is due."""
        now = time.monotonic()
        if now < self._due and progress.images < progress.of:
            return
        self._due = now + self._interval_s
        if self._as_json:
            document = {
                **asdict(progress),
                "remaining_s": round(progress.remaining_s, 1),
            }
            del document["answers"]
            say(json.dumps(document))
        else:
            say(f"{progress.images} of {progress.of} images, {_rest(progress)}")


class Bar(Reporter):
    """Reports a bar on the terminal, drawn by rich."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as RichProgress

        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("images  {task.description}"),
        )
        self._bar: rich.progress.Progress = RichProgress(
            *columns, console=Console(stderr=True)
        )
        self._task = self._bar.add_task("", total=None)
        self._bar.start()

    def update(self, progress: Progress) -> None:
        """Move the bar."""
        self._bar.update(
            self._task,
            completed=progress.images,
            total=progress.of,
            description=_rest(progress),
        )

    def close(self) -> None:
        """Stop drawing."""
        self._bar.stop()


def reporter(choice: str) -> Reporter:
    """Return the reporter for one of CHOICES; "auto" is a bar on a terminal and nothing elsewhere.

    Without rich, which the extra "progress" installs, lines take the place of the bar.
    """
    if choice == "json":
        return Lines(JSON_INTERVAL_S, as_json=True)
    if choice == "none" or (choice == "auto" and not sys.stderr.isatty()):
        return Reporter()
    try:
        return Bar()
    except ImportError:
        return Lines(LINE_INTERVAL_S, as_json=False)


def _rest(progress: Progress) -> str:
    return (
        f"{progress.detections} {progress.answers}, {progress.remaining_s:.0f} s left"
    )
