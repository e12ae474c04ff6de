"""Finds the mistakes of a client: pure rules over the recorded exchanges of its run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lpirc_client.conformance.findings_report import FAULT, HINT, PASS, Finding

LOGIN = (
    "POST /v1/session",
    "GET /login",
    "POST /login",
    "GET /get_token",
    "POST /get_token",
)
LOGOUT = ("DELETE /v1/session", "GET /logout", "POST /logout")
STATUS = "GET /v1/session"
ROWS = "POST /v1/detections"
ANSWERS = "POST /v1/answers"
IMAGE = "GET /v1/images/"
FETCHES = (IMAGE, "GET /v1/images", "PUT /v1/display/")
LEGACY_FETCHES = tuple(
    f"{method} /{what}" for method in ("GET", "POST") for what in ("image", "zipimages")
)
POLL_S = 1.0
SILENCE_S = 30.0
FEW = 3
# Refusals that another rule reports, or that are not the client's fault: it waits then, or the operator must act.
EXCUSED = (
    "window-closed",
    "bad-rows",
    "token-missing",
    "not-armed",
    "not-started",
    "too-many-requests",
    "attempts-used",
    "station-busy",
    "team-busy",
    "wrong-address",
    "display-failed",
)


@dataclass(frozen=True)
class Exchange:
    """One request and its answer; times in s of one clock. `status` is 0 if no complete answer came.

    `route` is the method and the path without an image's number. `images` are the images that the request fetches or
    posts rows for. `is_unread`: the client closed the connection before reading the complete answer;
    `is_ended_by_referee`: the referee closed it.
    """

    connection: int
    route: str
    started_s: float
    ended_s: float = 0.0
    status: int = 0
    answer: Mapping[str, Any] = field(default_factory=dict)
    is_unread: bool = False
    is_ended_by_referee: bool = False
    media_type: str = ""
    key: str = ""
    sha256: str = ""
    images: Sequence[int] = ()
    retry_after_s: float = 0.0

    def is_same(self, other: Exchange) -> bool:
        """Return True if the other exchange makes the same request."""
        return (self.route, self.sha256, [*self.images]) == (
            other.route,
            other.sha256,
            [*other.images],
        )


class Run:
    """The exchanges of a run, grouped as the rules need them."""

    def __init__(self, seen: Sequence[Exchange]) -> None:
        self.all = seen
        self.version_1 = [one for one in seen if " /v1/" in one.route]
        requests = Counter(one.connection for one in seen)
        alone = [one for one in self.version_1 if requests[one.connection] == 1]
        self.lone = [one for one in alone if not one.is_ended_by_referee]
        self.logins = [
            one for one in seen if one.route in LOGIN and one.status in (200, 201)
        ]
        self.logouts = [
            one for one in seen if one.route in LOGOUT and one.status == 200
        ]
        self.polls = _pairs([one for one in seen if one.route == STATUS and one.status])
        self.turns = _pairs(
            [one for one in seen if one in self.logins or one in self.logouts]
        )
        self.posts = [one for one in seen if one.route in (ROWS, ANSWERS)]
        self.lost = {
            one.sha256: one
            for one in reversed(self.posts)
            if one.sha256 and not one.status
        }
        self.waits = [
            (one, one.ended_s + one.retry_after_s) for one in seen if one.retry_after_s
        ]
        fetches = [
            one for one in seen if one.route in FETCHES and one.status in (0, 200)
        ]
        self.asked = {n for one in fetches for n in one.images}
        self.is_mixed = any(one.route in LEGACY_FETCHES for one in seen)
        last = max((one.answer.get("images", 0) for one in self.logins), default=0)
        self.fetched = [
            (one, n) for one in fetches if one.status for n in one.images if n <= last
        ]
        self.first = {n: one for one, n in reversed(self.fetched)}
        accepted = {n for one in self.posts if one.status == 202 for n in one.images}
        self.unanswered = [one for n, one in self.first.items() if n not in accepted]
        if any(one.route == ANSWERS and not one.images for one in self.posts):
            self.unanswered = []  # a task's body may have another form than JSON
        self.opened_s = next((one.ended_s for one in (*self.logins, *seen)), 0.0)
        self.ended_s = max((one.ended_s for one in seen), default=0.0)

    def waited_s(self) -> float:
        """Return how long the client waited for answers; in the rest of the run the referee waited for the client."""
        reached_s = self.opened_s
        waited_s = 0.0
        for one in self.all:
            waited_s += max(0.0, one.ended_s - max(one.started_s, reached_s))
            reached_s = max(reached_s, one.ended_s)
        return waited_s

    def judge(self) -> list[Finding]:
        """Return the finding of each rule, in the order of RULES."""
        findings = []
        for name, (severity, advice, rule) in RULES.items():
            broken = sorted(rule(self), key=lambda one: one.started_s)
            detail = ""
            first_s = None
            if broken:
                first_s = round(broken[0].started_s - self.opened_s, 3)
                said = (broken[0].answer.get("problems") or [broken[0].answer])[0]
                when = (
                    f"at {first_s:.1f} s"
                    if first_s >= 0
                    else "before the window opened"
                )
                detail = f"{len(broken)} x, first {when}: {advice}"
                detail = (
                    f"{detail}. {said.get('problem') or said.get('detail', '')}".rstrip(
                        ". "
                    )
                )
            findings.append(
                Finding(
                    name,
                    severity if broken else PASS,
                    detail,
                    len(broken),
                    first_s,
                )
            )
        return findings


def _pairs(seen: list[Exchange]) -> list[tuple[Exchange, Exchange]]:
    return list(zip(seen, seen[1:]))


RULES: dict[str, tuple[str, str, Callable[[Run], list[Exchange]]]] = {
    "late-posts": (
        FAULT,
        "a body that has not arrived completely before the deadline is not scored",
        lambda run: [
            one for one in run.posts if one.answer.get("code") == "window-closed"
        ],
    ),
    "no-log-out": (
        FAULT,
        "log out as soon as everything is posted: the meter runs until the log-out",
        lambda run: [] if run.logouts or not run.logins else list(run.all[-1:]),
    ),
    "connection-per-request": (
        HINT,
        "keep one connection open: each new one costs both ends time",
        lambda run: (
            run.lone
            if len(run.lone) >= FEW and 2 * len(run.lone) > len(run.version_1)
            else []
        ),
    ),
    "unread-answers": (
        FAULT,
        "read each answer to its end before you end the connection",
        lambda run: [one for one in run.all if one.is_unread],
    ),
    "rows-of-unfetched-images": (
        FAULT,
        "only rows for fetched images are scored",
        lambda run: [
            one
            for one in run.posts
            if one.status == 202
            and not run.is_mixed
            and not run.asked.issuperset(one.images)
        ],
    ),
    "rows-refused": (
        FAULT,
        "the referee accepts no row of a refused body",
        lambda run: [one for one in run.posts if one.status == 422],
    ),
    "other-refusals": (
        FAULT,
        "correct the request",
        lambda run: [
            one
            for one in run.version_1
            if 400 <= one.status < 500 and one.answer.get("code") not in EXCUSED
        ],
    ),
    "fetched-twice": (
        FAULT,
        "keep an image until the referee has accepted its rows",
        lambda run: [one for one, n in run.fetched if run.first[n] is not one],
    ),
    "repeated-with-another-key": (
        FAULT,
        "send a body again with its Idempotency-Key, or its rows may be stored twice",
        lambda run: [
            one
            for one in run.posts
            if run.lost.get(one.sha256, one) is not one
            and (not one.key or one.key != run.lost[one.sha256].key)
        ],
    ),
    "polled": (
        FAULT,
        "ask for the status at most once a second: each answer states the remaining time",
        lambda run: [
            two for one, two in run.polls if two.started_s - one.started_s < POLL_S
        ],
    ),
    "needless-log-in": (
        FAULT,
        "log in once and keep the token",
        lambda run: [
            two for one, two in run.turns if one.route in LOGIN and two.route in LOGIN
        ],
    ),
    "no-bearer-token": (
        FAULT,
        "send the token in the header Authorization: Bearer TOKEN",
        lambda run: [
            one for one in run.version_1 if one.answer.get("code") == "token-missing"
        ],
    ),
    "retry-after-ignored": (
        FAULT,
        "wait as many seconds as Retry-After says",
        lambda run: [
            one
            for one in run.all
            for refused, end_s in run.waits
            if one.is_same(refused) and refused.ended_s <= one.started_s < end_s
        ],
    ),
    "unanswered-images": (
        HINT,
        "there are no rows for these images; did the detector find nothing?",
        lambda run: run.unanswered,
    ),
    "single-images": (
        HINT,
        "fetch batches: GET /v1/images?first=1&count=100",
        lambda run: [one for one in run.all if one.route == IMAGE][FEW:],
    ),
    "rows-as-text": (
        HINT,
        "post packed rows as application/octet-stream: the device then need not format numbers as text",
        lambda run: [
            one
            for one in run.posts
            if one.route == ROWS
            and one.images
            and one.media_type != "application/octet-stream"
        ],
    ),
    "silent-at-the-end": (
        HINT,
        f"no rows in the last {SILENCE_S:.0f} s: near the end, post the rows of each image immediately",
        lambda run: [
            one
            for one in run.posts[-1:]
            if run.unanswered
            and not run.logouts
            and run.ended_s - one.ended_s > SILENCE_S
        ],
    ),
}
