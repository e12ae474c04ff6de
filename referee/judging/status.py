"""The contest as an operator sees it now: one document for the console and the terminal.

It tells all that the store knows; `Known` adds what only the server does. Runs that are over are read once and again
when something of them has changed, so a look costs little however long the day is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib.metadata import version
from typing import Any

from power.energy import Check
from referee.contest import Contest
from referee.judging.checks import rows_refused
from referee.judging.results import current_judgement, figures_of, standings
from referee.store.records import Announcement, Refusal, Review, Run, RunState

MOST_REFUSALS, MOST_EVENTS = 50, 100


@dataclass(frozen=True)
class LiveRun:
    """What the server knows of an open run; energy and power are of the newest reading, None before there is one."""

    elapsed_s: float | None = None
    remaining_s: float | None = None
    images_served: int | None = None
    power_w: float | None = None
    energy_wh: float | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Known:
    """What only the server knows: live runs by number, (state, sentence) of meters by station, runs that wait."""

    live: Mapping[int, LiveRun] = field(default_factory=dict)
    meters: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)
    waiting: frozenset[int] = frozenset()
    judging: frozenset[int] = frozenset()
    config_changed: str | None = None


@dataclass(frozen=True)
class Active:
    """The armed or open run of a station; `provisional_age_s` is how old its mAP and score are."""

    run: int
    team: str
    affiliation: str | None
    state: str
    heat: str | None
    waiting: bool
    window_s: float
    extra_s: float | None
    remaining_s: float | None
    elapsed_s: float | None
    images: int
    images_served: int
    rows: int
    refused_rows: int
    power_w: float | None
    energy_wh: float | None
    map: float | None
    score: float | None
    provisional_age_s: float | None
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class StationStatus:
    """A station; `meter_state` is idle, ready, integrating or lost, with the sentence of what is wrong."""

    name: str
    meter: str
    meter_state: str
    meter_sentence: str | None
    run: Active | None


@dataclass(frozen=True)
class Queued:
    """A team that waits for its turn; `attempts_left` is None where there is no limit."""

    team: str
    affiliation: str | None
    attempts_used: int
    attempts_left: int | None


@dataclass(frozen=True)
class FailedCheck:
    """A check that a run failed."""

    code: str
    severity: str
    sentence: str


@dataclass(frozen=True)
class RunStatus:
    """A run in the list of all."""

    run: int
    team: str
    station: str
    heat: str | None
    state: str
    closed_by: str | None
    elapsed_s: float | None
    energy_wh: float | None
    map: float | None
    score: float | None
    official: bool
    needs_review: bool | None
    review: Review | None
    void_reason: str | None
    refused_rows: int
    failed_checks: tuple[FailedCheck, ...]
    judging: bool


@dataclass(frozen=True)
class TeamStatus:
    """A team; void runs are no attempts."""

    team: str
    affiliation: str | None
    disabled: bool
    attempts_used: int


@dataclass(frozen=True)
class LeftOut:
    """A judged run that has no place, and why."""

    run: int
    team: str
    why: str


@dataclass(frozen=True)
class BoardStatus:
    """The public board: live, frozen or unveiling; `unveiled` of its `places` are shown."""

    state: str = "live"
    frozen_utc: str | None = None
    unveiled: int = 0
    places: int = 0


@dataclass(frozen=True)
class Status:
    """Everything an operator sees; runs, events and refusals newest first."""

    utc: str
    contest: str
    version: str
    window_s: int
    metric: str
    config_changed: str | None
    stations: tuple[StationStatus, ...]
    queue: tuple[Queued, ...]
    runs: tuple[RunStatus, ...]
    teams: tuple[TeamStatus, ...]
    announcements: tuple[Announcement, ...]
    refusals: tuple[Refusal, ...]
    events: list[dict[str, Any]]
    left_out: tuple[LeftOut, ...]
    board: BoardStatus


@cache
def program_version() -> str:
    """Read once: looking it up takes longer than all the rest."""
    return version("lpirc-referee")


class StatusReader:
    """Reads the status of a contest again and again."""

    def __init__(self, contest: Contest) -> None:
        self._contest, self._store = contest, contest.store
        self._read: dict[int, tuple[object, RunStatus]] = {}
        self._ranked: tuple[object, tuple[LeftOut, ...], int] = (None, (), 0)

    def read(self, now: datetime, known: Known) -> Status:
        """The status at `now`, UTC."""
        config = self._contest.config
        runs, teams = self._store.runs(), self._store.teams()
        affiliations = self._store.affiliations()
        used = Counter(run.team for run in runs if run.state is not RunState.VOID)
        versions = self._store.newest_scores()
        listed = self._runs(runs, versions, known)
        left_out, places = self._ranking(runs, versions)
        at = {run.station: run for run in runs if run.state in (RunState.ARMED, RunState.OPEN)}
        active = {name: self._active(run, affiliations, known, now) for name, run in at.items()}
        stations = tuple(
            StationStatus(
                one.name, one.meter, *known.meters.get(one.name, ("idle", None)), active.get(one.name)
            )
            for one in config.stations
        )
        queue = tuple(
            Queued(
                team,
                affiliations.get(team),
                used[team],
                config.attempts - used[team] if config.attempts else None,
            )
            for team in self._store.queue()
        )
        return Status(
            utc=now.isoformat(),
            contest=config.name,
            version=program_version(),
            window_s=config.window_s,
            metric=config.metric,
            config_changed=known.config_changed,
            stations=stations,
            queue=queue,
            runs=listed,
            teams=tuple(TeamStatus(team, affiliations[team], off, used[team]) for team, off in teams.items()),
            announcements=self._store.announcements(),
            refusals=self._store.refusals(MOST_REFUSALS),
            events=self._store.newest_events(MOST_EVENTS),
            left_out=left_out,
            board=BoardStatus(*self._store.board_state(), places),
        )

    def _runs(self, runs: list[Run], versions: Mapping[int, int], known: Known) -> tuple[RunStatus, ...]:
        reviews, refused = self._store.latest_reviews(), self._store.refused_counts()
        provisional = self._store.provisional_times()
        for run in runs:
            depends = (
                run,
                versions.get(run.id),
                reviews.get(run.id),
                refused.get(run.id),
                provisional.get(run.id),
            )
            made = depends, run.id in known.judging
            if self._read.get(run.id, (None,))[0] != made:
                self._read[run.id] = made, self._run(run, reviews.get(run.id), judging=made[1])
        return tuple(self._read[run.id][1] for run in reversed(runs))

    def _run(self, run: Run, review: Review | None, *, judging: bool) -> RunStatus:
        figures, judged = figures_of(self._contest, run), current_judgement(self._contest, run)
        checks: tuple[Check, ...] = rows_refused(figures.refused, self._store.refused_rows(run.id)[:3])
        if judged is not None:
            checks = tuple(check for check in judged.checks if not check.ok)
        return RunStatus(
            run=run.id,
            team=run.team,
            station=run.station,
            heat=run.heat,
            state=run.state.value,
            closed_by=run.closed_by,
            elapsed_s=run.elapsed_s,
            energy_wh=figures.energy_wh,
            map=figures.map,
            score=figures.score,
            official=run.official,
            needs_review=figures.needs_review,
            review=review,
            void_reason=run.void_reason,
            refused_rows=figures.refused,
            failed_checks=tuple(FailedCheck(one.code, one.severity, one.sentence) for one in checks),
            judging=judging,
        )

    def _ranking(self, runs: list[Run], versions: Mapping[int, int]) -> tuple[tuple[LeftOut, ...], int]:
        """The runs without a place, and how many places there are: found again after each judgement."""
        made = [(run.id, versions.get(run.id)) for run in runs if run.state is RunState.JUDGED]
        if self._ranked[0] != made:
            found = standings(self._contest)
            why = {True: "it has no score", False: "it was judged by other rules or settings; judge it again"}
            left_out = tuple(LeftOut(one.run, one.team, why[one.judged_by is None]) for one in found.left_out)
            left_out += tuple(LeftOut(one.run, one.team, low) for one, low in found.unranked)
            self._ranked = made, left_out, len(found.places)
        return self._ranked[1:]

    def _active(
        self, run: Run, affiliations: Mapping[str, str | None], known: Known, now: datetime
    ) -> Active:
        figures, live = self._read[run.id][1], known.live.get(run.id, LiveRun())
        provisional = self._store.provisional(run.id)
        age = None if provisional is None else now - datetime.fromisoformat(provisional.utc)
        return Active(
            run=run.id,
            team=run.team,
            affiliation=affiliations.get(run.team),
            state=run.state.value,
            heat=run.heat,
            waiting=run.id in known.waiting,
            window_s=run.window_s,
            extra_s=run.extra_s,
            remaining_s=live.remaining_s,
            elapsed_s=live.elapsed_s,
            images=run.images,
            images_served=len(self._store.served_images(run.id))
            if live.images_served is None
            else live.images_served,
            rows=self._store.count_detections(run.id),
            refused_rows=figures.refused_rows,
            power_w=live.power_w,
            energy_wh=figures.energy_wh if live.energy_wh is None else live.energy_wh,
            map=figures.map,
            score=figures.score,
            provisional_age_s=None if age is None else age.total_seconds(),
            warnings=(*live.warnings, *(one.sentence for one in figures.failed_checks)),
        )
