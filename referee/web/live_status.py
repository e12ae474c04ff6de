"""The operator's status while the contest is served, from the store and from the server's memory."""

from __future__ import annotations

import hashlib
import math
import threading
from dataclasses import asdict
from typing import NamedTuple

import orjson

from referee.clock import Clock
from referee.contest import Contest
from referee.errors import StorageFailed
from referee.judging.contest_status import Document, Known, StatusReader
from referee.runs.meter_state import state_of
from referee.runs.open_run import OpenRun
from referee.runs.run_control import RunControl
from referee.runs.run_window import elapsed_s, remaining_s
from referee.store.records import Run, RunState
from referee.web.config_watch import ConfigWatch
from referee.web.heard_boards import HeardBoards
from referee.web.journal_watch import JournalWatch
from referee.web.judge_process import Judging
from referee.web.race_courses import RaceCourses

KEPT_S = 0.5


class Look(NamedTuple):
    """A status as JSON, and what needs attention. The ETag ignores the time in it."""

    body: bytes
    etag: str
    attention: tuple[Document, ...] = ()


class LiveStatus:
    """Computes the status at most once every KEPT_S seconds, regardless of the number of requests.

    `plugged` has the findings of plug-ins, as documents of `Known`; any thread may replace it.
    """

    def __init__(
        self,
        contest: Contest,
        control: RunControl,
        clock: Clock,
        judging: Judging,
        config: ConfigWatch,
        journal: JournalWatch,
        boards: HeardBoards,
    ) -> None:
        self._contest = contest
        self._control = control
        self._clock = clock
        self._judging = judging
        self._config = config
        self._journal = journal
        self._boards = boards
        self.courses = RaceCourses()
        self._reader = StatusReader(contest)
        self.answered = self._reader.answered
        self._lock = threading.Lock()
        self._look: tuple[float, Look] | None = None
        self.plugged: tuple[Document, ...] = ()

    def look(self) -> Look:
        """Return the status, at most KEPT_S old."""
        with self._lock:
            now_s = self._clock.monotonic_s()
            if self._look is None or now_s - self._look[0] >= KEPT_S:
                self._look = now_s, self._made(now_s)
            return self._look[1]

    def renew(self) -> None:
        """Discard the cached status, so the next look sees the latest events."""
        with self._lock:
            self._look = None

    def _made(self, now_s: float) -> Look:
        status = self._reader.read(self._clock.utc(), self._known(now_s))
        self.courses.note(status)
        timeless = orjson.dumps(status | {"utc": None})
        etag = hashlib.sha256(timeless).hexdigest()[:32]
        return Look(orjson.dumps(status), etag, tuple(status["attention"]))

    def _known(self, now_s: float) -> Known:
        control = self._control
        stations = self._contest.config.stations
        waiting = [
            run
            for run in self._contest.store.runs.find(RunState.ARMED)
            if run.heat is not None
        ]
        absent = {run.id for run in control.board.absent(waiting, now_s)}
        return Known(
            live={
                number: live_document(live, now_s)
                for number, live in control.live_runs().items()
            },
            meters={one.name: control.meter_state(one.name) for one in stations},
            waiting=frozenset(run.id for run in waiting if run.id not in absent),
            boards={run.id: self._board(run) for run in waiting},
            judging=self._judging.runs,
            config_changed=self._config.changed,
            journal_trouble=self._journal.trouble,
            database_trouble=self._database_trouble(),
            plugged=self.plugged,
        )

    def _board(self, run: Run) -> Document | None:
        heard = self._boards.of(run.station, run.team)
        return None if heard is None else asdict(heard)

    def _database_trouble(self) -> str | None:
        try:
            self._contest.store.database.require_in_place()
        except StorageFailed as error:
            return error.sentence
        return None


def live_document(live: OpenRun, now_s: float) -> Document:
    """Return what only the server knows of an open run."""
    reading = live.meter.sampler.last
    window = live.window
    figures = (None, None) if reading is None else (reading.power_w, reading.energy_wh)
    power_w, energy_wh = (
        None if one is None or not math.isfinite(one) else one for one in figures
    )
    lost = state_of(live, now_s)[1]
    answered = (f"The team was warned: {one}" for one in live.warnings)
    warnings = (*live.meter.log.warnings, *([lost] if lost else []), *answered)
    return {
        "elapsed_s": elapsed_s(window, now_s),
        "remaining_s": remaining_s(window, now_s),
        "images_served": live.served_images,
        "power_w": power_w,
        "energy_wh": energy_wh,
        "reading_age_s": None if reading is None else now_s - reading.monotonic_s,
        "warnings": warnings,
    }
