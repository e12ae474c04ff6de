"""Sampling of a run: one thread reads every update of the meter once, another passes the readings on."""

from __future__ import annotations

import functools
import logging
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from lpirc_power.clocks import Clocks
from lpirc_power.energy.continuity import gap_sentence, held, restarted
from lpirc_power.errors import MeterError, MeterTimeout
from lpirc_power.meter import IntegratorState, Reading, Setup
from lpirc_power.operating_system import prefer_this_thread
from lpirc_power.sampling.meter_session import MeterSession
from lpirc_power.sampling.outages import Outages
from lpirc_power.sampling.polling import Sample, updates

_log: Final = logging.getLogger(__name__)

JOIN_S: Final = 10.0
STARTING_S: Final = 0.3
"""Time after a start during which the meter may not answer: about 0.2 s on a real WT310E."""


@dataclass(frozen=True)
class LinkEvent:
    """The link to a sampled meter was lost or is back; `changes` lists how a returned meter differs from its setup."""

    kind: Literal["meter-lost", "meter-back"]
    monotonic_s: float
    utc: datetime
    sentence: str
    changes: tuple[str, ...] = ()


class Sampling:
    """The sampling thread of one run and the state of its link. `lock` guards the session.

    `on_reading` and `on_link` are called from a second thread, so a slow callback never delays the next reading.
    `name` is that of the meter in warnings, where there are several.
    """

    def __init__(
        self,
        session: MeterSession,
        lock: threading.RLock,
        setup: Setup,
        clocks: Clocks,
        wait: Callable[[threading.Event, float], object],
        on_reading: Callable[[Reading], None],
        on_link: Callable[[LinkEvent], None] | None,
        *,
        is_watched: bool = True,
        name: str = "",
    ) -> None:
        self.last: Reading | None = None
        self._standing: list[Reading] = []
        self.link_error: MeterError | None = None
        self._is_watched = is_watched
        self._prefix = f"{name}: " if name else ""
        self._session = session
        self._lock = lock
        self._setup = setup
        self._clocks = clocks
        self._wait = wait
        self._on_reading = on_reading
        self._on_link = on_link
        self._callbacks = Callbacks()
        self._outages = Outages()
        self._ending = threading.Event()
        self._settled_s = clocks.monotonic() + STARTING_S
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._thread.start()

    def is_running(self) -> bool:
        """Return True if the sampling thread is running."""
        return self._thread.is_alive()

    def end(self) -> None:
        """End the sampling thread; a second call does nothing."""
        self._ending.set()
        self._thread.join(JOIN_S)

    def drain(self) -> None:
        """Wait until all readings have been passed on, for at most ten seconds."""
        self._callbacks.drain(JOIN_S)

    def close(self) -> None:
        """End the sampling thread, and the callback thread once all calls have been made."""
        self.end()
        self._callbacks.end(JOIN_S)

    def note_return(
        self, reading: Reading, changes: tuple[str, ...], more: str = ""
    ) -> None:
        """Report that a lost meter answers again, adding the text `more`; does nothing if it was not lost."""
        if self.link_error is None or self._session.identity is None:
            return
        self.link_error = None
        now_s = reading.monotonic_s
        sentence = (
            gap_sentence(self._session.identity, self.last, reading, changes) + more
        )
        line = self._outages.back(sentence, now_s)
        event = LinkEvent("meter-back", now_s, reading.utc, sentence, changes)
        # What is more than a pause is told, however often the link was lost.
        is_pause = _went_on(self.last, reading) and not (changes or more)
        self._report(event, line if is_pause else sentence)

    def require_alive(self, final: Reading) -> None:
        """Raise MeterError `meter-held` if the meter's values were frozen in a way that the driver cannot query."""
        if sentence := held(self._standing, final):
            raise MeterError("meter-held", sentence)

    def _run(self) -> None:
        prefer_this_thread()  # a reading is small work, and late on a busy host
        for reading in updates(
            self._try_to_read, self._setup.update_interval_s, self._ends_in
        ):
            if self.last is None or reading.integrator_s != self.last.integrator_s:
                self._standing.clear()
            self._standing.append(reading)
            self.last = reading
            self._callbacks.put(functools.partial(self._on_reading, reading))

    def _ends_in(self, seconds: float) -> bool:
        self._wait(self._ending, seconds)
        return self._ending.is_set()

    def _try_to_read(self) -> Sample | None:
        asked_s = self._clocks.monotonic()
        with self._lock:
            try:
                meter = self._session.meter()
                taken = meter.read_update()
                if (
                    not self._is_watched
                ):  # a driver over a new link learns from this what to watch
                    self.note_return(taken[0], meter.changes(self._setup))
                    self._session.lock_panel()
                    self._is_watched = True
            except MeterError as error:
                self._session.drop()
                self._is_watched = False
                if asked_s >= self._settled_s or not isinstance(error, MeterTimeout):
                    self._note_loss(error)
                return None
            return taken

    def _note_loss(self, error: MeterError) -> None:
        known = self.link_error
        self.link_error = error
        if known is None:
            now_s = self._clocks.monotonic()
            utc = self._clocks.utcnow()
            line = self._outages.lost(error.sentence, now_s)
            self._report(LinkEvent("meter-lost", now_s, utc, error.sentence), line)
        elif type(known) is not type(error):
            _log.warning("%s%s", self._prefix, error.sentence)

    def _report(self, event: LinkEvent, line: str) -> None:
        if line:
            _log.warning("%s%s", self._prefix, line)
        if self._on_link is not None:
            self._callbacks.put(functools.partial(self._on_link, event))


def _went_on(before: Reading | None, after: Reading) -> bool:
    """Return True if the integrator ran, and was not reset, between two readings."""
    runs = after.state is IntegratorState.START
    return before is not None and runs and not restarted(before, after)


def late_sentence(late_s: float, before: Reading | None, final: Reading) -> str:
    """Return a sentence on the energy added because a lost link delayed the stop; empty if no energy was added.

    The rise of WH since the last reading `before` bounds the rise since the end. If the timer ended the integrator, the
    stop was not late.
    """
    if not late_s or final.state is IntegratorState.TIMEUP:
        return ""
    most_wh = final.energy_wh - (before.energy_wh if before is not None else 0.0)
    return (
        f" The meter was stopped {late_s:.1f} s after the end, when its link was restored: at most {most_wh:.3g} Wh "
        "of its energy are of that time."
    )


class Callbacks:
    """Makes calls in the order of `put`, in a thread of its own.

    A call that raises is logged, and the next calls are made. Waiting calls are kept in memory without a limit: ten
    minutes at ten readings a second take a few megabytes.
    """

    def __init__(self) -> None:
        self._timed_out = False
        self._ended = False
        self._calls: queue.SimpleQueue[Callable[[], object] | None] = (
            queue.SimpleQueue()
        )
        # A daemon thread: a call that never returns must not keep the program from ending.
        self._thread = threading.Thread(target=self._run, name="callbacks", daemon=True)
        self._thread.start()

    def put(self, call: Callable[[], object]) -> None:
        """Queue a call."""
        self._calls.put(call)

    def drain(self, timeout_s: float) -> None:
        """Wait until all queued calls have been made.

        After `timeout_s` it logs a warning and returns; the remaining calls are still made. When called from one of the
        calls, it does not wait.
        """
        # An ending thread may still be alive for a moment, but would never make a call that is queued now.
        if (
            self._thread is threading.current_thread()
            or self._ended
            or not self._thread.is_alive()
        ):
            return
        drained = threading.Event()
        self._calls.put(drained.set)
        if not drained.wait(0.0 if self._timed_out else timeout_s):
            self._timed_out = True
            _log.error("About %d readings are not recorded yet.", self._calls.qsize())

    def end(self, timeout_s: float) -> None:
        """Wait for queued calls and end the thread; `put` must not be called afterwards. A second call does nothing."""
        self.drain(timeout_s)
        self._ended = True
        self._calls.put(None)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            try:
                call()
            except Exception:  # noqa: BLE001 - a callback may raise anything
                _log.exception("A reading could not be recorded; sampling goes on.")
