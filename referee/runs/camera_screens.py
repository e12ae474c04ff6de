"""The camera track: which image each station's screen is to show, and what the screen has said that it shows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from referee.clock import Clock
from referee.errors import DisplayFailed

ANSWER_S = 3.0  # how long a screen has to show an image; one that has not asked for so long is switched off
HOLD_S = 1.0  # how long a screen's question for the next image waits: it learns of a run's end as soon as that


class Picture(NamedTuple):
    """An image of a run, by the number that its team knows."""

    run: int
    image: int


class Screens:
    """A team's request waits here until the screen of its station, which asks repeatedly, has shown the image."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._wanted: dict[str, Picture] = {}
        self._confirmed: set[str] = set()
        self._started_s = clock.monotonic_s()  # screens come back after a restart
        self._asked_s: dict[str, float] = {}

    def show(self, station: str, picture: Picture) -> None:
        """Have the station's screen show an image; returns once it does.

        Raises RefereeError `display-failed` when the screen does not answer in time or is not there, or when another
        image was asked for meanwhile.
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
                )  # it must not appear later: it has not been served
                self._changed.notify_all()
        raise DisplayFailed(
            f"Image {picture.image} is not on the screen of station {station}; tell the operator, or ask for one image "
            "at a time.",
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
        """Return the next picture for a screen that shows `shown`, or None. Waits for a while for a change."""
        with self._changed:
            is_first = station not in self._asked_s
            self._asked_s[station] = self._clock.monotonic_s()
            if (
                shown is not None and is_first
            ):  # after a restart of the server what the screen shows stays
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
