"""Records what happens in a run besides its detections: meter readings, loss of the meter's link, events."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from lpirc_power.energy.continuity import EnergyLoss, loss_between
from lpirc_power.meter import IntegratorState, Reading
from lpirc_power.sampling.sampler import LinkEvent
from referee.clock import Clock
from referee.errors import RefereeError
from referee.store import Store
from referee.store.records import ENERGY_LOST

logger = logging.getLogger(__name__)
STANDS = "the meter's integrator does not run"


class _Noted(NamedTuple):
    """An event that waits to be stored; its times are the host's."""

    monotonic_s: float
    utc: datetime
    kind: str
    detail: dict[str, object]


class EvidenceLog:
    """Collects readings from the sampler's thread and stores them.

    Readings that arrive before the window's start is known are kept until `begin`.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._run: tuple[int, float] | None = None
        self._readings: list[Reading] = []
        self._doubts: frozenset[str] = frozenset()
        self._warned: set[str] = set()
        self._noted: list[_Noted] = []
        self._loss: EnergyLoss | None = None
        self._was_lost_before = False
        self._before: Reading | None = None
        self._found_back: frozenset[str] = frozenset()
        self._lost_with_it: frozenset[str] = frozenset()
        self._told_settings: set[str] = set()

    @property
    def warnings(self) -> list[str]:
        """Return the warnings since the window opened, except those that an energy loss already implies."""
        return sorted(self._warned - self._told_by_loss(self._warned))

    @property
    def loss(self) -> EnergyLoss | None:
        """The reason the run's energy was lost; None if it was not."""
        return self._loss

    def remember(self, loss: EnergyLoss | None, before: Reading | None) -> None:
        """Continue from the stored state of the run: its energy loss, if any, and its last reading.

        Settings that the meter lost together with the energy are not continued: a run without energy needs no warning
        about settings.
        """
        self._loss = loss
        self._before = before
        self._was_lost_before = loss is not None

    def begin(self, run: int, start_s: float) -> None:
        """Set the run and the monotonic start of its window."""
        with self._lock:
            self._run = (run, start_s)

    def reading(self, reading: Reading) -> None:
        """Record one reading of the meter. A failure to store is logged, and the next reading tries again."""
        with self._lock:
            self._readings.append(reading)
        self._note_loss(reading)
        self._warn(reading)
        self._try_to_flush()

    def link(self, event: LinkEvent) -> None:
        """Record that the link to the meter was lost or restored."""
        detail: dict[str, object] = {"sentence": event.sentence}
        if event.changes:
            detail["changes"] = list(event.changes)
        with self._lock:
            self._noted.append(_Noted(event.monotonic_s, event.utc, event.kind, detail))
        self._found_back = frozenset(event.changes)
        self._try_to_flush()

    def end(self) -> None:
        """Flush for the last time. Later readings are not stored, since closing the run seals the stored ones."""
        with self._flushing:
            self._flush()
            self._run = None

    def flush(self) -> None:
        """Store all waiting records, and the log of served images.

        Raises RefereeError `storage-failed`, and then keeps the records.
        """
        with self._flushing:
            self._flush()

    def _flush(self) -> None:
        with self._lock:
            if self._run is None:
                return
            run, start_s = self._run
            readings = self._readings.copy()
            noted = self._noted.copy()
        if noted:
            self._store.log.append_all(run, [_event(start_s, one) for one in noted])
            with self._lock:
                del self._noted[: len(noted)]
        if readings:
            self._store.readings.append(run, start_s, readings)
            with self._lock:
                del self._readings[: len(readings)]
        self._store.served.flush()

    def _note_loss(self, reading: Reading) -> None:
        """Note a loss of energy once, and again if energy that had survived a power failure is lost later."""
        found = loss_between(self._before, reading)
        before = self._before
        back = self._found_back
        self._found_back = frozenset()
        if math.isfinite(reading.energy_wh) and math.isfinite(reading.integrator_s):
            self._before = reading
        is_known = self._loss is not None and (
            self._loss is not EnergyLoss.CUT_SHORT or found is self._loss
        )
        if found is None or is_known:
            return
        self._loss = found
        self._lost_with_it = back
        held = (
            {}
            if before is None
            else {"energy_wh": before.energy_wh, "integrator_s": before.integrator_s}
        )
        with self._lock:
            self._noted.append(
                _Noted(
                    reading.monotonic_s,
                    reading.utc,
                    ENERGY_LOST,
                    {"code": found.value, **held},
                )
            )
            begun = self._run
        if begun is not None:
            number, start_s = begun
            said = "run %d, %.1f s into its window: its energy %s. Void the run and arm another."
            logger.error(said, number, reading.monotonic_s - start_s, found.words)

    def _told_by_loss(self, warnings: Iterable[str]) -> set[str]:
        """Return the warnings that an energy loss already implies."""
        return {
            one for one in warnings if self._loss is not None and one.startswith(STANDS)
        }

    def _warn(self, reading: Reading) -> None:
        """Warn once about each changed setting, and about each check that fails for two readings in a row."""
        # Only the reading of record is taken after the stop, so one of two consecutive readings is in the window.
        found = frozenset(_doubts(reading))
        lasting = found & self._doubts
        self._doubts = found
        # The sampler has asked twice, and does not ask again with every reading. What a meter lost with the energy, its
        # return has told.
        if reading.changed and not self._was_lost_before:
            untold = self._untold(reading.changed)
            if untold:
                lasting |= {
                    f"the meter has other settings than those of the run ({untold})"
                }
        begun = self._run
        if begun is None:
            return
        run, start_s = begun
        for doubt in sorted(lasting - self._warned - self._told_by_loss(lasting)):
            self._warned.add(doubt)
            logger.warning(
                "run %d, %.1f s into its window: %s. The run goes on, and will need review.",
                run,
                reading.monotonic_s - start_s,
                doubt,
            )

    def _untold(self, changed: str) -> str:
        """Return the changes whose settings no warning has named yet, nor the meter's return.

        Once its fixed ranges are lost a meter chooses them itself, so its range has another value every second.
        """
        told = {_setting_of(one) for one in self._lost_with_it} | self._told_settings
        untold = [one for one in changed.split("; ") if _setting_of(one) not in told]
        if self._run is not None:
            self._told_settings |= {_setting_of(one) for one in untold}
        return "; ".join(untold)

    def _try_to_flush(self) -> None:
        try:
            self.flush()
        except RefereeError as error:
            logger.warning("readings wait in memory: %s", error.sentence)


def _setting_of(change: str) -> str:
    """Return the header of the command that makes a setting: a change begins with it."""
    return change.partition(" ")[0]


def _doubts(reading: Reading) -> list[str]:
    found = []
    if reading.state not in (IntegratorState.START, IntegratorState.TIMEUP):
        found.append(f"{STANDS} ({reading.state.value})")
    if reading.over_range:
        found.append("the meter is over range")
    if reading.voltage_peak_over or reading.current_peak_over:
        found.append("peaks are clipped, so the measured power is too low")
    return found


def _event(start_s: float, noted: _Noted) -> tuple[datetime, str, dict[str, object]]:
    detail: dict[str, object] = {"elapsed_s": noted.monotonic_s - start_s}
    return noted.utc, noted.kind, detail | noted.detail


def note_event(
    store: Store,
    clock: Clock,
    run: int | None,
    kind: str,
    **detail: object,
) -> None:
    """Log an event.

    A failure to store it is only a warning, since what happened must not be undone for lack of a record.
    """
    try:
        store.log.append(clock.utc(), run, kind, **detail)
    except RefereeError as error:
        logger.warning(
            "run %s: the event %s %s could not be recorded: %s",
            run,
            kind,
            detail,
            error.sentence,
        )
