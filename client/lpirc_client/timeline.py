"""Records the time of a run: sums for the report, and each span as a Chrome trace (chrome://tracing, Perfetto)."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Iterator, Mapping, TextIO

from lpirc_client.errors import ClientError
from lpirc_client.terminal import say

WAITING = "waiting"
DETECTING = "detecting"
POSTING = "posting"
"""The detector's thread hands rows over. It waits while earlier rows are being sent."""

FETCH = "fetch"
SEND = "send"
"""Name of a span in which the posting thread sends a body; FETCH names those of the fetching thread.

A FETCH has the number of its first image and how many came, a SEND how many images it answered, and the link and the
SHA-256 of its receipt, by which `referee report --timeline` joins this clock to the referee's.
"""

STARTS = (b'[{"name": ', b"[{}]")
"""How a timeline begins."""


class Timeline:
    """Sums the spans by name; with `path`, also writes each as one event of a Chrome trace as it ends.

    Raises ClientError `no-timeline` where the file cannot be made. A disk that fills up later ends the file, not the
    run.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.started_s = time.perf_counter()
        self.sums_s: dict[str, float] = {}
        self._lock = threading.Lock()
        self._path = path
        self._file: TextIO | None = None
        if path is not None:
            try:
                self._file = path.open("w", encoding="utf-8")
                self._file.write("[")
            except OSError as error:
                raise ClientError(
                    "no-timeline", f"{path}: cannot be written: {error.strerror}"
                ) from error

    def begin(self) -> None:
        """Start counting at the log-in."""
        self.started_s = time.perf_counter()

    @contextmanager
    def span(
        self,
        name: str,
        image: int | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Time the block under `name`; `image` is the image it concerns. What the block puts into the dict is kept."""
        about: dict[str, Any] = {}
        start_s = time.perf_counter()
        try:
            yield about
        finally:
            self.add(name, start_s, time.perf_counter(), image, about)

    def add(
        self,
        name: str,
        start_s: float,
        end_s: float,
        image: int | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        """Add a span between two moments of time.perf_counter."""
        args = dict(about or {})
        if image is not None:
            args["image"] = image
        with self._lock:
            self.sums_s[name] = self.sums_s.get(name, 0.0) + end_s - start_s
            if self._file is not None:
                self._write(name, start_s, end_s, args)

    def report(self) -> dict[str, float]:
        """Return the seconds of each kind of work of the detector's thread; `idle_s` is the rest since the log-in."""
        with self._lock:
            figures = {
                f"{name}_s": self.sums_s.get(name, 0.0)
                for name in (DETECTING, WAITING, POSTING)
            }
        idle_s = time.perf_counter() - self.started_s - sum(figures.values())
        return {
            name: round(value, 3)
            for name, value in {**figures, "idle_s": max(idle_s, 0.0)}.items()
        }

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._keep("{}]\n")
            file = self._file
            self._file = None
            try:
                if file is not None:
                    file.close()
            except OSError as error:
                self._give_up(error)

    def _write(
        self,
        name: str,
        start_s: float,
        end_s: float,
        args: Mapping[str, Any],
    ) -> None:
        event = {
            "name": name,
            "ph": "X",
            "ts": round((start_s - self.started_s) * 1e6),
            "dur": round((end_s - start_s) * 1e6),
            "pid": 1,
            "tid": name if name in (FETCH, SEND) else "detector",
        }
        if args:
            event["args"] = args
        self._keep(json.dumps(event) + ",\n")

    def _keep(self, text: str) -> None:
        if self._file is None:
            return
        try:
            self._file.write(text)
        except OSError as error:
            file = self._file
            self._file = None
            with suppress(OSError):  # it would write the rest
                file.close()
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        say(f"--timeline {self._path}: nothing more is written: {error.strerror}")
