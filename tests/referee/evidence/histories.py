"""Histories as an organizer rewrites them who holds the contest's key: everything in them agrees again.

The chain of the run, the event of its close, the log, the judgement and its event are computed anew for what was
altered, and all of it is signed. Nothing but a team's receipts can tell such a bundle from the true one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from referee.evidence.bundle import read_bundle
from referee.evidence.container import read_manifest
from referee.evidence.recomputed import Recomputed
from referee.store.chain import event_digest, log_link, receipt_link, run_start
from tests.referee.evidence.proved import MANIFEST, Proved, Texts, lines, opened, sealed_parts

Chance = np.random.Generator


class History:
    """A run's records as values to alter: bodies with their lines, readings, events."""

    def __init__(self, proved: Proved) -> None:
        self.proved, self.texts = proved, opened(proved.data)
        self.about, self.run = (json.loads(self.texts["run.json"])[key] for key in ("contest", "run"))
        self.posts = [json.loads(line) for line in self.texts["posts.jsonl.gz"].splitlines()]
        content, at = self.texts["bodies.gz"], 0
        for post in self.posts:
            post["body"], at = content[at : at + post["bytes"]], at + post["bytes"]
        self.readings = self.texts["readings.csv.gz"].splitlines(keepends=True)
        self.served = self.texts["served.csv.gz"].splitlines(keepends=True)
        self.first, *self.events = (json.loads(line) for line in self.texts["events.jsonl.gz"].splitlines())

    def event(self, kind: str) -> dict[str, Any]:
        return [event for event in self.events if event.get("kind") == kind][-1]

    def set_detail(self, kind: str, **values: object) -> None:
        event = self.event(kind)
        event["detail"] = json.dumps(json.loads(event["detail"]) | values)

    def sealed(self) -> bytes:
        """The bundle in which all of this agrees, signed by the contest's key."""
        head = self._chained()
        self.texts["readings.csv.gz"] = b"".join(self.readings)
        self.texts["served.csv.gz"] = b"".join(self.served)
        digests = {
            f"{name}_sha256": hashlib.sha256(self.texts[f"{name}.csv.gz"]).hexdigest()
            for name in ("readings", "served")
        }
        self.set_detail("closed", posts=len(self.posts), head=head, **digests)
        self.texts["run.json"] = lines([json.loads(self.texts["run.json"]) | {"run": self.run}])
        self._judge()
        self._log()
        return self.proved.sealed(self.texts)

    def _chained(self) -> str:
        of = (self.run["id"], self.run["nonce"], self.run["team"], self.run["testset_digest"])
        link, total = run_start(self.about["id"], *of), 0
        for number, post in enumerate(self.posts, start=1):
            total += post["accepted"]
            body = post["body"]
            post |= {"number": number, "previous": link.hex(), "received_total": total, "bytes": len(body)}
            post["sha256"] = hashlib.sha256(body).hexdigest()
            link = receipt_link(link, number, post["sha256"], post["received_utc"], post["accepted"], total)
            post["link"] = link.hex()
        told = [{name: value for name, value in post.items() if name != "body"} for post in self.posts]
        self.texts["posts.jsonl.gz"] = lines(told)
        self.texts["bodies.gz"] = b"".join(post["body"] for post in self.posts)
        return link.hex()

    def _judge(self) -> None:
        self._log()
        parts = sealed_parts(self.texts, self.proved.key, self.proved.key.public)
        judged = Recomputed(read_bundle(read_manifest(parts[MANIFEST]), parts), None).judged
        result = json.loads(self.texts["result.json"])
        told = {
            name: getattr(judged, name)
            for name in ("map", "energy_wh", "score", "mean_power_w", "detections")
        }
        told |= {"signature": judged.signature, "map_ilsvrc_det": judged.map_ilsvrc_det}
        told |= {"energy_limit": judged.energy_limit, "energy_known_by": judged.energy_known_by}
        told["ap"] = {str(category): ap for category, ap in judged.ap.items()}
        self.texts["result.json"] = lines([result | told])
        self.texts["checks.json"] = lines([[asdict(check) for check in judged.checks]])
        self.set_detail("judged", **{name: told[name] for name in ("map", "energy_wh", "score", "signature")})

    def _log(self) -> None:
        link = bytes.fromhex(self.first["previous"])
        for event in self.events:
            of = [event.get(name) for name in ("utc", "run", "kind", "detail")]
            digest = bytes.fromhex(event["digest"]) if "digest" in event else event_digest(*of)  # type: ignore[arg-type]
            link = log_link(link, digest)
        self.texts["events.jsonl.gz"] = lines([self.first, *self.events])
        manifest = json.loads(self.texts[MANIFEST])
        manifest["predicate"]["log_head"] = link.hex()
        self.texts[MANIFEST] = lines([manifest])


def altered_body(history: History, chance: Chance) -> None:
    """Another confidence in a body."""
    post = _one_of_json(history, chance)
    rows = json.loads(post["body"])
    rows[int(chance.integers(len(rows)))][2] = round(float(chance.random()), 6)
    post["body"] = json.dumps(rows).encode()


def removed_body(history: History, chance: Chance) -> None:
    del history.posts[int(chance.integers(len(history.posts)))]


def added_body(history: History, chance: Chance) -> None:
    """A row that the team did not send, at any place."""
    at = int(chance.integers(len(history.posts) + 1))
    body = json.dumps([[1, 1, round(float(chance.random()), 6), 2, 2, 40, 40]]).encode()
    near = history.posts[min(at, len(history.posts) - 1)]
    new = near | {"body": body, "content_type": "application/json", "accepted": 1, "refused": 0}
    history.posts.insert(at, new)


def repeated_body(history: History, chance: Chance) -> None:
    at = int(chance.integers(len(history.posts)))
    history.posts.insert(at, dict(history.posts[at]))


def reordered_bodies(history: History, chance: Chance) -> None:
    before = [post["sha256"] for post in history.posts]
    while [post["sha256"] for post in history.posts] == before:
        history.posts = [history.posts[at] for at in chance.permutation(len(before)).tolist()]


def other_time(history: History, chance: Chance) -> None:
    """A body is said to have come earlier or later."""
    post = history.posts[int(chance.integers(len(history.posts)))]
    moved_s = float(chance.uniform(0.001, 5)) * (1 if chance.random() < 0.5 else -1)
    when = datetime.fromisoformat(post["received_utc"]) + timedelta(seconds=moved_s)
    post["received_utc"] = when.isoformat()


def other_reading(history: History, chance: Chance) -> None:
    """Another power in a reading, or a reading less."""
    at = int(chance.integers(1, len(history.readings)))
    if chance.random() < 0.5 and len(history.readings) > 2:
        del history.readings[at]
        return
    names = history.readings[0].decode().strip().split(",")
    values = history.readings[at].decode().split(",")
    values[names.index("power_w")] = str(round(float(chance.uniform(1, 30)), 6))
    history.readings[at] = ",".join(values).encode()


def other_served(history: History, chance: Chance) -> None:
    """An image is said not to have been served."""
    del history.served[int(chance.integers(1, len(history.served)))]


def other_energy(history: History, chance: Chance) -> None:
    """Less energy, in the event of the close, in the run and in the last reading."""
    energy_wh = history.run["energy_wh"] * float(chance.uniform(0.2, 0.99))
    history.run["energy_wh"] = energy_wh
    history.set_detail("closed", energy_wh=energy_wh)


def energy_read_later(history: History, chance: Chance) -> None:
    """Less energy, said to have been read from the meter after the close."""
    energy_wh = history.run["energy_wh"] * float(chance.uniform(0.2, 0.99))
    history.run["energy_wh"] = energy_wh
    detail = {"energy_wh": energy_wh, "integrator_s": history.run["integrator_s"]}
    closed = history.event("closed")
    read = closed | {"kind": "energy-read", "detail": json.dumps(detail)}
    history.events.insert(history.events.index(closed) + 1, read)


ALTERED: list[Callable[[History, Chance], None]] = [
    altered_body,
    removed_body,
    added_body,
    repeated_body,
    reordered_bodies,
    other_time,
    other_reading,
    other_served,
    other_energy,
]


def _one_of_json(history: History, chance: Chance) -> dict[str, Any]:
    found = [post for post in history.posts if post["body"][:2] == b"[["]
    return found[int(chance.integers(len(found)))]


__all__ = ["ALTERED", "History", "Texts", "energy_read_later"]
