"""What must hold after each step: the database as another program sees it, beside what the teams were told."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np

from tests.simulation.hall import STATIONS, Hall
from tests.simulation.machines import Session
from tests.simulation.model import Attempt, Sent

LATE_S = 40.0
"""How long after its deadline a run may stay open where nothing is wrong: a meter is asked for up to ten seconds."""
ROUNDING_S = 1e-9
"""Of a time of one boot's clock that is told as a time of the world."""
NEVER_CHANGES = (
    "team",
    "station",
    "window_s",
    "nonce",
    "heat",
    "armed_utc",
    "images",
    "testset_digest",
)
FOLLOWS = {
    None: {"armed", "open", "closed", "judged", "void"},
    "armed": {"armed", "open", "closed", "void", "judged"},
    "open": {"open", "closed", "void", "judged"},
    "closed": {"closed", "judged", "void"},
    "judged": {"judged", "void", "closed"},  # closed: its energy was read later
    "void": {"void", "closed", "judged"},
}
Rows = list[sqlite3.Row]


@dataclass
class Records:
    """One look at the database."""

    runs: dict[int, sqlite3.Row]
    posts: dict[int, Rows]
    events: dict[int, list[dict[str, Any]]]
    log: Rows
    contest: str


def records(hall: Hall) -> Records:
    database = hall.database
    database.execute("BEGIN")  # one look
    posts = defaultdict(list)
    events = defaultdict(list)
    runs = {
        row["id"]: row for row in database.execute("SELECT * FROM runs ORDER BY id")
    }
    for row in database.execute("SELECT * FROM posts ORDER BY id"):
        posts[row["run"]].append(row)
    log = database.execute("SELECT * FROM events ORDER BY id").fetchall()
    for row in log:
        if row["run"] is not None:
            events[row["run"]].append(json.loads(row["detail"]) | {"kind": row["kind"]})
    contest = database.execute("SELECT id FROM contest").fetchone()[0]
    database.rollback()
    return Records(runs, posts, events, log, contest)


@dataclass
class Watch:
    """Looks after each step, and remembers what it saw."""

    hall: Hall
    seen: dict[int, sqlite3.Row] = field(default_factory=dict)
    log_seen: int = 0
    log_head: bytes = bytes(32)
    is_looking: bool = False

    def look(self) -> None:
        if self.is_looking or self.hall.scheduler.failures:
            return
        self.is_looking = True
        found = records(self.hall)
        checks = (
            *(
                acknowledged_once,
                nothing_late,
                one_run_a_station,
                own_energy,
                closed_in_time,
                answered_stays,
            ),
            chain_verifies,
        )
        for check in checks:
            self.fail(check.__name__, check(self.hall, found))
        self.fail("orderly_states", self._orderly_states(found))
        self.fail("log_verifies", self._log(found))
        self.seen = found.runs
        self.is_looking = False

    def fail(self, name: str, sentences: Iterator[str]) -> None:
        self.hall.scheduler.failures.extend(
            f"{name}: {sentence}" for sentence in sentences
        )

    def _orderly_states(self, found: Records) -> Iterator[str]:
        for number, before in self.seen.items():
            if number not in found.runs:
                yield f"run {number} is gone"
                continue
            now = found.runs[number]
            if now["state"] not in FOLLOWS[before["state"]]:
                yield f"run {number} was {before['state']} and is {now['state']}"
            for column in NEVER_CHANGES:
                if now[column] != before[column]:
                    yield f"{column} of run {number} was {before[column]!r} and is {now[column]!r}"
            begun = (
                before["start_s"] is not None and before["boot_id"] == now["boot_id"]
            )
            if begun and before["start_s"] != now["start_s"]:
                yield f"run {number} began at {before['start_s']} s, and now at {now['start_s']} s"
            for column in ("closed_utc", "elapsed_s", "energy_wh"):
                is_open = before["state"] == "open"
                if (
                    before[column] is not None
                    and not is_open
                    and now[column] != before[column]
                ):
                    yield f"{column} of run {number}, which is over, was {before[column]} and is {now[column]}"

    def _log(self, found: Records) -> Iterator[str]:
        """The log's chain goes on from what was seen before, which nobody changed."""
        if self.log_seen and (
            len(found.log) < self.log_seen
            or found.log[self.log_seen - 1]["link"] != self.log_head
        ):
            yield f"the log's first {self.log_seen} events are not those that were seen before"
        for event in found.log[self.log_seen :]:
            digest = _sha256(
                json.dumps(
                    [
                        "lpirc-event-1",
                        *(event[key] for key in ("utc", "run", "kind", "detail")),
                    ]
                )
            )
            self.log_head = _sha256(
                f"lpirc-log-1\n{self.log_head.hex()}\n{digest.hex()}\n"
            )
            if event["link"] != self.log_head:
                yield f"event {event['id']} ({event['kind']}) does not have the link that follows from those before"
                break
        self.log_seen = len(found.log)


def stored(found: Records, attempt: Attempt, sent: Sent) -> Rows:
    """The posts of the database that are this body."""
    key = f"result {sent.sha256}" if sent.key == "legacy" else sent.key
    return [
        post
        for post in found.posts[attempt.run]
        if post["sha256"] == sent.sha256 and post["idempotency_key"] == key
    ]


def acknowledged_once(hall: Hall, found: Records) -> Iterator[str]:  # noqa: C901 - one check after the other
    known: set[int] = set()
    for attempt, sent in hall.model.all_sent():
        posts = stored(found, attempt, sent)
        known |= {post["id"] for post in posts}
        what = f"body {sent.sha256[:8]} of run {attempt.run} under {sent.key}"
        told = len(sent.receipts) + sent.is_told_stored
        most = sent.tries if sent.key is None else min(sent.tries, 1)
        least = told if sent.key is None else min(told, 1)
        if not least <= len(posts) <= most:
            yield f"{what} was sent {sent.tries} times, acknowledged {told} times and is stored {len(posts)} times"
        if sent.key is not None and any(
            one != sent.receipts[0] for one in sent.receipts
        ):
            yield f"{what} has several receipts: {sent.receipts}"
        totals = {post["received_total"] for post in posts}
        for receipt in sent.receipts:
            if receipt["received_total"] not in totals or receipt["accepted"] != len(
                sent.rows
            ):
                yield f"{what} has the receipt {receipt}, and stored are totals of {sorted(totals)}"
        for post in posts:
            if not np.array_equal(
                np.frombuffer(post["rows"], "<f8").reshape(-1, 7),
                np.array(sent.rows),
            ):
                yield f"{what} is stored with other rows"
    for run, posts in found.posts.items():
        strangers = [post["id"] for post in posts if post["id"] not in known]
        if strangers:
            yield f"nobody sent the posts {strangers} of run {run}"
        if [post["received_total"] for post in posts] != [
            *accumulate(post["row_count"] for post in posts)
        ]:
            yield f"the totals of run {run} are not those of its posts"


def _sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def chain_of(found: Records, run: int) -> list[bytes]:
    """The links of a run from its posts, computed from what docs say of them; the first is that before any body."""
    row = found.runs[run]
    identity = [found.contest, run, row["nonce"], row["team"], row["testset_digest"]]
    rules_sha256 = hashlib.sha256(row["rules"].encode()).hexdigest()
    links = [_sha256(json.dumps(["lpirc-run-2", *identity, rules_sha256]))]
    for number, post in enumerate(found.posts[run], start=1):
        names = ("sha256", "received_utc", "row_count", "received_total", "readings")
        told = [*(post[key] for key in names), post["meter"].hex()]
        text = "\n".join(map(str, ["lpirc-receipt-2", links[-1].hex(), number, *told]))
        links.append(_sha256(f"{text}\n"))
    return links


def chain_verifies(hall: Hall, found: Records) -> Iterator[str]:  # noqa: C901 - one check after the other
    """Each run's chain is that of its posts, and every receipt a team holds is a part of it, with the body it sent."""
    chains = {run: chain_of(found, run) for run in found.runs}
    for run, posts in found.posts.items():
        for number, post in enumerate(posts, start=1):
            if (post["number"], post["previous"]) != (number, chains[run][number - 1]):
                yield f"post {post['id']} is number {post['number']} of run {run}'s chain, not {number} with its link"
            if hashlib.sha256(post["body"]).hexdigest() != post["sha256"]:
                yield f"post {post['id']} does not keep its body"
    for attempt, sent in hall.model.all_sent():
        for told in (one["receipt"] for one in sent.receipts if "receipt" in one):
            chain = chains[attempt.run]
            at = told["number"]
            if (
                not 0 < at < len(chain)
                or told["link"] != chain[at].hex()
                or told["previous"] != chain[at - 1].hex()
            ):
                yield f"{attempt.team} holds the receipt {told} of run {attempt.run}, which is not in its chain"
    for attempt in hall.model.attempts.values():
        told = (attempt.logout or {}).get("receipt")
        if told and (told["posts"], told["head"]) != (
            len(chains[attempt.run]) - 1,
            chains[attempt.run][-1].hex(),
        ):
            yield f"{attempt.team} was told at its log-out that run {attempt.run} ends so: {told}"
        if told and told["log"] not in {
            event["link"].hex() for event in found.log if event["kind"] == "closed"
        }:
            yield f"the log-out of run {attempt.run} names an event of the log that is not there: {told['log']}"


def _was_rebooted(found: Records, run: int) -> bool:
    return any(event["kind"] == "rebooted" for event in found.events[run])


def nothing_late(hall: Hall, found: Records) -> Iterator[str]:
    for run, posts in found.posts.items():
        row = found.runs[run]
        ended_s = row["window_s"] if row["elapsed_s"] is None else row["elapsed_s"]
        for post in posts:
            if (
                not 0 <= post["elapsed_s"] <= ended_s
                or post["elapsed_s"] >= row["window_s"]
            ):
                yield f"post {post['id']} came {post['elapsed_s']} s into run {run}, which ended at {ended_s} s"
    for attempt, sent in hall.model.all_sent():
        row = found.runs[attempt.run]
        if _was_rebooted(found, attempt.run) and hall.host.wall_is_off_s:
            continue  # no clock tells how long the host was off
        if sent.first_s > attempt.opened_by_s + row["window_s"] and stored(
            found,
            attempt,
            sent,
        ):
            yield f"run {attempt.run} was open by {attempt.opened_by_s} s; a body sent at {sent.first_s} s counts"


def one_run_a_station(_hall: Hall, found: Records) -> Iterator[str]:
    for column in ("station", "team"):
        running = defaultdict(list)
        for row in found.runs.values():
            if row["state"] in ("armed", "open"):
                running[row[column]].append(row["id"])
        for name, runs in running.items():
            if len(runs) > 1:
                yield f"{column} {name} has the runs {runs} at once"
    heats = defaultdict(set)
    for row in found.runs.values():
        if row["heat"] is not None and row["opened_utc"] is not None:
            heats[row["heat"]].add(row["opened_utc"])
    yield from (
        f"the runs of {heat} opened at {opened}"
        for heat, opened in heats.items()
        if len(opened) > 1
    )


def session_of(hall: Hall, row: sqlite3.Row) -> Session | None:
    """What the meter counted for this run: the session that began last before the run's start."""
    start_s = hall.host.world_s(row["start_s"], row["boot_id"])
    sessions = hall.boxes[STATIONS[row["station"]]].sessions
    return next(
        (one for one in reversed(sessions) if one.start_s <= start_s + ROUNDING_S),
        None,
    )


def own_energy(hall: Hall, found: Records) -> Iterator[str]:
    owners: dict[int, int] = {}
    measured = []
    for row in found.runs.values():
        if row["start_s"] is None or _was_rebooted(found, row["id"]):
            continue  # its start was estimated
        own = session_of(hall, row)
        if own is None:
            yield f"run {row['id']} opened without its meter"
            continue
        if owners.setdefault(id(own), row["id"]) != row["id"]:
            yield f"runs {owners[id(own)]} and {row['id']} share what their meter counts"
        if row["energy_wh"] is not None:
            measured.append((row, own))
    for row, own in measured:
        sessions = hall.boxes[STATIONS[row["station"]]].sessions
        like = [
            one
            for one in sessions
            if abs(one.energy_wh - row["energy_wh"]) <= 1e-4 * abs(one.energy_wh) + 2e-6
        ]
        if own in like:
            continue
        others = [owners[id(one)] for one in like if id(one) in owners]
        if others:
            yield f"the energy of run {row['id']}, {row['energy_wh']} Wh, is that of run {others[0]}"
            continue
        if not any(one.at_panel for one in like) or not _is_to_be_reviewed(
            hall,
            found,
            row,
            own,
            like,
        ):
            yield f"the energy of run {row['id']} is {row['energy_wh']} Wh; its meter counted {own.energy_wh} Wh"


ALLOWED_S = 2.0


def _is_to_be_reviewed(
    hall: Hall,
    found: Records,
    row: sqlite3.Row,
    own: Session,
    like: list[Session],
) -> bool:
    """Whether nobody could tell that someone at the panel had begun again: within the run, or with the server down.

    Then a check of the run fails, which is looked at in the end; not if it was so soon after the start that the
    integrator's time is right within what `integrator-time` allows.
    """
    if all(one.start_s - own.start_s > ALLOWED_S for one in like if one.at_panel):
        hall.model.to_be_reviewed.add(row["id"])
    end_s = hall.host.world_s(row["start_s"], row["boot_id"]) + (
        row["elapsed_s"] or 0.0
    )
    was_down = any(
        event["kind"] in ("resumed", "found-over") for event in found.events[row["id"]]
    )
    return was_down or any(own.start_s < one.start_s <= end_s for one in like)


def closed_in_time(hall: Hall, found: Records) -> Iterator[str]:
    now_s = hall.scheduler.now_s
    for row in found.runs.values():
        if row["start_s"] is None:
            continue
        start_s = hall.host.world_s(row["start_s"], row["boot_id"])
        deadline_s = start_s + row["window_s"]
        if (
            row["state"] == "open"
            and hall.is_well
            and now_s > max(deadline_s, *hall.model.troubles_s, 0.0) + LATE_S
        ):
            yield f"run {row['id']} is still open {now_s - deadline_s:.0f} s after its deadline"
        if row["closed_by"] == "deadline":
            if row["elapsed_s"] != row["window_s"]:
                yield f"run {row['id']} ended by its deadline after {row['elapsed_s']} of {row['window_s']} s"
            if not _was_rebooted(found, row["id"]) and now_s < deadline_s - 1e-6:
                yield f"run {row['id']} ended by its deadline {deadline_s - now_s} s before it"


def answered_stays(hall: Hall, found: Records) -> Iterator[str]:
    for run in hall.model.voided:
        if found.runs[run]["state"] != "void":
            yield f"run {run} was voided and is {found.runs[run]['state']}"
    for attempt in hall.model.attempts.values():
        row = found.runs.get(attempt.run)
        told = attempt.logout
        if row is None:
            yield f"{attempt.team} has a token of run {attempt.run}, which is not stored"
            continue
        is_on = row["state"] in ("armed", "open") and row["closed_by"] is None
        if attempt.closed_at_s is not None and is_on and hall.is_well:
            since_s = max(attempt.closed_at_s, *hall.model.troubles_s, 0.0)
            if hall.scheduler.now_s > since_s + LATE_S:
                yield f"{attempt.team} was told that run {attempt.run} is over; it is {row['state']}"
        if told is not None:
            total = sum(post["row_count"] for post in found.posts[attempt.run])
            if (
                row["state"] in ("armed", "open")
                or total != told["detections_accepted"]
            ):
                yield f"{attempt.team} logged out of run {attempt.run} ({told}); now {row['state']} with {total} rows"
            if told["elapsed_s"] != row["elapsed_s"] or told["energy_wh"] not in (
                None,
                row["energy_wh"],
            ):
                now = f"now {row['elapsed_s']} s, {row['energy_wh']} Wh"
                yield f"{attempt.team} logged out of run {attempt.run} ({told}); {now}"
