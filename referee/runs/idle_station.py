"""Stations whose meters are being asked for an operator: no run begins there meanwhile, and no request waits for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from referee.clock import Clock
from referee.errors import StationBusy
from referee.store import Store
from referee.store.held_stations import held_by


class IdleStations:
    """Keeps stations free while their meters are asked.

    The lock of a station is held only for the moment in which its meter is taken or given back, so arming is refused at
    once instead of waiting. `lock_of` returns one of the locks of RunControl.
    """

    def __init__(
        self, store: Store, clock: Clock, lock_of: Callable[[str], threading.Lock]
    ) -> None:
        self._store = store
        self._clock = clock
        self._lock_of = lock_of
        self._asked: dict[str, str] = {}

    def require_not_asked(self, station: str) -> None:
        """Raise StationBusy while a station's meter is being asked. The caller holds the station's lock."""
        being_asked = self.being_asked(station)
        if being_asked is not None:
            raise StationBusy(f"{being_asked}; try again then.")

    def being_asked(self, station: str) -> str | None:
        """Return until when a station's meter is being asked, as a sentence without its full stop, or None."""
        until = self._asked.get(station)
        if until is None:
            return None
        return f"Station {station}: its meter is being asked until {until} UTC at the latest"

    @contextmanager
    def kept(
        self, station: str, longest_s: float, *, resets: bool = False
    ) -> Iterator[None]:
        """Keep runs away from a station for a with statement that lasts at most `longest_s`.

        Raises StationBusy if the station has an armed or open run, or its meter is in use; with `resets`,
        which is for what may reset the meter, also if it may hold the energy of a run.
        """
        lock = self._lock_of(f"station {station}")
        if not lock.acquire(blocking=False):
            sentence = f"Station {station}: a run is being armed or closed there; ask its meter in a moment."
            raise StationBusy(sentence)
        try:
            self.require_not_asked(station)
            self._require_free(station, resets=resets)
            until = self._clock.utc() + timedelta(seconds=longest_s)
            self._asked[station] = f"{until:%H:%M:%S}"
        finally:
            lock.release()
        try:
            yield
        finally:
            del self._asked[station]

    def _require_free(self, station: str, *, resets: bool) -> None:
        held = held_by(self._store, station)
        if held is None or (held.is_over and not resets):
            return
        if held.is_over:
            way_out = "read it first: arm a run there, or start the referee again"
            raise StationBusy(f"{held.what}, and this may reset it; {way_out}.")
        raise StationBusy(f"{held.what}; ask its meter when that run is over.")
