"""What everyone may know, published by the live process as two documents: the results, until a freeze, and the hall.

The results are all that tells how runs have scored, power and attempts included: a void run uses none. The hall is who
runs, who is next, and announcements; it goes on while the board is frozen, so nothing in it may follow from a result.
Public pages show the stored documents and read nothing else. The figures are those of `judging.standings`. The energy
and the mAP of an open run are in them only where the contest says so (`public_score`).
"""

from __future__ import annotations

import json
import logging
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, fields
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any

from lpirc_score.metrics.ilsvrc_det import PUBLISHED
from referee.clock import Clock
from referee.contest import Contest
from referee.errors import RefereeError
from referee.judging.figure_freshness import state_of
from referee.judging.figure_state import FigureState
from referee.judging.lost_energy_notices import lost_energies
from referee.judging.ranking import FailedCheck, NotRanked, Place, Standing
from referee.judging.released_figures import released_of
from referee.judging.standings import (
    KnownStandings,
    Standings,
    place_document,
    power_course,
    standings,
)
from referee.store import Store
from referee.store.records import (
    TRUTH_CORRECTED,
    BoardState,
    Published,
    Run,
    RunState,
    is_due,
)

logger = logging.getLogger(__name__)

TICK_S = 1.0
NOTE_NOT_PUBLIC = "an operator let it stand"
MOST_POINTS = 120  # of a power curve, over the whole window
NOT_KNOWN = dict.fromkeys(
    ("power_w", "figure_state", "as_of_utc", "map", "energy_wh", "score")
)
"""The figures of an open run of which nothing is known now."""


@cache
def champions() -> list[dict[str, float]]:
    """The published champions of LPIRC: year, map by the metric PUBLISHED, energy_wh, score."""
    read: list[dict[str, float]] = json.loads(
        files(__package__).joinpath("champions.json").read_text()
    )
    return read


EMPTY_HALL: dict[str, list[Any]] = {"now": [], "next": [], "announcements": []}
NO_FIGURES: dict[str, Any] = NOT_KNOWN | {"power": {"elapsed_s": [], "power_w": []}}
"""Of a run whose figures the public may not see, or that has none."""


def empty_board(contest: Contest) -> str:
    """The results before anything is published."""
    lists = (
        "ranking",
        "unranked",
        "left_out",
        "prizes",
        "attempts",
        "corrections",
        "energy_lost",
    )
    return _document(
        contest, **{name: [] for name in lists}, rules={}, figures={}, log=None
    )


def log_head(contest: Contest, now: datetime) -> dict[str, Any]:
    """The newest head of the contest's log in the minute of `now`: utc, events, link (hexadecimal)."""
    events, _, link = contest.store.log.head()
    return {
        "utc": now.replace(second=0, microsecond=0).isoformat(),
        "events": events,
        "link": link,
    }


def public_board(
    contest: Contest,
    now: datetime,
    found: Standings | None = None,
    log: dict[str, Any] | None = None,
) -> str:
    """The results as they stand `now`, UTC, all computed; `found` are the standings where they are known.

    `log` is a `log_head`; None: the document says nothing of the log. `ranking` and `unranked` have the documents of
    `judging.standings`, each with affiliation and number of images. `figures` are those of the open run at a station.
    `rules` has those that are bound to a run of the board, by their SHA-256.
    """
    store = contest.store
    runs = {run.id: run for run in store.runs.find()}
    found, affiliations = found or standings(contest), store.teams.affiliations()
    used = Counter(run.team for run in runs.values() if run.state is not RunState.VOID)

    def public(one: Place) -> dict[str, Any]:
        place = place_document(one)
        more = {
            "affiliation": affiliations[place["team"]],
            "images": runs[place["run"]].images,
        }
        return (
            place | more | {"reviewed": place["reviewed"] is not None}
        )  # its note is for the operators

    teams = [team for team, is_disabled in store.teams.all().items() if not is_disabled]
    opened = [run for run in runs.values() if run.state is RunState.OPEN]
    ranked = [runs[place.standing.run] for place in (*found.places, *found.unranked)]
    lost = lost_energies(contest)
    return _document(
        contest,
        energy_lost=[asdict(one) for one in lost],
        ranking=[public(place) for place in found.places],
        unranked=[public(place) for place in found.unranked],
        left_out=[
            {"run": one.run, "team": one.team, "why": one.why} for one in found.left_out
        ],
        prizes=[asdict(one) for one in found.awards],
        figures={run.station: _figures(contest, run, now) for run in opened},
        attempts=[{"team": team, "used": used[team]} for team in teams],
        corrections=_corrections(store),
        rules=_rules_of([*ranked, *opened]),
        log=log,
    )


def _rules_of(runs: Iterable[Run]) -> dict[str, Any]:
    return {run.rules.sha256: run.rules.stated for run in runs if run.rules is not None}


def _corrections(store: Store) -> list[dict[str, Any]]:
    """Each correction of the ground truth, with the runs that were judged by it, as they signed it."""
    found: dict[tuple[object, ...], dict[str, Any]] = {}
    for run, events in store.log.of_kinds([TRUTH_CORRECTED]).items():
        for event in events:
            said = {name: event[name] for name in ("old", "new", "by", "reason")}
            one = found.setdefault(
                (*said.values(),),
                {"utc": event["utc"], **said, "runs": [], "signatures": []},
            )
            one["runs"].append(run)
            one["signatures"].append(
                {name: event[name] for name in ("utc", "signature", "public_key")}
            )
    return sorted(found.values(), key=lambda one: str(one["utc"]))


def _document(contest: Contest, **changing: object) -> str:
    config = contest.config
    fixed = {
        "contest": config.name,
        "metric": config.metric,
        "window_s": config.window_s,
        "images": config.images.per_attempt or len(contest.test_set.images),
        "attempts_each": config.attempts,
        "champions": champions(),
        "champions_metric": PUBLISHED,
        "public_key": contest.store.identity.public_key(),
    }
    return json.dumps(fixed | changing, ensure_ascii=False)


def public_hall(contest: Contest) -> str:
    """The hall as it is now: who runs or gets ready, who is next, and the announcements."""
    store = contest.store
    affiliations = store.teams.affiliations()
    on = [
        run for run in store.runs.find() if run.state in (RunState.ARMED, RunState.OPEN)
    ]
    found = {
        "now": [_running(run, affiliations[run.team]) for run in on],
        "next": store.queue.teams(),
        "announcements": [
            {"utc": one["utc"], "text": one["text"]}
            for one in store.announcements.standing()
        ],
    }
    return json.dumps(found, ensure_ascii=False)


def _running(run: Run, affiliation: str | None) -> dict[str, Any]:
    """A run that is armed or open, without its figures and its number, which counts the runs before it."""
    return {
        "team": run.team,
        "affiliation": affiliation,
        "station": run.station,
        "heat": run.heat,
        "state": run.state,
        "ends_utc": _ends_utc(run),
    }


def _ends_utc(run: Run) -> str | None:
    if run.opened_utc is None:
        return None
    return (
        datetime.fromisoformat(run.opened_utc) + timedelta(seconds=run.window_s)
    ).isoformat()


def _figures(contest: Contest, run: Run, now: datetime) -> dict[str, Any]:
    """The figures of an open run. `power` has the means of its course; mAP, energy and score need `public_score`.

    They are those released at `as_of_utc`. Unless they are fresh it has neither energy nor score: with its energy lost,
    what its meter holds is too little, and the score too high.
    """
    power = power_course(contest, run, MOST_POINTS)
    state = state_of(contest.store, run, now)
    is_read = state is FigureState.FRESH and bool(power["power_w"])
    released = released_of(contest, run, now) if contest.config.public_score else None
    return {
        "ends_utc": _ends_utc(run),
        "power_w": power["power_w"][-1] if is_read else None,
        "power": power,
        "figure_state": state,
        "as_of_utc": released and released.utc,
        "map": released and released.map,
        "energy_wh": released and released.energy_wh,
        "score": released and released.score,
    }


def shown(row: Published) -> dict[str, Any]:
    """What the public sees of the published row: results and hall in one document, with the state of the board.

    Open runs have figures only while it is live: a course of power tells an energy. While the board is unveiled, the
    last places of the final ranking stand as they are, and the other teams before them as they were at the freeze,
    without a rank.
    """
    absent_in_an_earlier_form: dict[str, Any] = {
        "energy_lost": [],
        "corrections": [],
        "rules": {},
        "figures": {},
    }
    document: dict[str, Any] = absent_in_an_earlier_form | json.loads(row.document)
    figures = document.pop("figures")
    board: dict[str, Any] = {
        "state": row.state,
        "utc": row.hall_utc or row.utc,
        "unveiled": row.unveiled,
        "places": row.places,
    }
    board |= EMPTY_HALL if row.hall is None else json.loads(row.hall)
    is_live = row.state is BoardState.LIVE
    board["now"] = [
        one | (_figures_at(one, figures) if is_live else NO_FIGURES)
        for one in board["now"]
    ]
    if is_live:
        return document | board
    hidden: dict[str, Any] = {"energy_lost": [], "frozen_utc": row.frozen_utc}
    if row.final is not None:
        final = json.loads(row.final)["ranking"]
        hidden |= {key: [] for key in ("prizes", "unranked", "left_out")}
        hidden |= {"ranking": _unveiled(document["ranking"], final, row.unveiled)}
    return document | board | hidden


def shown_standings(row: Published) -> list[Standing]:
    """The runs that the public sees of the published row, ranked ones first; a review is told without its note."""
    board = shown(row)
    return [_standing_of(place) for place in (*board["ranking"], *board["unranked"])]


def _standing_of(place: dict[str, Any]) -> Standing:
    """A place of the public document as a standing; what an earlier form lacks is as if it were not so."""
    names = {one.name for one in fields(Standing)}
    found = {name: value for name, value in place.items() if name in names}
    code = found.get("not_ranked_code")
    return Standing(
        **found
        | {
            "failed_checks": tuple(
                FailedCheck(**one) for one in place.get("failed_checks", ())
            ),
            "other_rules": tuple(place.get("other_rules", ())),
            "not_ranked_code": None if code is None else NotRanked(code),
            "reviewed": NOTE_NOT_PUBLIC if place["reviewed"] else None,
        }
    )


def _figures_at(running: dict[str, Any], figures: dict[str, Any]) -> dict[str, Any]:
    """The figures of a run of the hall; those of the station's run before it are not its own."""
    found: dict[str, Any] = figures.get(running["station"], NO_FIGURES)
    is_its_own = found.get("ends_utc") == running["ends_utc"]
    return found if is_its_own else NO_FIGURES


def _unveiled(frozen: list[Any], final: list[Any], count: int) -> list[Any]:
    """The unveiled places do not say how they compare with the hidden ones."""
    seen = final[len(final) - count :]
    teams = {place["team"] for place in seen}
    unveiled = [
        place
        | {
            "differs": [],
            "level_with": [r for r in place["level_with"] if r["team"] in teams],
        }
        for place in seen
    ]
    rest = [
        place | {"rank": None, "differs": [], "level_with": []}
        for place in frozen
        if place["team"] not in teams
    ]
    return rest + unveiled


def publish(contest: Contest, clock: Clock, stop: threading.Event) -> None:
    """Publish the board each second when it has changed, until `stop` is set; what fails is logged and tried again."""
    publisher = Publisher(contest, clock)
    while not stop.is_set():
        start_s = clock.monotonic_s()
        try:
            publisher.tick()
        except RefereeError as error:
            logger.warning("the board cannot be published now: %s", error.sentence)
        except Exception:
            logger.exception("the board cannot be published")
        clock.wait(stop, start_s + TICK_S)


class Publisher:
    """Publishes results and hall."""

    def __init__(self, contest: Contest, clock: Clock) -> None:
        self._contest, self._store, self._clock = contest, contest.store, clock
        self._standings = KnownStandings(contest)
        self._log: dict[str, Any] = {}

    def tick(self) -> None:
        """Publish once, without the results if the board is frozen, or due to be: then freeze it first."""
        row = self._store.published.get()
        is_live = row is None or row.state is BoardState.LIVE
        document = self._results(row) if is_live else None
        hall = public_hall(self._contest)
        has_changed = (
            row is None or row.hall != hall or document not in (None, row.document)
        )
        # The clock of an open run counts from the time of publishing.
        if has_changed or self._store.runs.find(RunState.OPEN):
            self._store.published.publish(document, hall, self._clock.utc())

    def _results(self, row: Published | None) -> str | None:
        """The results to publish; None if they are frozen from now on.

        The time is taken after everything was read: what is published was known before the freeze.
        """
        freeze_at, begun = self._contest.config.freeze_at, self._clock.utc()
        # It stays for a minute: otherwise the document would change every second.
        if self._log.get("utc") != begun.replace(second=0, microsecond=0).isoformat():
            self._log = log_head(self._contest, begun)
        document = public_board(self._contest, begun, self._standings.now(), self._log)
        now = self._clock.utc()
        if freeze_at is not None and is_due(
            None if row is None else row.unveiled_utc, now, freeze_at
        ):
            # Whoever sees a link of the log must find it after a power cut, too.
            with self._store.durable() as store:
                store.published.freeze(
                    freeze_at.astimezone(UTC), empty_board(self._contest)
                )
                store.log.append(
                    now, None, "board-freeze", freeze_at=freeze_at.isoformat()
                )
            logger.warning("the board is frozen: it is %s", freeze_at.isoformat())
            return None
        return document
