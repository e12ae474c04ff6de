"""Everything about one run that the jury looks at: its course over time, what happened, checks, reviews, notes.

The figures are those of the status document; this adds what only the page of the run shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np

from referee.contest import Contest
from referee.contest_rules import DEFAULT
from referee.judging.answered_images import AnsweredImages
from referee.judging.bound_rules import rule_of
from referee.judging.budget_shown import budget_shown
from referee.judging.run_course import first_served
from referee.judging.run_figures import current_judgement, power_course
from referee.store.records import Run

MOST_POINTS = 300
MOST_TICKS = 500
"""Ticks of posts and of events in the chart."""
MOST_LISTED = 30
"""Entries of each list, unless all are asked for: the page is sent again with each change of an open run."""
Document = dict[str, Any]
NOT_SHOWN = (
    *("utc", "kind", "address", "rules", "before", "signature", "public_key"),
    *("judged_utc", "reviewed_utc"),
)


def dossier_of(
    contest: Contest,
    run: Run,
    answered: AnsweredImages,
    most: int | None = MOST_LISTED,
) -> Document:
    """Return the page's document of a run, open or over.

    Each list has its newest `most` entries, oldest first, and says how many are left out; of the checks, those that
    fail come first. With `most` None, all entries are listed.
    """
    store = contest.store
    judged = current_judgement(contest, run)
    checks = [] if judged is None else [vars(check) for check in judged.checks]
    decisions = store.decisions.latest().get(run.id, [])
    rule = rule_of(run)
    events = store.log.of_run(run.id)
    happened = _newest(events, most)
    happened["shown"] = [_happened(run, event) for event in happened["shown"]]
    return {
        "course": _course(contest, run, answered, events),
        "happened": happened,
        "refusals": _refusals(contest, run, most),
        "checks": _first(sorted(checks, key=_urgency), most),
        "budget": budget_shown(judged),
        "judgements": len(store.scores.judgements(run.id)),
        "reviews": _newest([vars(one) for one in store.reviews.of_run(run.id)], most),
        "decisions": [vars(one) for one in decisions],
        "notes": _newest([vars(one) for one in store.notes.of_run(run.id)], most),
        "others": {} if judged is None else judged.others or {},
        "ranked_by": None if rule == DEFAULT else rule.words,
        "images": run.images,
        "images_served": len(store.served.images(run.id)),
        "images_answered": answered.count(run.id),
        "rows": store.posts.count_detections(run.id),
        "posts": len(store.posts.arrivals(run.id)),
    }


def _urgency(check: Document) -> int:
    """Return the place of a check in the list: failed, warning, holds."""
    if check["ok"]:
        return 2
    return 0 if check["severity"] == "error" else 1


def _newest(entries: Sequence[Document], most: int | None) -> Document:
    kept = list(entries) if most is None else list(entries[-most:])
    return {"shown": kept, "left_out": len(entries) - len(kept)}


def _first(entries: Sequence[Document], most: int | None) -> Document:
    kept = list(entries[:most])
    return {"shown": kept, "left_out": len(entries) - len(kept)}


def _refusals(contest: Contest, run: Run, most: int | None) -> Document:
    """Return the newest refusals, the newest first, and how many requests all of them count."""
    refusals = contest.store.refusals
    rows, requests = refusals.count_of_run(run.id)
    limit = rows if most is None else most
    kept = [vars(one) for one in refusals.of_run(run.id, limit)]
    return {
        "shown": kept,
        "left_out": max(rows - len(kept), 0),
        "requests": requests,
    }


def _course(
    contest: Contest,
    run: Run,
    answered: AnsweredImages,
    events: list[dict[str, Any]],
) -> dict[str, Any]:
    """Return power, images served and answered (cumulative) and posts over the seconds of the window, for a chart."""
    store = contest.store
    course: dict[str, Any] = power_course(contest, run, MOST_POINTS)
    _, served_s = first_served(store.served.in_order(run.id))
    shown_s = np.array(course["elapsed_s"], np.float64)
    served = np.searchsorted(served_s, shown_s, side="right")
    posts_s = [at_s for at_s, _ in store.posts.arrivals(run.id)]
    elapsed = [_elapsed_s(run, event["utc"]) for event in events]
    return course | {
        "served": served.tolist(),
        "answered": answered.by_time(run.id, course["elapsed_s"]),
        "posts_s": _ticks(posts_s),
        "events_s": _ticks([one for one in elapsed if one is not None and one > 0]),
        "window_s": run.window_s,
    }


def _ticks(seconds: Sequence[float]) -> list[float]:
    step = -(-len(seconds) // MOST_TICKS) or 1
    return [round(one, 1) for one in seconds[::step]]


def _happened(run: Run, event: dict[str, Any]) -> dict[str, Any]:
    """Return an event as a line: when, in the run's seconds and in UTC, what, and its details as text."""
    kind = event["kind"]
    details = {
        key: _text(value)
        for key, value in event.items()
        if key not in (*NOT_SHOWN, "action") and value is not None
    }
    what = event.get("action", kind) if kind == "operator" else kind
    return {
        "utc": event["utc"],
        "elapsed_s": _elapsed_s(run, event["utc"]),
        "what": what,
        "details": details,
    }


def _elapsed_s(run: Run, utc: str) -> float | None:
    if run.opened_utc is None:
        return None
    opened = datetime.fromisoformat(run.opened_utc)
    after = datetime.fromisoformat(utc) - opened
    return round(after.total_seconds(), 1)


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)
