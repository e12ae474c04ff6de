"""What is known of recordings that are under way: the last reading, the link, the power until now."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from lpirc_power.live.envelope import Envelope
from lpirc_power.marks.mark_list import MarkList
from lpirc_power.meter import Identity, Reading
from lpirc_power.page.traces import Trace
from lpirc_power.record.document import Mark, Moment
from lpirc_power.recording_run.watcher import Watcher
from lpirc_power.sampling.sampler import LinkEvent

STALE_S: Final = 3.0
"""Age at which a reading no longer says what the meter measures now; a slow meter's may be three of its updates."""
MOST_METERS: Final = 64
"""Recordings that are kept; of a long series the first ones leave."""
MOST_MARKS: Final = 200
"""Marks that are shown, the last ones."""


@dataclass
class _Live:
    """One recording; the state's lock guards it."""

    name: str
    identity: Identity | None = None
    begin_s: float | None = None
    reading: Reading | None = None
    interval_s: float = 0.0
    readings: int = 0
    flagged: int = 0
    losses: int = 0
    lost: str = ""
    is_stopped: bool = False
    envelope: Envelope | None = None


@dataclass(frozen=True)
class LiveMeter:
    """What is known of one recording at `now_s`.

    `lost` is a sentence while the link is lost. `begin_s` is None before the start; a meter that is only watched never
    starts. `flagged` counts readings over range or clipped.
    """

    name: str
    now_s: float
    identity: Identity | None
    begin_s: float | None
    reading: Reading | None
    interval_s: float
    readings: int
    flagged: int
    losses: int
    lost: str
    is_stopped: bool
    trace: Trace | None

    @property
    def age_s(self) -> float:
        """How old the last reading is; infinite without one."""
        return (
            math.inf if self.reading is None else self.now_s - self.reading.monotonic_s
        )

    @property
    def is_current(self) -> bool:
        """Return True if the last reading says what the meter measures now."""
        longest_s = max(STALE_S, 3.0 * self.interval_s)
        return not (self.lost or self.is_stopped) and self.age_s <= longest_s


@dataclass(frozen=True)
class LiveView:
    """What is known of all recordings, in the order of their beginnings, and the last marks."""

    meters: tuple[LiveMeter, ...] = ()
    marks: tuple[Mark, ...] = ()
    marks_lost: int = 0


@dataclass
class LiveState(Watcher):
    """Hears of recordings from any thread; `view` returns what is known now. It needs constant memory."""

    monotonic: Callable[[], float]
    _meters: dict[str, _Live] = field(default_factory=dict)
    _marks: MarkList | None = None
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def view(self) -> LiveView:
        """Return what is known now."""
        now_s = self.monotonic()
        marks = self._marks
        with self._guard:
            meters = tuple(_view(one, now_s) for one in self._meters.values())
        if marks is None:
            return LiveView(meters)
        return LiveView(meters, marks.latest(MOST_MARKS), marks.lost)

    def on_marks(self, marks: MarkList) -> None:
        """Show the marks of the recording that begins."""
        self._marks = marks

    def on_armed(self, name: str, identity: Identity) -> None:
        """Show which meter it is."""
        with self._guard:
            self._meters.pop(name, None)
            if len(self._meters) >= MOST_METERS:
                del self._meters[next(iter(self._meters))]
            self._meters[name] = _Live(name, identity)

    def on_start(self, name: str, start: Moment) -> None:
        """Count from here."""
        with self._guard:
            self._live(name).begin_s = start.monotonic_s

    def on_reading(self, name: str, reading: Reading) -> None:
        """Keep the reading as the last one."""
        with self._guard:
            self._add(self._live(name), reading)

    def on_link(self, name: str, event: LinkEvent) -> None:
        """Show that the link is lost, or back."""
        with self._guard:
            live = self._live(name)
            is_lost = event.kind == "meter-lost"
            live.losses += is_lost
            live.lost = event.sentence if is_lost else ""

    def on_stop(self, name: str, reading: Reading) -> None:
        """Show the energy at the end."""
        with self._guard:
            live = self._live(name)
            self._add(live, replace(reading, power_w=math.nan))
            live.reading = reading
            live.is_stopped = True
            live.lost = ""

    def _live(self, name: str) -> _Live:
        return self._meters.setdefault(name, _Live(name))

    def _add(self, live: _Live, reading: Reading) -> None:
        before = live.reading
        if before is not None:
            pause_s = reading.monotonic_s - before.monotonic_s
            # A gap is no interval: a reading after it is not fresh for three times as long.
            longest_s = 2.0 * live.interval_s or pause_s
            live.interval_s = min(pause_s, longest_s)
        if live.envelope is None:
            begin_s = reading.monotonic_s if live.begin_s is None else live.begin_s
            live.envelope = Envelope(begin_s)
        live.envelope.add(reading.monotonic_s, reading.power_w)
        live.reading = reading
        live.readings += 1
        is_clipped = reading.voltage_peak_over or reading.current_peak_over
        live.flagged += reading.over_range or is_clipped


def _view(live: _Live, now_s: float) -> LiveMeter:
    envelope = live.envelope
    longest_s = max(STALE_S, 3.0 * live.interval_s)
    return LiveMeter(
        name=live.name,
        now_s=now_s,
        identity=live.identity,
        begin_s=live.begin_s,
        reading=live.reading,
        interval_s=live.interval_s,
        readings=live.readings,
        flagged=live.flagged,
        losses=live.losses,
        lost=live.lost,
        is_stopped=live.is_stopped,
        trace=None if envelope is None else envelope.trace(longest_s),
    )
