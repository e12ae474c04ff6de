"""Histories as an organizer rewrites them who holds the contest's key: everything in them agrees again.

The chains of the run and of its readings, the event of its close, the log, the judgements and their events are computed
anew for what was altered, and all of it is signed. Nothing but a team's receipts can tell such a bundle from the true
one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from lpirc_power.meter_standing import Standing
from lpirc_score import METRICS
from lpirc_testsets.folder import compute_digest
from referee.evidence.bundle_container import GROUND_TRUTH, JUDGEMENTS, read_manifest
from referee.evidence.bundle_values import Bundle, read_bundle
from referee.evidence.recomputed_run import Recomputed
from referee.evidence.record_verification import TERMS
from referee.judging.score_uncertainty import energy_uncertainty
from referee.store.hash_links import (
    READINGS_START,
    correction_text,
    event_digest,
    log_link,
    meter_link,
    receipt_link,
    run_start,
    terms_sha256,
)
from referee.store.records import Score
from referee.store.run_rules import rules_of
from tests.referee.evidence.proved import MANIFEST, Proved, lines, opened, sealed_parts

Chance = np.random.Generator


class History:
    """A run's records as values to alter: rules, bodies with their lines, readings, events, judgements."""

    def __init__(self, proved: Proved) -> None:
        self.proved = proved
        self.texts = opened(proved.data)
        self.about, self.run = (
            json.loads(self.texts["run.json"])[key] for key in ("contest", "run")
        )
        self.rules: dict[str, Any] = self.run["rules"]
        self.order: list[int] = json.loads(self.texts["image_order.json"])
        self.posts = [
            json.loads(line) for line in self.texts["posts.jsonl.gz"].splitlines()
        ]
        content = self.texts["bodies.gz"]
        at = 0
        for post in self.posts:
            end = at + post["bytes"]
            post["body"] = content[at:end]
            at = end
        self.readings = self.texts["readings.csv.gz"].splitlines(keepends=True)
        self.served = self.texts["served.csv.gz"].splitlines(keepends=True)
        self.first, *self.events = (
            json.loads(line) for line in self.texts["events.jsonl.gz"].splitlines()
        )
        (self.judgement,) = json.loads(self.texts[JUDGEMENTS])
        self.says_bound = False  # whether the judgement claims the bound rules, whatever it was made by

    def event(self, kind: str) -> dict[str, Any]:
        return [event for event in self.events if event.get("kind") == kind][-1]

    def set_detail(self, kind: str, **values: object) -> None:
        event = self.event(kind)
        event["detail"] = json.dumps(json.loads(event["detail"]) | values)

    def sealed(self, *, judged: bool = True) -> bytes:
        """The bundle in which all of this agrees, signed by the contest's key; its figures only if it is `judged`."""
        self.texts["readings.csv.gz"] = b"".join(self.readings)
        self.texts["served.csv.gz"] = b"".join(self.served)
        self.texts["image_order.json"] = lines([self.order])
        head = self._chained()
        digests = {
            f"{name}_sha256": hashlib.sha256(self.texts[f"{name}.csv.gz"]).hexdigest()
            for name in ("readings", "served")
        }
        digests["terms_sha256"] = terms_sha256(
            [self.run[name] for name in TERMS],
            self.order,
        )
        self.set_detail(
            "closed",
            posts=len(self.posts),
            head=head,
            elapsed_s=self.run["elapsed_s"],
            **digests,
        )
        about = json.loads(self.texts["run.json"])
        self.texts["run.json"] = lines(
            [about | {"contest": self.about, "run": self.run}]
        )
        if judged:
            self._judge()
        self._log()
        return self.proved.sealed(self.texts)

    def _chained(self) -> str:
        of = (
            self.run["id"],
            self.run["nonce"],
            self.run["team"],
            self.run["testset_digest"],
        )
        link = run_start(self.about["id"], *of, rules_of(self.rules).sha256)
        total = 0
        meter = [READINGS_START]
        for line in self.readings[1:]:
            meter.append(meter_link(meter[-1], line.decode()))
        for number, post in enumerate(self.posts, start=1):
            total += post["accepted"]
            body = post["body"]
            post |= {
                "number": number,
                "previous": link.hex(),
                "received_total": total,
                "bytes": len(body),
            }
            post["sha256"] = hashlib.sha256(body).hexdigest()
            post["readings"] = min(post["readings"], len(meter) - 1)
            bound = meter[post["readings"]]
            fields = [
                post[name]
                for name in (
                    "sha256",
                    "received_utc",
                    "accepted",
                    "received_total",
                    "readings",
                )
            ]
            link = receipt_link(link, number, *fields, bound)
            post |= {"link": link.hex(), "meter": bound.hex()}
        told = [
            {name: value for name, value in post.items() if name != "body"}
            for post in self.posts
        ]
        self.texts["posts.jsonl.gz"] = lines(told)
        self.texts["bodies.gz"] = b"".join(post["body"] for post in self.posts)
        return link.hex()

    def _bundle(self) -> Bundle:
        parts = sealed_parts(self.texts, self.proved.key, self.proved.key.public)
        return read_bundle(read_manifest(parts[MANIFEST]), parts)

    def _judge(self) -> None:
        self._log()
        judged = Recomputed(self._bundle(), None).judged
        result = json.loads(self.texts["result.json"])
        told = {
            name: getattr(judged, name)
            for name in (
                "map",
                "energy_wh",
                "score",
                "mean_power_w",
                "images",
                "detections",
            )
        }
        told |= {"signature": judged.signature, "map_ilsvrc_det": judged.map_ilsvrc_det}
        told |= {
            "energy_limit": judged.energy_limit,
            "energy_known_by": judged.energy_known_by,
        }
        told |= {"energy_own_limit": judged.energy_own_limit}
        if judged.energy_budget is not None:
            told |= {"energy_budget": judged.energy_budget}
        if result["interval"] is not None:
            uncertainty = {"energy_uncertainty": energy_uncertainty(judged)}
            told |= {"interval": result["interval"] | uncertainty}
        told["ap"] = {str(category): ap for category, ap in judged.ap.items()}
        self.texts["result.json"] = lines([result | told])
        self.texts["checks.json"] = lines([[asdict(check) for check in judged.checks]])
        self._put_on_record(judged)

    def _put_on_record(self, judged: Score) -> None:
        assert judged.rules is not None
        rules = rules_of(self.rules) if self.says_bound else judged.rules
        figures = {
            name: getattr(judged, name)
            for name in ("map", "energy_wh", "score", "signature")
        }
        self.texts[JUDGEMENTS] = lines(
            [[self.judgement | figures | {"rules": rules.stated}]]
        )
        own = {"judged_utc": self.judgement["judged_utc"], "rules_sha256": rules.sha256}
        self.set_detail("judged", **figures, **own)

    def _log(self) -> None:
        link = bytes.fromhex(self.first["previous"])
        for event in self.events:
            of = [event.get(name) for name in ("utc", "run", "kind", "detail")]
            digest = (
                bytes.fromhex(event["digest"])
                if "digest" in event
                else event_digest(*of)
            )  # type: ignore[arg-type]
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
    new = near | {
        "body": body,
        "content_type": "application/json",
        "accepted": 1,
        "refused": 0,
    }
    history.posts.insert(at, new)


def repeated_body(history: History, chance: Chance) -> None:
    at = int(chance.integers(len(history.posts)))
    history.posts.insert(at, dict(history.posts[at]))


def reordered_bodies(history: History, chance: Chance) -> None:
    before = [post["sha256"] for post in history.posts]
    while [post["sha256"] for post in history.posts] == before:
        history.posts = [
            history.posts[at] for at in chance.permutation(len(before)).tolist()
        ]
    for post in history.posts:
        post["readings"] = history.posts[0]["readings"]


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
    _change_power(history, at, chance)


def bound_reading(history: History, chance: Chance) -> None:
    """Another power in a reading that the receipt of a body binds."""
    bound = max(post["readings"] for post in history.posts)
    _change_power(history, int(chance.integers(1, bound + 1)), chance)


def fewer_bound(history: History, chance: Chance) -> None:
    """The bodies are said to bind fewer readings, so that the later ones can be altered."""
    most = max(post["readings"] for post in history.posts)
    kept = int(chance.integers(0, most))
    for post in history.posts:
        post["readings"] = min(post["readings"], kept)


def other_served(history: History, chance: Chance) -> None:
    """An image is said not to have been served."""
    del history.served[int(chance.integers(1, len(history.served)))]


def other_energy(history: History, chance: Chance) -> None:
    """Less energy, in the event of the close and in the run."""
    energy_wh = history.run["energy_wh"] * float(chance.uniform(0.2, 0.99))
    history.run["energy_wh"] = energy_wh
    history.set_detail("closed", energy_wh=energy_wh)


def other_order(history: History, chance: Chance) -> None:
    """The team's images are said to have been others."""
    before = [*history.order]
    while history.order == before:
        history.order = [before[at] for at in chance.permutation(len(before)).tolist()]


def other_event(history: History, chance: Chance) -> None:
    """An event before the close is another one, or is not there."""
    before = [
        one
        for one in history.events[: history.events.index(history.event("closed"))]
        if "kind" in one
    ]
    event = before[int(chance.integers(len(before)))]
    if chance.random() < 0.5:
        history.events.remove(event)
    else:
        event["detail"] = json.dumps(
            json.loads(event["detail"]) | {"note": round(float(chance.random()), 6)}
        )


def other_close(history: History, chance: Chance) -> None:
    """The run is said to have ended earlier, or at another time."""
    closed = history.event("closed")
    if chance.random() < 0.5:
        history.run["elapsed_s"] *= float(chance.uniform(0.5, 0.99))
    else:
        moved = datetime.fromisoformat(closed["utc"]) + timedelta(
            seconds=float(chance.uniform(0.1, 9))
        )
        closed["utc"] = history.run["closed_utc"] = moved.isoformat()


def other_terms(history: History, chance: Chance) -> None:
    """Another meter."""
    serial = f"C3U{int(chance.integers(10**6))}"
    history.run["meter_identity"] = f"YOKOGAWA WT310E {serial} F1.04"


def other_standing(history: History, chance: Chance) -> None:
    """Another standing than maker and serial number give."""
    standings = {one.value for one in Standing} - {history.run["meter_standing"]}
    chosen = int(chance.integers(len(standings)))
    history.run["meter_standing"] = sorted(standings)[chosen]


def other_makers(history: History, chance: Chance) -> None:
    """One more maker, said to have counted from the beginning."""
    name = f"ACME{int(chance.integers(10**6))}"
    history.rules["official_makers"] = [*history.rules["official_makers"], name]


def other_setup(history: History, chance: Chance) -> None:
    """The meter is said to have measured otherwise."""
    setup = history.run["setup"] | {
        "crest_factor": 6,
        "current_range_a": float(chance.integers(1, 20)),
    }
    history.run["setup"] = history.rules["setup"] = setup


def other_metric(history: History, chance: Chance) -> None:
    """Another metric, said to have been bound from the beginning."""
    others = [one for one in METRICS if one != history.rules["metric"]]
    history.rules["metric"] = history.about["metric"] = others[
        int(chance.integers(len(others)))
    ]


def other_unserved(history: History, chance: Chance) -> None:
    del chance
    counts = not history.rules["count_unserved"]
    history.rules["count_unserved"] = history.about["count_unserved"] = counts


def other_least_map(history: History, chance: Chance) -> None:
    history.rules["least_map"] = round(float(chance.uniform(0.01, 0.9)), 6)


def other_attempts(history: History, chance: Chance) -> None:
    history.rules["attempts"] += int(chance.integers(1, 9))


def other_prizes(history: History, chance: Chance) -> None:
    prizes = history.rules["prizes"]
    at = int(chance.integers(len(prizes)))
    prizes[at] = prizes[at] | {
        "rule": {"best-score": "highest-map"}.get(prizes[at]["rule"], "best-score")
    }


def other_extra(history: History, chance: Chance) -> None:
    """Some of the window is said to have been granted beyond the contest's, whose window then was shorter."""
    extra_s = int(chance.integers(1, history.rules["window_s"] - 1))
    history.rules["extra_s"] = extra_s
    history.run["extra_s"] = float(extra_s)
    history.rules["window_s"] = int(history.run["window_s"]) - extra_s


def other_window(history: History, chance: Chance) -> None:
    longer_s = int(chance.integers(1, 600))
    history.rules["window_s"] += longer_s
    history.run["window_s"] += float(longer_s)


def other_truth(history: History, chance: Chance) -> None:
    """Another ground truth, said to have been that of the arming."""
    digest = changed_truth(history, chance)
    history.run["testset_digest"] = history.rules["testset_digest"] = digest


def metric_of_the_judgement(history: History, chance: Chance) -> None:
    """The rules stay bound, and the published figures are by another metric, which the judgement admits or not."""
    others = [one for one in METRICS if one != history.rules["metric"]]
    history.about["metric"] = others[int(chance.integers(len(others)))]
    history.says_bound = bool(chance.random() < 0.5)


def unserved_in_the_judgement(history: History, chance: Chance) -> None:
    history.about["count_unserved"] = not history.rules["count_unserved"]
    history.says_bound = bool(chance.random() < 0.5)


def changed_truth(history: History, chance: Chance) -> str:
    """Move a box of the ground truth; returns the digest of the test set that has it."""
    truth = json.loads(history.texts[GROUND_TRUTH])
    box = truth["annotations"][int(chance.integers(len(truth["annotations"])))]["bbox"]
    box[0] += 1.0 + round(float(chance.random()), 6)
    history.texts[GROUND_TRUTH] = json.dumps(truth).encode()
    test_set = json.loads(history.texts["testset.json"])
    sha256 = hashlib.sha256(history.texts[GROUND_TRUTH]).hexdigest()
    own = history._bundle().test_set  # noqa: SLF001 - the images as they are read
    digest = compute_digest(own.images, sha256, own.categories)
    history.texts["testset.json"] = lines(
        [test_set | {"digest": digest, "ground_truth_sha256": sha256}]
    )
    return digest


def corrected_truth(history: History, chance: Chance) -> str:
    """Another ground truth, openly: with the event that says so. Returns the new digest."""
    old = history.run["testset_digest"]
    new = changed_truth(history, chance)
    judged = history.event("judged")
    text = correction_text(
        history.about["id"],
        history.run["id"],
        judged["utc"],
        old,
        new,
        "eve",
        None,
    )
    key = history.proved.key
    detail = {
        "old": old,
        "new": new,
        "by": "eve",
        "reason": None,
    }
    detail |= {"signature": key.sign(text), "public_key": key.public}
    event = judged | {"kind": "truth-corrected", "detail": json.dumps(detail)}
    history.events.insert(history.events.index(judged), event)
    history.set_detail("judged", testset_digest=new, armed_with=old)
    return new


def energy_read_later(history: History, chance: Chance) -> None:
    """Less energy, said to have been read from the meter after the close."""
    energy_wh = history.run["energy_wh"] * float(chance.uniform(0.2, 0.99))
    history.run["energy_wh"] = energy_wh
    detail = {"energy_wh": energy_wh, "integrator_s": history.run["integrator_s"]}
    closed = history.event("closed")
    read = closed | {"kind": "energy-read", "detail": json.dumps(detail)}
    history.events.insert(history.events.index(closed) + 1, read)


Alteration = Callable[[History, Chance], None]
BOUND_BY_BODIES: list[Alteration] = [
    altered_body,
    bound_reading,
    fewer_bound,
    other_metric,
    other_unserved,
    other_least_map,
    other_attempts,
    other_prizes,
    other_extra,
    other_window,
    other_setup,
    other_truth,
    other_makers,
]
"""What the receipts of bodies tell, without a closing one."""
BOUND_BY_THE_CLOSE: list[Alteration] = [
    removed_body,
    added_body,
    repeated_body,
    reordered_bodies,
    other_time,
    other_reading,
    other_served,
    other_energy,
    other_order,
    other_event,
    other_close,
    other_terms,
    other_standing,
]
TOLD_BY_THE_RULES: list[Alteration] = [
    metric_of_the_judgement,
    unserved_in_the_judgement,
]
"""What no receipt is needed for."""


def _change_power(history: History, at: int, chance: Chance) -> None:
    names = history.readings[0].decode().strip().split(",")
    values = history.readings[at].decode().split(",")
    values[names.index("power_w")] = str(round(float(chance.uniform(1, 30)), 6))
    history.readings[at] = ",".join(values).encode()


def _one_of_json(history: History, chance: Chance) -> dict[str, Any]:
    found = [post for post in history.posts if post["body"][:2] == b"[["]
    return found[int(chance.integers(len(found)))]
