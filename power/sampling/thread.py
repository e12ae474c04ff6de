"""One run's sampling: a thread that reads every update of the meter once, through losses of its link."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from power.clocks import Clocks
from power.errors import MeterError
from power.meter import Reading, Setup
from power.sampling.callbacks import Delivery
from power.sampling.connection import PASSING, Loan
from power.sampling.gaps import gap_sentence
from power.sampling.polling import RETRY_S, Sample, updates

__all__ = ["PASSING", "RETRY_S", "LinkEvent", "Sampling", "Takers"]

_log: Final = logging.getLogger(__name__)

JOIN_S: Final = 10.0
STARTING_S: Final = 0.3
"""For some 0.2 s after a start the meter may refuse to answer (seen on a real WT310E)."""


@dataclass(frozen=True)
class LinkEvent:
    """The link to a sampled meter was lost, or is back; `changes` is what in the meter then differs from its setup."""

    kind: Literal["meter-lost", "meter-back"]
    monotonic_s: float
    utc: datetime
    sentence: str
    changes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Takers:
    """Who is told of what happens, from the thread of a Delivery."""

    reading: Callable[[Reading], None]
    link: Callable[[LinkEvent], None] | None


class Sampling:
    """Owns the sampling thread of one run, and what it knows of the link. `lock` guards the loaned meter."""

    def __init__(
        self,
        loan: Loan,
        lock: threading.RLock,
        setup: Setup,
        takers: Takers,
        clocks: Clocks,
        wait: Callable[[threading.Event, float], object],
    ) -> None:
        self.last: Reading | None = None
        self.link_error: MeterError | None = None
        self.losses = 0
        self._loan = loan
        self._lock = lock
        self._setup = setup
        self._takers = takers
        self._clocks = clocks
        self._wait = wait
        self._delivery = Delivery()
        self._ending = threading.Event()
        self._settled_s = clocks.monotonic() + STARTING_S
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._thread.start()

    @property
    def consumer_error(self) -> Exception | None:
        """What a taker raised first."""
        return self._delivery.error

    def is_running(self) -> bool:
        """Whether the thread still runs."""
        return self._thread.is_alive()

    def end(self) -> None:
        """End the thread; a second call does nothing."""
        self._ending.set()
        self._thread.join(JOIN_S)

    def drain(self) -> None:
        """Wait until the takers have all that was read, for ten seconds at most."""
        self._delivery.drain(JOIN_S)

    def close(self) -> None:
        """End the thread, and that of the takers once they have all."""
        self.end()
        self._delivery.end(JOIN_S)

    def note_return(self, reading: Reading, changes: tuple[str, ...]) -> None:
        """Tell that a lost meter answers again; nothing happens if it was not lost."""
        if self.link_error is None or self._loan.identity is None:
            return
        self.link_error = None
        sentence = gap_sentence(self._loan.identity, self.last, reading, changes)
        self._tell(LinkEvent("meter-back", reading.monotonic_s, reading.utc, sentence, changes))

    def _run(self) -> None:
        for reading in updates(self._try_to_read, self._setup.update_interval_s, self._ends_in):
            self.last = reading
            self._delivery.put(functools.partial(self._takers.reading, reading))

    def _ends_in(self, seconds: float) -> bool:
        self._wait(self._ending, seconds)
        return self._ending.is_set()

    def _try_to_read(self) -> Sample | None:
        asked_s = self._clocks.monotonic()
        with self._lock:
            try:
                meter = self._loan.meter()
                taken = meter.read_update()
                if self.link_error is not None:
                    self.note_return(taken[0], meter.changes(self._setup))
            except MeterError as error:
                self._loan.drop()
                if asked_s >= self._settled_s or error.code != "meter-timeout":
                    self._note_loss(error)
                return None
            return taken

    def _note_loss(self, error: MeterError) -> None:
        known, self.link_error = self.link_error, error
        if known is None:
            self.losses += 1
            now_s, utc = self._clocks.monotonic(), self._clocks.utcnow()
            self._tell(LinkEvent("meter-lost", now_s, utc, error.sentence))
        elif known.code != error.code:
            _log.warning("%s", error.sentence)

    def _tell(self, event: LinkEvent) -> None:
        _log.warning("%s", event.sentence)
        if self._takers.link is not None:
            self._delivery.put(functools.partial(self._takers.link, event))
