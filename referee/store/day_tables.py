"""The tables of the contest day: operators, announcements, queue, the jury's work, refusals, the public view."""

from __future__ import annotations

from typing import Any

# fmt: off
DAY_TABLES: dict[str, tuple[dict[str, type], dict[str, Any]]] = {
    "operators": ({"name": str, "password_hash": str, "created_utc": str}, {"pk": "name"}),
    # Since form 16: an operator's sessions carry this random `generation`; without a row no session is valid.
    "operator_sessions": (
        {"operator": str, "generation": str},  # a name, `key`, or `key as` and the name that was stated
        {"pk": "operator", "not_null": {"generation"}},
    ),
    # Since form 18: the sessions of teams' pages; a log-out removes its row.
    "team_sessions": (
        {"session": str, "team": str, "expires_utc": str},
        {"pk": "session", "not_null": {"team", "expires_utc"}},
    ),
    "announcements": (
        {
            "id": int, "utc": str, "operator": str, "text": str, "withdrawn_utc": str,
            "expires_utc": str,  # until when it is shown, since form 18; NULL: until it is withdrawn
        },
        {"pk": "id"},
    ),
    "queue": ({"position": int, "team": str}, {"pk": "position"}),
    "reviews": (
        {"id": int, "run": int, "utc": str, "operator": str, "note": str, "codes": str},  # JSON list: the failed checks
        {"pk": "id", "foreign_keys": [("run", "runs", "id")]},
    ),
    # Since form 18: notes on runs, the jury's decisions on judgements, teams' questions, and the plan of heats.
    "notes": (
        {"id": int, "run": int, "utc": str, "operator": str, "text": str},
        {"pk": "id", "foreign_keys": [("run", "runs", "id")]},
    ),
    "decisions": (
        {
            "id": int, "run": int, "score": int, "utc": str, "operator": str,
            "kind": str,  # confirmed, published
            "review": int,  # the newest review of the run at that time, in `reviews`; NULL: none
        },
        {"pk": "id", "foreign_keys": [("score", "scores", "id")]},
    ),
    # A heat has a row only if it was made as one; runs name their heat anyway.
    "heats": (
        {
            "name": str, "utc": str, "operator": str,
            "round": int,  # 1, 2, ... of a knock-out or round robin; NULL: of neither
        },
        {"pk": "name"},
    ),
    "questions": (
        {
            "id": int, "utc": str, "team": str, "text": str,
            "answered_utc": str, "operator": str, "answer": str,  # NULL: not answered yet
            "to_all": int,  # 1: everyone may read question and answer
            "wording": str,  # of the question for everyone, as the jury has changed it; NULL: as asked
        },
        {"pk": "id", "foreign_keys": [("team", "teams", "name")]},
    ),
    "refusals": (
        {
            "id": int, "first_utc": str, "utc": str, "count": int, "code": str, "status": int, "team": str, "run": int,
            "address": str, "sentence": str,
        },
        {"pk": "id"},
    ),
    # The public view, one row: `document` has the results and changes only while `state` is live; `hall` always does.
    "published": (
        {
            "id": int, "utc": str, "document": str,  # JSON
            "state": str,  # live, frozen, unveiling
            "unveiled": int, "frozen_utc": str,
            "final": str,  # JSON: the document that is being unveiled
            "unveiled_utc": str,  # the end of the last unveiling
            "hall": str, "hall_utc": str,  # JSON, its time; NULL up to form 15, until published again
        },
        {"pk": "id"},
    ),
    # Replays of published runs, since form 18; they are made again when they are lost.
    "replays": (
        {
            "run": int, "made_of": str,  # the figures of the judgement, JSON
            "document": str,  # JSON; it also has what the public may not see yet
            "originals": str,  # JSON: the test set's number of each image, by the team's
        },
        {"pk": "run", "not_null": {"made_of", "document", "originals"}},
    ),
}
# fmt: on
