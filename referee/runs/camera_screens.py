"""The camera track: the image each station's screen is to show, and the image it last reported as shown."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from referee.clock import Clock
from referee.errors import DisplayFailed

ANSWER_S = 3.0  # time for a screen to show an image; one that has not asked for this long is off
HOLD_S = 1.0  # longest wait of a screen's poll, and so the delay until it learns of a run's end


class Picture(NamedTuple):
    """An image of a run, by its number as the team knows it."""

    run: int
    image: int


class Screens:
    """Makes a team's request wait until its station's screen has shown the image. The screen polls."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._wanted: dict[str, Picture] = {}
        self._confirmed: set[str] = set()
        self._started_s = clock.monotonic_s()  # screens come back after a restart
        self._asked_s: dict[str, float] = {}

    def show(self, station: str, picture: Picture) -> None:
        """Show an image on the station's screen, and return once it is shown.

        Raises RefereeError `display-failed` when the screen does not answer in time or is not there, or when another
        image was requested meanwhile.
        """
        with self._changed:
            self._wanted[station] = picture
            self._confirmed.discard(station)
            self._changed.notify_all()
            is_there = (
                self._clock.monotonic_s() - self._asked_s.get(station, self._started_s)
                < ANSWER_S
            )
            over = self._changed.wait_for(
                lambda: self._is_over(station, picture),
                is_there * ANSWER_S,
            )
            if over and self._wanted.get(station) is picture:
                return
            if not over:
                self._wanted.pop(
                    station
                )  # it must not appear later, as it was not served
                self._changed.notify_all()
        raise DisplayFailed(
            f"Image {picture.image} is not on the screen of station {station}; tell the operator, or request only one "
            "image at a time.",
            image=picture.image,
        )

    def _is_over(self, station: str, picture: Picture) -> bool:
        return station in self._confirmed or self._wanted.get(station) is not picture

    def next(
        self,
        station: str,
        shown: Picture | None,
        is_open: Callable[[int], bool],
    ) -> Picture | None:
        """Wait a while for a picture other than `shown` for a screen, and return it; None if there is none."""
        with self._changed:
            is_first = station not in self._asked_s
            self._asked_s[station] = self._clock.monotonic_s()
            if (
                shown is not None and is_first
            ):  # after a server restart the screen keeps its image
                self._wanted.setdefault(station, shown)
            self._changed.wait_for(lambda: self._differs(station, shown), HOLD_S)
            self._asked_s[station] = self._clock.monotonic_s()
            wanted = self._wanted.get(station)
            if wanted is not None and not is_open(wanted.run):
                self._wanted.pop(station)
                self._changed.notify_all()
                return None
            return wanted

    def _differs(self, station: str, shown: Picture | None) -> bool:
        wanted = self._wanted.get(station)
        if wanted is not None and wanted == shown and station not in self._confirmed:
            self._confirmed.add(station)
            self._changed.notify_all()
        return wanted != shown
