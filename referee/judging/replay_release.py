"""What the public may see of a replay. Pure.

While a team may run again on the same images, three things would be worth points to it: the images, another team's
boxes (matched with its own images by a weak detector, they are the better answers), and the mAP after each of its own
POSTs, which is an oracle for the ground truth. So all three stay secret until the organiser has said that they need
not be.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from referee.contest_rules import DEFAULT, ContestRule
from referee.judging.freeze import Freeze, public_view
from referee.judging.heat_results import DECIDED
from referee.judging.released_figures import published_figures
from referee.judging.replay import (
    NO_ENERGY_COURSE,
    NO_POSTS,
    NO_READINGS,
    NO_SCORE_COURSE,
    OTHER_METRIC,
    OTHER_TEST_SET,
)
from referee.store.records import Published

FIGURES = ("map", "energy_wh", "score")
HEAD = (
    *("form", "contest", "run", "team", "station", "heat", "closed_by", "images"),
    *("window_s", "official", "elapsed_s", "posts", "steps"),
)
PUBLIC_SENTENCES = frozenset(
    {
        NO_ENERGY_COURSE,
        NO_POSTS,
        NO_READINGS,
        NO_SCORE_COURSE,
        OTHER_METRIC,
        OTHER_TEST_SET,
    }
)
"""Others may have words of an operator, or advice to one."""
PAIR = 2
HIDDEN = "Images, boxes and the score over time are not shown here"
NO_END = f"{HIDDEN}: this contest has set no time from which they may be."
NOT_NOW = (
    f"{HIDDEN} while a team runs or waits to run, or while the board hides results."
)


def published_places(row: Published) -> dict[int, dict[str, Any]]:
    """Return the runs on the public board, ranked ones first, each with its place's document.

    Last come those that only a decided heat shows, since their team has a better run.
    """
    board = public_view(row)
    places = (*board["ranking"], *board["unranked"])
    found = {place["run"]: place for place in places}
    for heat in board["heats"]:
        for side in heat["sides"] if heat["outcome"] in DECIDED else ():
            if side["run"] not in found and side["score"] is not None:
                kept = ("run", "team", "score_digits", *FIGURES)
                place = {name: side[name] for name in kept if name in side}
                found[side["run"]] = place | {"rank": None, "needs_review": False}
    return found


def heat_pair(heat: Mapping[str, Any], runs: Container[int]) -> tuple[int, ...]:
    """Return the first two runs of a decided heat that are among `runs`, which have a replay; else nothing."""
    if heat["outcome"] not in DECIDED:
        return ()
    pair = tuple(side["run"] for side in heat["sides"] if side["run"] in runs)[:PAIR]
    return pair if len(pair) == PAIR else ()


def latest_pair(row: Published, runs: Container[int]) -> tuple[int, ...]:
    """Return the pair of the newest decided heat of which both runs have a replay; nothing if there is none."""
    pairs = (heat_pair(heat, runs) for heat in reversed(public_view(row)["heats"]))
    return next((pair for pair in pairs if pair), ())


def mark_of(figures: Mapping[str, Any], rule: ContestRule = DEFAULT) -> str:
    """Return the figures of a judgement as text: equal for a replay and for a place on the board that fit together.

    By another `rule` than the default the score is left out, which follows from the others and is rounded otherwise.
    """
    names = [name for name in FIGURES if rule == DEFAULT or name != "score"]
    published = published_figures({name: figures[name] for name in names})
    return json.dumps([published[name] for name in names])


def why_hidden(
    secret_until: datetime | None, freeze: Freeze, now: datetime
) -> str | None:
    """Return why images, boxes and the course of the score are not public at `now`, UTC; None if they are.

    They are public only once `ground_truth_secret_until` is set and over: then the organiser gives away the answers
    anyway. Even then not while a run is armed or open, a team is in the queue, or the board is frozen.
    """
    if secret_until is None:
        return NO_END
    if now < secret_until:
        until = secret_until.astimezone(UTC).strftime("%Y-%m-%d %H:%M")
        return f"{HIDDEN} before {until} UTC: the ground truth is secret until then."
    if freeze.row is None or freeze.hides_news(now):
        return NOT_NOW
    hall = public_view(freeze.row)
    return NOT_NOW if hall["now"] or hall["next"] else None


def public_replay(
    document: Mapping[str, Any],
    place: Mapping[str, Any],
    *,
    hidden: str | None,
) -> dict[str, Any]:
    """Return the public part of a replay document; the final figures are those of its place on the board.

    `hidden` is the sentence why images, boxes and the course of the score are left out, or None.
    """
    final = {name: place[name] for name in (*FIGURES, "needs_review")}
    public = {name: document[name] for name in HEAD} | {"final": final, "events": []}
    if hidden is None:
        shown = ("frames", "boxes", "categories", "moments", "left_out")
        public |= {name: document[name] for name in shown}
    else:
        public |= _without_secrets(document)
    public["missing"] = [*_sentences(document, hidden)]
    return public


def _without_secrets(document: Mapping[str, Any]) -> dict[str, Any]:
    frames = document["frames"]
    times = {name: frames[name] for name in ("served_s", "answered_s")}
    nothing: dict[str, list[Any]] = {"image": [], "width": [], "height": []}
    left_out = {"images": document["left_out"]["images"], "boxes": 0}
    return {
        "frames": times | nothing,
        "boxes": None,
        "categories": {},
        "moments": {"at_s": [], "map": [], "score": []},
        "left_out": left_out,
    }


def _sentences(document: Mapping[str, Any], hidden: str | None) -> Iterator[str]:
    if hidden is not None:
        yield hidden
    yield from (one for one in document["missing"] if one in PUBLIC_SENTENCES)
