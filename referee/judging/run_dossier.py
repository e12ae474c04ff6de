"""Everything about one run that the jury looks at: its course over time, what happened, checks, reviews, notes.

The figures are those of the status document; this adds what only the page of the run shows.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np

from referee.contest import Contest
from referee.judging.run_figures import current_judgement, power_course
from referee.store.records import Run

MOST_POINTS = 300
MOST_EVENTS = 200
MOST_REFUSALS = 50
MOST_POSTS = 500
NOT_SHOWN = ("utc", "kind", "address", "rules", "before", "signature", "public_key")


def dossier_of(contest: Contest, run: Run) -> dict[str, Any]:
    """Return the page's document of a run, open or over; lists are oldest first."""
    store = contest.store
    judged = current_judgement(contest, run)
    decisions = store.decisions.latest().get(run.id, [])
    refusals = [vars(one) for one in store.refusals.of_run(run.id, MOST_REFUSALS)]
    events = store.log.of_run(run.id)
    return {
        "course": _course(contest, run, events),
        "happened": [_happened(run, event) for event in events[-MOST_EVENTS:]],
        "events_left_out": max(len(events) - MOST_EVENTS, 0),
        "refusals": refusals,
        "checks": [] if judged is None else [vars(check) for check in judged.checks],
        "signature": None if judged is None else judged.signature,
        "judgements": len(store.scores.judgements(run.id)),
        "reviews": [vars(one) for one in store.reviews.of_run(run.id)],
        "decisions": [vars(one) for one in decisions],
        "notes": [vars(one) for one in store.notes.of_run(run.id)],
        "images": run.images,
        "images_served": len(store.served.images(run.id)),
        "rows": store.posts.count_detections(run.id),
        "posts": len(store.posts.arrivals(run.id)),
    }


def _course(contest: Contest, run: Run, events: list[dict[str, Any]]) -> dict[str, Any]:
    """Return power, images served (cumulative) and posts over the seconds of the window, for a chart."""
    store = contest.store
    course: dict[str, Any] = power_course(contest, run, MOST_POINTS)
    first: dict[int, float] = {}
    for image, at_s in store.served.in_order(run.id):
        first.setdefault(image, at_s)
    served_s = np.sort(np.array([*first.values()], np.float64))
    shown_s = np.array(course["elapsed_s"], np.float64)
    served = np.searchsorted(served_s, shown_s, side="right")
    posts_s = [at_s for at_s, _ in store.posts.arrivals(run.id)]
    step = max(1, len(posts_s) // MOST_POSTS)
    elapsed = [_elapsed_s(run, event["utc"]) for event in events]
    return course | {
        "served": served.tolist(),
        "posts_s": [round(one, 1) for one in posts_s[::step]],
        "events_s": [one for one in elapsed if one is not None and one > 0],
        "window_s": run.window_s,
    }


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
