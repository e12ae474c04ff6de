"""A station without a run, kept free for a while so that its meter may be asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from referee.errors import StationBusy
from referee.store import Store
from referee.store.records import RunState


@contextmanager
def kept_idle(store: Store, station: str, lock: threading.Lock) -> Iterator[None]:
    """Hold the station's lock for a with statement. Raises StationBusy if it has an armed or open run."""
    with lock:
        for run in store.runs.find(station=station):
            if run.state in (RunState.ARMED, RunState.OPEN):
                what = f"Station {station} has run {run.id} ({run.state}) of {run.team}"
                raise StationBusy(f"{what}; ask its meter when that run is over.")
        yield
