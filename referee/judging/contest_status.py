"""The present state of the contest for operators: one JSON document for the console and the terminal.

It contains everything that the store knows; `Known` adds what only the server knows. A run that is judged or void is
read once, and again only after it has changed, so reading the status stays cheap on a long day.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib.metadata import version
from typing import Any

from referee.contest import Contest
from referee.judging.answered_images import AnsweredImages
from referee.judging.attention import attention_of
from referee.judging.contest_words import scored_words
from referee.judging.freeze import Freeze
from referee.judging.heat_lights import waiting_heats
from referee.judging.host_status import Told, host_status, told_by_log
from referee.judging.jury_decisions import NOTHING_AWAITED, awaited_documents
from referee.judging.lost_energy_notices import lost_energies
from referee.judging.prizes_at_stake import prizes_at_stake
from referee.judging.run_checks import rows_refused
from referee.judging.run_figures import (
    current_judgement,
    figures_of,
    power_course,
    standing_review,
)
from referee.judging.run_objections import with_objection
from referee.judging.standings import KnownStandings, Standings
from referee.judging.team_documents import team_documents
from referee.store.held_stations import stranded
from referee.store.records import (
    ENERGY_MISSING,
    EnergyMissing,
    Review,
    Run,
    RunState,
)

MOST_REFUSALS = 50
MOST_EVENTS = 100
MOST_POINTS = 300  # in a power curve
OF_ACTIVE = ("team", "state", "heat", "window_s", "extra_s", "images")
OF_RUN = (
    "team",
    "station",
    "heat",
    "state",
    "closed_by",
    "elapsed_s",
    "official",
    "void_reason",
)
# The figures of such a run change only with a judgement or a review.
FINAL = (RunState.JUDGED, RunState.VOID)
LIVE = (
    "elapsed_s",
    "remaining_s",
    "images_served",
    "power_w",
    "energy_wh",
    "reading_age_s",
)  # the last three come from the newest reading
NOT_KNOWN = "idle", None  # a meter while the contest is not served
# State of a meter that may still hold the energy of a finished run.
ENERGY_TO_READ = "energy to read"
Document = dict[str, Any]


@dataclass(frozen=True)
class Known:
    """State that only the server knows: live values of open runs, states of the meters, work in progress and failures.

    `live` has the values named in LIVE, by run number. `meters` has (state, sentence) by station: the state is a
    `referee.runs.meter_state.MeterState`, the sentence says what is wrong, or is None. `waiting` has the armed runs of
    a heat whose client waits for the start, `boards` how the boards of armed runs were heard from, by run number,
    `judging` the runs that are being judged. `plugged` has the findings of plug-ins: code, sentence, is_advice, about.
    """

    live: Mapping[int, Document] = field(default_factory=dict)
    meters: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)
    waiting: frozenset[int] = frozenset()
    boards: Mapping[int, Document | None] = field(default_factory=dict)
    judging: frozenset[int] = frozenset()
    config_changed: str | None = None
    journal_trouble: str | None = None
    database_trouble: str | None = None
    plugged: tuple[Document, ...] = ()


@cache
def program_version() -> str:
    """Return the version. It is cached because reading it takes longer than the rest of the status."""
    return version("lpirc-referee")


class StatusReader:
    """Reader of the status of a contest, for repeated use."""

    def __init__(self, contest: Contest) -> None:
        self._contest = contest
        self._store = contest.store
        self._runs: dict[int, tuple[object, Document]] = {}
        self._last_event = 0
        self._events = list[Document]()
        self._standings = KnownStandings(contest)
        self.answered = AnsweredImages(contest.store)
        self._of_log: tuple[int, Told] | None = None
        self._at_stake: tuple[Standings | None, dict[int, tuple[str, ...]]] = (None, {})

    def read(self, now: datetime, known: Known) -> Document:
        """Return the status at `now`, UTC, as described in docs/http.md; runs, events and refusals newest first."""
        status = self._document(now, known)
        return status | {"attention": attention_of(status)}

    def _document(self, now: datetime, known: Known) -> Document:
        config = self._contest.config
        store = self._store
        self._last_event, new = store.log.newest_after(self._last_event, MOST_EVENTS)
        self._events = [*new, *self._events][:MOST_EVENTS]
        runs = store.runs.find()
        teams = team_documents(store)
        lost = {one.run: one.sentence for one in lost_energies(self._contest)}
        told = self._told()
        published = store.published.get()
        found = self._standings.now()
        listed = self._listed(runs, known, now)
        at = {
            run.station: run
            for run in runs
            if run.state in (RunState.ARMED, RunState.OPEN)
        }
        active = {name: self._active(run, known, now) for name, run in at.items()}
        for one in active.values():
            one["affiliation"] = teams[one["team"]]["affiliation"]
            one["energy_lost"] = lost.get(one["run"])
            if one["energy_lost"] is not None:
                one["energy_wh"] = None  # its meter has started again from 0
        stations = self._stations(active, self._meters(runs, at, known))
        return {
            "utc": now.isoformat(),
            "contest": config.name,
            "version": program_version(),
            "window_s": config.window_s,
            "metric": config.scored_by,
            **scored_words(self._contest),
            "config_changed": known.config_changed,
            "journal_trouble": known.journal_trouble,
            "database_trouble": known.database_trouble,
            "plugged": known.plugged,
            "backup_trouble": told.backup,
            **host_status(self._contest),
            "stations": stations,
            "heats": waiting_heats(stations, store.heats.all()),
            "can_undo_draw": told.drawn == tuple(store.queue.teams()),
            "queue": [
                teams[team] | {"attempts_left": self._attempts_left(teams[team])}
                for team in store.queue.teams()
                if team in teams
            ],
            "runs": [with_objection(one, lost.get(one["run"])) for one in listed],
            "teams": list(teams.values()),
            "announcements": store.announcements.standing(now),
            "questions": [vars(one) for one in store.questions.all()],
            "refusals": [vars(one) for one in store.refusals.newest(MOST_REFUSALS)],
            "events": self._events,
            "stranded": self._stranded(runs),
            "left_out": _left_out(found),
            "board": {
                "state": Freeze(published).state,
                "frozen_utc": published and published.frozen_utc,
                "unveiled": published.unveiled if published else 0,
                "places": len(found.places),
            },
        }

    def _stranded(self, runs: list[Run]) -> list[Document]:
        """Return the runs that need a station which is not in the settings."""
        names = {one.name for one in self._contest.config.stations}
        return [
            {
                "run": one.run.id,
                "team": one.run.team,
                "station": one.run.station,
                "is_over": one.is_over,
                "what": one.what,
            }
            for one in stranded(self._store, names, runs)
        ]

    def _meters(
        self,
        runs: list[Run],
        at: Mapping[str, Run],
        known: Known,
    ) -> dict[str, tuple[str, str | None]]:
        """Return (state, sentence) of each station's meter; a free station's meter may still hold a run's energy."""
        stations = self._contest.config.stations
        meters = {one.name: known.meters.get(one.name, NOT_KNOWN) for one in stations}
        for run, sentence in self._energies_to_read(runs):
            _, problem = meters.get(run.station, NOT_KNOWN)
            if run.station not in at and problem is None:
                meters[run.station] = (ENERGY_TO_READ, sentence)
        return meters

    def _stations(
        self,
        active: Mapping[str, Document],
        meters: Mapping[str, tuple[str, str | None]],
    ) -> list[Document]:
        config = self._contest.config
        documents = []
        for one in config.stations:
            state, sentence = meters[one.name]
            document = {
                "name": one.name,
                "meter": one.meter,
                "meter_state": state,
                "meter_sentence": sentence,
                "arming_at_least_s": config.arming_at_least_s(one),
                "run": active.get(one.name),
            }
            documents.append(document)
        return documents

    def _attempts_left(self, team: Document) -> int | None:
        limit = self._contest.config.attempts
        if not limit:
            return None
        return max(limit - int(team["attempts_used"]), 0)

    def _energies_to_read(self, runs: list[Run]) -> Iterator[tuple[Run, str]]:
        """Yield each run whose energy may still be read from its meter, with the reason why it was not read yet."""
        for run in runs:
            is_over = run.state in (RunState.CLOSED, RunState.JUDGED)
            if not is_over or run.energy_wh is not None:
                continue
            events = self._store.log.of_run(run.id)
            missing = [one for one in events if one["kind"] == ENERGY_MISSING]
            if not missing:
                continue
            if missing[-1].get("code") == EnergyMissing.READ_LATER:
                about = f"The energy of run {run.id} of {run.team}"
                yield run, f"{about} has not been read yet. {missing[-1]['reason']}"

    def _listed(
        self,
        runs: list[Run],
        known: Known,
        now: datetime,
    ) -> list[Document]:
        reviews = self._store.reviews.latest()
        mark = self._store.scores.judgement_mark()
        for run in runs:
            made_of = (run, mark) if run.state in FINAL else None
            was_made_of, _ = self._runs.get(run.id, (None, {}))
            if made_of is None or was_made_of != made_of:
                document = self._run(run, reviews.get(run.id), now)
                self._runs[run.id] = (made_of, document)
        waiting = awaited_documents(self._contest)
        notes = self._store.notes.counts()
        told = self._told()
        at_stake = self._prizes_at_stake()
        documents = []
        for run in reversed(runs):
            changing = {
                "judging": run.id in known.judging,
                "notes": notes.get(run.id, 0),
                "judge_failed": told.judging.get(run.id),
                "live_failed": told.live.get(run.id),
                "prizes_at_stake": at_stake.get(run.id, ()),
            }
            changing |= waiting.get(run.id, NOTHING_AWAITED)
            documents.append(self._runs[run.id][1] | changing)
        return documents

    def _told(self) -> Told:
        """Return what the log says of the present, read again only if it has new events."""
        if self._of_log is None or self._of_log[0] != self._last_event:
            self._of_log = self._last_event, told_by_log(self._store)
        return self._of_log[1]

    def _prizes_at_stake(self) -> dict[int, tuple[str, ...]]:
        found = self._standings.now()
        if self._at_stake[0] is not found:
            self._at_stake = found, prizes_at_stake(self._contest.config.prizes, found)
        return self._at_stake[1]

    def _run(
        self,
        run: Run,
        review: Review | None,
        now: datetime,
    ) -> Document:
        """Return a run's document; `needs_review` if a check failed, `review` if an operator accepted the run."""
        figures = figures_of(self._contest, run, now)
        judged = current_judgement(self._contest, run)
        checks = rows_refused(figures.refused, self._store.posts.refused_rows(run.id))
        newest_utc = None if review is None else review.utc
        if judged is not None:
            checks = judged.checks
            review = standing_review(judged, review)
        failed = [
            {"code": one.code, "severity": one.severity, "sentence": one.sentence}
            for one in checks
            if not one.ok
        ]
        return {"run": run.id} | {key: getattr(run, key) for key in OF_RUN} | {
            "energy_wh": figures.energy_wh,
            "map": figures.map,
            "score": figures.score,
            "figure_state": figures.figure_state,
            "judged_utc": None if judged is None else judged.judged_utc,
            "reviewed_utc": newest_utc,
            "needs_review": None if judged is None else judged.needs_review,
            "review": review,
            "not_ranked": figures.not_ranked,
            "not_ranked_code": figures.not_ranked_code,
            "images_seen": figures.images_seen,
            "refused_rows": figures.refused,
            "failed_checks": failed,
        }  # fmt: skip

    def _active(
        self,
        run: Run,
        known: Known,
        now: datetime,
    ) -> Document:
        """Return the document of an armed or open run. Its mAP and score are provisional, `provisional_age_s` old.

        Power and energy come from a reading that is `reading_age_s` old.
        """
        shown = self._runs[run.id][1]
        live: Document = (
            dict.fromkeys(LIVE) | {"warnings": ()} | known.live.get(run.id, {})
        )
        provisional = self._store.provisional.of_run(run.id)
        if live["images_served"] is None:
            live["images_served"] = len(self._store.served.images(run.id))
        live["images_answered"] = self.answered.count(run.id)
        if live["reading_age_s"] is None:
            live |= self._last_read(run, now)
        age_s = None
        if provisional is not None:
            age = now - datetime.fromisoformat(provisional.utc)
            age_s = age.total_seconds()
        return {"run": run.id} | {key: getattr(run, key) for key in OF_ACTIVE} | live | {
            "waiting": run.id in known.waiting,
            "board": known.boards.get(run.id),
            "rows": self._store.posts.count_detections(run.id),
            "refused_rows": shown["refused_rows"],
            "map": shown["map"],
            "score": shown["score"],
            "figure_state": shown["figure_state"],
            "provisional_age_s": age_s,
            "power": power_course(self._contest, run, MOST_POINTS),
            "warnings": [*live["warnings"], *(one["sentence"] for one in shown["failed_checks"])],
        }  # fmt: skip

    def _last_read(self, run: Run, now: datetime) -> Document:
        """Return the newest stored reading."""
        newest = self._store.readings.newest(run.id)
        if newest is None:
            return {}
        return {
            "power_w": _finite(newest.power_w),
            "energy_wh": _finite(newest.energy_wh),
            "reading_age_s": (now - newest.utc).total_seconds(),
        }


def _left_out(found: Standings) -> list[Document]:
    return [
        {"run": one.run, "team": one.team, "why": one.why} for one in found.left_out
    ]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
