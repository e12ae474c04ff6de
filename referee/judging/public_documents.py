"""The public documents, published by the live process: the results, until a freeze, and the hall.

The results contain everything that reveals how runs have scored, including power and attempts, since a void run uses no
attempt. The hall shows who runs, who is next, and the announcements. It continues while the board is frozen, so it must
not reveal any result. Public pages show the stored documents and read nothing else. The figures are those of
`judging.standings`. They include the energy and the mAP of an open run only if the contest allows it (`public_score`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any

from lpirc_score.metrics.ilsvrc_det import PUBLISHED
from lpirc_score.tasks import BOXES
from referee.contest import Contest
from referee.contest_rules import DEFAULT, ContestRule
from referee.judging.answered_images import AnsweredImages
from referee.judging.contest_words import no_truth
from referee.judging.figure_freshness import state_of
from referee.judging.figure_state import FigureState
from referee.judging.heat_courses import courses_before, powers_before, with_courses
from referee.judging.heat_documents import heats_document
from referee.judging.lost_energy_notices import lost_energies
from referee.judging.ranking import Place
from referee.judging.released_figures import (
    published_awards,
    published_figures,
    released_of,
)
from referee.judging.run_figures import power_course
from referee.judging.standings import Standings, place_document, standings
from referee.judging.team_attempts import attempts_by_team
from referee.store import Store
from referee.store.records import (
    TRUTH_CORRECTED,
    Published,
    Run,
    RunState,
)

MOST_POINTS = 120  # in a power curve of the whole window
_LOG_KEY = '"log": '


@cache
def champions() -> list[dict[str, float]]:
    """Return the published champions of LPIRC: year, `map` (by the metric PUBLISHED), energy_wh, score."""
    read: list[dict[str, float]] = json.loads(
        files(__package__).joinpath("champions.json").read_text()
    )
    return read


def empty_board(contest: Contest) -> str:
    """Return the results as they are before anything is published."""
    lists = (
        "ranking",
        "unranked",
        "left_out",
        "prizes",
        "attempts",
        "corrections",
        "energy_lost",
        "heats",
    )
    return _document(
        contest,
        **{name: [] for name in lists},
        tournament=None,
        rules={},
        figures={},
        teams={},
        log=None,
    )


def log_head(contest: Contest, now: datetime) -> dict[str, Any]:
    """Return the newest head of the contest's log: utc in full seconds, events, link (hexadecimal)."""
    events, _, link = contest.store.log.head()
    return {
        "utc": now.replace(microsecond=0).isoformat(),
        "events": events,
        "link": link,
    }


def published_head(document: str) -> dict[str, Any] | None:
    """Return the `log_head` of published results, or None if they have none.

    The log is the last key of the document, so its whole text need not be parsed. No text within it can look like the
    key, because quotation marks in JSON strings are escaped.
    """
    at = document.rfind(_LOG_KEY)
    if at < 0:
        return None
    found, _ = json.JSONDecoder().raw_decode(document, at + len(_LOG_KEY))
    head: dict[str, Any] | None = found
    return head


def public_board(
    contest: Contest,
    now: datetime,
    found: Standings | None = None,
    log: dict[str, Any] | None = None,
    heats: dict[str, Any] | None = None,
    before: Published | None = None,
    answered: AnsweredImages | None = None,
) -> str:
    """Return the results at `now`, UTC. `found` are the published standings, if they are known already.

    `log` is a `log_head`; with None the document does not mention the log. `ranking` and `unranked` have the documents
    of `judging.standings`, each with affiliation and number of images; all figures that depend on the ground truth are
    rounded. `figures` has, by station, the figures of its open run. `rules` has, by SHA-256, the rules of the runs on
    the board. `heats` are the published heats, if they are known already; their courses continue those of the row
    `before`. `answered` counts the images of open runs.
    """
    store = contest.store
    runs = {run.id: run for run in store.runs.find()}
    found = found or standings(contest, published_only=True)
    affiliations = store.teams.affiliations()
    used = Counter(run.team for run in runs.values() if run.state is not RunState.VOID)
    teams = [team for team, is_disabled in store.teams.all().items() if not is_disabled]
    opened = [run for run in runs.values() if run.state is RunState.OPEN]
    ranked = [runs[place.standing.run] for place in (*found.places, *found.unranked)]
    lost = lost_energies(contest)
    answered = answered or AnsweredImages(store)
    heats = heats or heats_document(contest, published_only=True)
    courses = with_courses(
        contest,
        now,
        heats["heats"],
        courses_before(before),
        powers_before(before),
    )
    rule = contest.config.contest_rule
    ranking = [_public_place(one, runs, affiliations, rule) for one in found.places]
    unranked = [_public_place(one, runs, affiliations, rule) for one in found.unranked]
    awards = [asdict(one) for one in found.awards]
    return _document(
        contest,
        heats=published_figures(courses, rule),
        tournament=heats["standings"],
        energy_lost=[asdict(one) for one in lost],
        ranking=ranking,
        unranked=unranked,
        left_out=[
            {"run": one.run, "team": one.team, "why": one.why} for one in found.left_out
        ],
        prizes=published_awards(awards, ranking),
        figures={run.station: _figures(contest, run, now, answered) for run in opened},
        attempts=[{"team": team, "used": used[team]} for team in teams],
        corrections=_corrections(store),
        rules=_rules_of([*ranked, *opened]),
        teams=published_figures(_teams(store, runs.values(), found), rule),
        log=log,
    )


def _public_place(
    one: Place,
    runs: Mapping[int, Run],
    affiliations: Mapping[str, str | None],
    rule: ContestRule,
) -> dict[str, Any]:
    """Return the document of a place as everyone may see it."""
    place = place_document(one)
    more = {
        "affiliation": affiliations[place["team"]],
        "images": runs[place["run"]].images,
        # Only operators may read the note of a review.
        "reviewed": place["reviewed"] is not None,
    }
    public: dict[str, Any] = published_figures(place | more, rule)
    return public


def _teams(store: Store, runs: Iterable[Run], found: Standings) -> dict[str, Any]:
    """Return the affiliation and the attempts of each team that is enabled or has an attempt, by its name."""
    attempts = attempts_by_team(runs, found)
    affiliations = store.teams.affiliations()
    return {
        team: {"affiliation": affiliations[team], "attempts": attempts.get(team, [])}
        for team, is_disabled in store.teams.all().items()
        if not is_disabled or team in attempts
    }


def _rules_of(runs: Iterable[Run]) -> dict[str, Any]:
    return {run.rules.sha256: run.rules.stated for run in runs if run.rules is not None}


def _corrections(store: Store) -> list[dict[str, Any]]:
    """Return each correction of the ground truth, with the runs whose judgement's signature names it."""
    found: dict[tuple[object, ...], dict[str, Any]] = {}
    for run, events in store.log.of_kinds([TRUTH_CORRECTED]).items():
        for event in events:
            said = {name: event[name] for name in ("old", "new", "by", "reason")}
            key = tuple(said.values())
            if key not in found:
                found[key] = {
                    "utc": event["utc"],
                    **said,
                    "runs": [],
                    "signatures": [],
                }
            signature = {
                "utc": event["utc"],
                "signature": event["signature"],
                "public_key": event["public_key"],
            }
            found[key]["runs"].append(run)
            found[key]["signatures"].append(signature)
    return sorted(found.values(), key=lambda one: str(one["utc"]))


def _document(contest: Contest, **changing: object) -> str:
    config = contest.config
    is_of_boxes = config.task == BOXES
    of_task = no_truth(contest) if is_of_boxes else {"task": config.task}
    fixed: dict[str, object] = of_task | {
        "contest": config.name,
        "metric": config.scored_by,
        "window_s": config.window_s,
        "images": config.images.per_attempt or len(contest.test_set.images),
        "attempts_each": config.attempts,
        "champions": champions() if is_of_boxes else [],
        "champions_metric": PUBLISHED,
        "public_key": contest.store.identity.public_key(),
    }
    rule = config.contest_rule
    if rule != DEFAULT:
        fixed["ranked_by"] = rule.words
    return json.dumps(fixed | changing, ensure_ascii=False)


def public_hall(contest: Contest, now: datetime) -> str:
    """Return the hall view at `now`, UTC: who runs or gets ready, who is next, announcements, answers to all."""
    store = contest.store
    affiliations = store.teams.affiliations()
    active = (RunState.ARMED, RunState.OPEN)
    on = [run for run in store.runs.find() if run.state in active]
    found = {
        "now": [_running(run, affiliations[run.team]) for run in on],
        "next": store.queue.teams(),
        "announcements": [
            {"utc": one["utc"], "text": one["text"]}
            for one in store.announcements.standing(now)
        ],
        "answers": answers_to_all(store),
    }
    return json.dumps(found, ensure_ascii=False)


def answers_to_all(store: Store) -> list[dict[str, Any]]:
    """Return the questions that were answered for everyone, the newest answer first; no team is named."""
    answered = [one for one in store.questions.all() if one.to_all and one.answered_utc]
    answered.sort(key=lambda one: str(one.answered_utc), reverse=True)
    return [
        {
            "id": one.id,
            "utc": one.answered_utc,
            "question": one.public_text,
            "answer": one.answer,
        }
        for one in answered
    ]


def _running(run: Run, affiliation: str | None) -> dict[str, Any]:
    """Return an armed or open run without figures, and without its number, which would reveal how many came before."""
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
    opened = datetime.fromisoformat(run.opened_utc)
    ends = opened + timedelta(seconds=run.window_s)
    return ends.isoformat()


def _figures(
    contest: Contest,
    run: Run,
    now: datetime,
    answered: AnsweredImages,
) -> dict[str, Any]:
    """Return the public figures of an open run; mAP, energy and score are given only with `public_score`.

    They were released at `as_of_utc`. `power` has the mean powers of the power curve. Energy and score are given
    only while the figures are fresh: if energy is lost, the meter's value is too low and the score too high.
    """
    power = power_course(contest, run, MOST_POINTS)
    state = state_of(contest.store, run, now)
    power_w = None
    if state is FigureState.FRESH and power["power_w"]:
        power_w = power["power_w"][-1]
    released = None
    if contest.config.public_score:
        released = released_of(contest, run, now)
    return {
        "ends_utc": _ends_utc(run),
        "power_w": power_w,
        "power": power,
        "images_answered": answered.count(run.id),
        "images": run.images,
        "figure_state": state,
        "as_of_utc": released and released.utc,
        "map": released and released.map,
        "energy_wh": released and released.energy_wh,
        "score": released and released.score,
    }
