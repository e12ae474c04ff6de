"""A team's own view of the contest: one document for its page, for `GET /v1/team` and for `lpirc-client status`.

How its runs have scored is taken from the published results alone (`team_attempts`). So a team never learns a result
before everyone else does: not while the board hides news, and not before the jury has published the judgement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from lpirc_score.tasks import BOXES
from lpirc_score.tasks.words import words_of
from referee.contest import Contest
from referee.contest_rules import DEFAULT
from referee.judging.answered_images import AnsweredImages
from referee.judging.public_documents import answers_to_all
from referee.judging.released_figures import released_document
from referee.judging.run_figures import power_course
from referee.store.records import OVER, Post, Question, Run, RunState

MOST_REFUSALS = 20
MOST_RECEIPTS = 5
MOST_POINTS = 120
OF_RUN = (
    "station",
    "heat",
    "armed_utc",
    "opened_utc",
    "closed_by",
    "elapsed_s",
    "window_s",
    "extra_s",
    "images",
    "void_reason",
)
OF_METER = ("power_w", "energy_wh", "reading_age_s")
Document = dict[str, Any]


@dataclass(frozen=True)
class TeamKnown:
    """What the view of a team needs besides the store.

    `attempts` are the team's attempts in the published results. `hides_news` is True while nobody may see newer
    results. `live` has what only the server knows of open runs, by run number, as for operators; `uploads` what the
    team handed in to model tracks.
    """

    attempts: Sequence[Mapping[str, Any]] = ()
    hides_news: bool = False
    live: Mapping[int, Document] = field(default_factory=dict)
    uploads: Sequence[Mapping[str, Any]] = ()


class TeamViews:
    """Reads the documents of teams. What no longer changes in a run that is over is read once."""

    def __init__(self, contest: Contest) -> None:
        self._contest = contest
        self._answered = AnsweredImages(contest.store)
        self._over: dict[int, tuple[Run, Document]] = {}

    def read(self, team: str, now: datetime, known: TeamKnown) -> Document:
        """Return the document of a registered team at `now`, UTC; runs, refusals and questions newest first."""
        contest = self._contest
        config = contest.config
        store = contest.store
        runs = store.runs.find(team=team)
        queue = store.queue.teams()
        used = sum(run.state is not RunState.VOID for run in runs)
        asked = [one for one in store.questions.all() if one.team == team]
        own = {one.id for one in asked}
        rule = config.contest_rule
        ranked_by = {} if rule == DEFAULT else {"ranked_by": rule.words}
        return (
            ranked_by
            | _task(config.task)
            | {
                "utc": now.isoformat(),
                "contest": config.name,
                "team": team,
                "affiliation": store.teams.affiliations().get(team),
                "place_in_queue": queue.index(team) + 1 if team in queue else None,
                "queued": len(queue),
                "attempts": {"used": used, "of": config.attempts or None},
                "hides_news": known.hides_news,
                "runs": [self._run(run, now, known) for run in reversed(runs)],
                "refusals": [
                    asdict(one) for one in store.refusals.of_team(team, MOST_REFUSALS)
                ],
                "uploads": list(known.uploads),
                "questions": [_question(one) for one in asked],
                "answers": [
                    one for one in answers_to_all(store) if one["id"] not in own
                ],
            }
        )

    def _run(self, run: Run, now: datetime, known: TeamKnown) -> Document:
        """Return a run's document: what the team did in it, and its result as published, or None."""
        result = next((one for one in known.attempts if one["run"] == run.id), None)
        if result is not None and result["state"] != RunState.JUDGED:
            result = None
        document = {"run": run.id, "state": shown_state(run, result)}
        document |= {name: getattr(run, name) for name in OF_RUN}
        document |= self._sent(run, known.live.get(run.id, {}))
        document["result"] = result
        document["open"] = None
        if run.state is RunState.OPEN:
            document["open"] = self._open(run, now, known)
        return document

    def _sent(self, run: Run, live: Document) -> Document:
        """Return what the referee has received in a run, and served to it; the server knows it of an open run."""
        kept, sent = self._over.get(run.id, (None, {}))
        if kept == run:
            return sent
        store = self._contest.store
        receipts = store.posts.receipts(run.id, MOST_RECEIPTS)
        closing = store.closings.of_run(run.id) if run.state in OVER else None
        posts = (receipts[0].number if receipts else 0) or len(receipts)
        served = live.get("images_served")
        if served is None:
            served = len(store.served.images(run.id))
        sent = {
            "images_served": served,
            "images_answered": self._answered.count(run.id),
            "detections_accepted": store.posts.count_detections(run.id),
            "rows_refused": store.posts.count_refused(run.id),
            "posts": posts,
            "receipts": [receipt_document(one) for one in receipts],
            "closing": None if closing is None else asdict(closing),
        }
        if run.state in OVER:
            self._over[run.id] = (run, sent)
        return sent

    def _open(self, run: Run, now: datetime, known: TeamKnown) -> Document:
        """Return the present state of an open run; power and energy only if the contest lets teams see figures."""
        live = known.live.get(run.id, {})
        document: Document = {
            "remaining_s": live.get("remaining_s"),
            "warnings": live.get("told", []),
            "figures": None,
        }
        if not self._contest.config.teams_see_score or known.hides_news:
            return document
        document["figures"] = {name: live.get(name) for name in OF_METER} | {
            "provisional": released_document(self._contest, run, now),
            "power": power_course(self._contest, run, MOST_POINTS),
        }
        return document


def shown_state(run: Run, result: Mapping[str, Any] | None) -> RunState:
    """Return the state of a run as its team sees it: it is judged once its result is published."""
    if run.state is RunState.JUDGED and result is None:
        return RunState.CLOSED
    return run.state


def receipt_document(post: Post) -> Document:
    """Return a post's receipt with the values that the answer to the post had."""
    document: Document = {
        "number": post.number,
        "received_utc": post.received_utc,
        "accepted": post.row_count,
        "received_total": post.received_total,
        "sha256": post.sha256,
    }
    if post.previous is not None:
        document |= {"previous": post.previous.hex(), "link": post.link.hex()}
    if post.meter is not None:
        document |= {"readings": post.readings, "meter": post.meter.hex()}
    return document


def _task(name: str) -> Document:
    """Return what a team is told of a task other than boxes: its name, and the names of its figure and its answers."""
    if name == BOXES:
        return {}
    words = words_of(name)
    told = {"name": name, "accuracy": words.accuracy, "answers": words.answers}
    return {"task": told}


def _question(one: Question) -> Document:
    return {
        "id": one.id,
        "utc": one.utc,
        "text": one.text,
        "answered_utc": one.answered_utc,
        "answer": one.answer,
        "to_all": one.to_all,
    }
