"""What a client does wrong: pure rules, from what was seen of a run to findings. docs/conformance.md explains each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from lpirc_client.conformance.report import FAULT, HINT, PASS, Finding

LOGIN = ("POST /v1/session", "GET /login", "POST /login", "GET /get_token", "POST /get_token")
LOGOUT = ("DELETE /v1/session", "GET /logout", "POST /logout")
STATUS, ROWS, IMAGE, BATCH = "GET /v1/session", "POST /v1/detections", "GET /v1/images/", "GET /v1/images"
POLL_S, SILENCE_S = 1.0, 30.0
FREE = ("GET /v1/health", "GET /v1/openapi.json", *LOGIN)  # they need no token
FETCHES = (IMAGE, BATCH, "PUT /v1/display/")
PACKED = "application/octet-stream"
# Refusals that another rule reports, or that are nobody's fault.
REPORTED = ("window-closed", "bad-rows", "token-missing", "not-armed", "not-started", "too-many-requests")


@dataclass(frozen=True)
class Exchange:
    """One request of a client and its answer; times in s of one clock.

    `images` are those it asks for or has rows of; `answer` is the JSON document that came back. Without an answer, or
    with a part of one, `status` is 0. `is_unread`: the client ended the connection before it had read all of it.
    """

    connection: int
    method: str
    target: str
    started_s: float
    ended_s: float = 0.0
    status: int = 0
    answer: Mapping[str, Any] = field(default_factory=dict)
    is_unread: bool = False
    has_token: bool = False
    media_type: str = ""
    key: str = ""
    sha256: str = ""
    images: Sequence[int] = ()
    retry_after_s: float = 0.0

    @property
    def route(self) -> str:
        """Method and path, without an image's number."""
        return f"{self.method} {urlsplit(self.target).path.rstrip('0123456789')}"


class Run:
    """What was seen, sorted for the rules."""

    def __init__(self, seen: Sequence[Exchange]) -> None:
        self.seen = seen
        self.version_1 = [one for one in seen if one.target.startswith("/v1/")]
        self.logins = [one for one in seen if one.route in LOGIN and one.status in (200, 201)]
        self.logouts = [one for one in seen if one.route in LOGOUT and one.status == 200]
        self.posts = [one for one in seen if one.route == ROWS]
        self.fetches = [one for one in seen if one.route in FETCHES and one.status in (0, 200)]
        last = max((one.answer.get("images", 0) for one in self.logins), default=0)
        self.fetched = [(one, n) for one in self.fetches if one.status for n in one.images if n <= last]
        self.opened_s = next((one.ended_s for one in (*self.logins, *seen)), 0.0)
        self.ended_s = max((one.ended_s for one in seen), default=0.0)


def judge(run: Run) -> list[Finding]:
    """Return what each rule found, in the order of RULES."""
    findings = []
    for name, (severity, what_to_do, rule) in RULES.items():
        broken = list(rule(run))
        if broken:
            first_s = round(broken[0].started_s - run.opened_s, 3)
            said = (broken[0].answer.get("problems") or [broken[0].answer])[0]
            answered = said.get("problem") or said.get("detail", "")
            detail = f"{len(broken)} times, first at {first_s:.1f} s: {what_to_do}. {answered}".rstrip()
            findings.append(Finding(name, severity, detail, len(broken), first_s))
        else:
            findings.append(Finding(name, PASS))
    return findings


def client_waited_s(run: Run) -> float:
    """Return for how long of the run at least one answer was waited for; the rest the referee waited."""
    reached_s, waited_s = run.opened_s, 0.0
    for one in run.seen:
        waited_s += max(0.0, one.ended_s - max(one.started_s, reached_s))
        reached_s = max(reached_s, one.ended_s)
    return waited_s


def _lone(run: Run) -> list[Exchange]:
    requests = Counter(one.connection for one in run.version_1)
    lone = [one for one in run.version_1 if requests[one.connection] == 1]
    return lone if len(lone) > 2 and 2 * len(lone) > len(run.version_1) else []


def _unfetched(run: Run) -> list[Exchange]:
    asked = {n for one in run.fetches for n in one.images}
    return [one for one in run.posts if one.status == 202 and not asked.issuperset(one.images)]


def _unanswered(run: Run) -> list[Exchange]:
    answered = {n for one in run.posts if one.status == 202 for n in one.images}
    return [one for one, n in run.fetched if n not in answered]


def _twice(run: Run) -> Iterable[Exchange]:
    counts: Counter[int] = Counter()
    for one, n in run.fetched:
        counts[n] += 1
        if counts[n] > 1:
            yield one


def _repeated(run: Run) -> Iterable[Exchange]:
    lost: dict[str, Exchange] = {}
    for one in run.posts:
        if one.sha256 in lost and (not one.key or one.key != lost[one.sha256].key):
            yield one
        if not one.status:
            lost[one.sha256] = one


def _log_in_again(run: Run) -> Iterable[Exchange]:
    is_in = False
    for one in run.seen:
        if one in run.logins and is_in:
            yield one
        is_in = (is_in or one in run.logins) and one.status not in (0, 401) and one not in run.logouts


def _polled(run: Run) -> Iterable[Exchange]:
    last_s = float("-inf")
    for one in run.seen:
        if one.route == STATUS:
            if one.started_s - last_s < POLL_S:
                yield one
            last_s = one.started_s


def _too_early(run: Run) -> list[Exchange]:
    waits = [
        (one.route, one.started_s, one.ended_s + one.retry_after_s) for one in run.seen if one.retry_after_s
    ]
    return [
        one
        for one in run.seen
        if any(one.route == route and start < one.started_s < end for route, start, end in waits)
    ]


def _silent(run: Run) -> list[Exchange]:
    """Find the last post of a run that its deadline ended, long before it, with images not answered."""
    last = run.posts[-1:]
    is_silent = not run.logouts and _unanswered(run) and last and run.ended_s - last[0].ended_s > SILENCE_S
    return last if is_silent else []


RULES: dict[str, tuple[str, str, Callable[[Run], Iterable[Exchange]]]] = {
    "late-posts": (FAULT, "what has not arrived whole before the deadline does not count; post earlier",
        lambda run: [one for one in run.posts if one.answer.get("code") == "window-closed"]),
    "no-log-out": (FAULT, "log out as soon as all is posted: the meter runs until then",
        lambda run: [] if run.logouts else run.logins[:1]),
    "connection-per-request": (FAULT, "keep one connection open for all requests", _lone),
    "unread-answers": (FAULT, "read each answer to its end before you end the connection",
        lambda run: [one for one in run.seen if one.is_unread]),
    "rows-of-unfetched-images": (FAULT, "only rows of images that were fetched count", _unfetched),
    "rows-refused": (FAULT, "nothing of such a body counts", lambda run: [one for one in run.posts if one.status == 422]),
    "other-refusals": (FAULT, "correct the request", lambda run: [
        one for one in run.version_1 if 400 <= one.status < 500 and one.answer.get("code") not in REPORTED]),
    "fetched-twice": (FAULT, "keep an image until it is answered", _twice),
    "repeated-with-another-key": (FAULT, "send it again with the same Idempotency-Key, it may count twice", _repeated),
    "polled": (FAULT, "ask for the status at most once a second: each answer says what is left of the window", _polled),
    "needless-log-in": (FAULT, "log in once and keep the token", _log_in_again),
    "no-bearer-token": (FAULT, "send the token in the header: Authorization: Bearer TOKEN",
        lambda run: [one for one in run.version_1 if one.route not in FREE and not one.has_token]),
    "retry-after-ignored": (FAULT, "wait as many seconds as Retry-After says", _too_early),
    "unanswered-images": (HINT, "no rows for these images: did the detector find nothing in them?", _unanswered),
    "single-images": (HINT, "fetch batches: GET /v1/images?first=1&count=100",
        lambda run: [one for one in run.fetches if one.route == IMAGE][3:]),
    "rows-as-text": (HINT, "post packed rows, application/octet-stream: they need no text to be made",
        lambda run: [one for one in run.posts if one.images and one.media_type != PACKED]),
    "silent-at-the-end": (HINT, f"no rows in the last {SILENCE_S:.0f} s: near the end post each image at once", _silent),
}  # fmt: skip
