"""Reads a run's records from a bundle and computes the links between them. Written from docs/bundle.md alone."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from verify_formats import (
    ENVELOPE,
    GROUND_TRUTH,
    JUDGEMENTS,
    MANIFEST,
    about,
    as_json,
    compact_json_of,
    inflate,
    json_of,
    lines,
    need,
    sha256,
    unpack,
)

Fields = dict[str, Any]

NOT_BOUND = "an earlier version of the referee armed the run and did not record its rules in its chain"
NO_LINK = "0" * 64


@dataclass
class Event:
    """An event of the run, with its link in the contest's log."""

    utc: str
    kind: str
    detail: Fields
    link: str


class Bundle:
    """The parts of a bundle, parsed.

    Raises Wrong, and any error that malformed values cause, such as KeyError or TypeError.
    """

    def __init__(
        self,
        data: bytes,
        truth: bytes | None,
    ) -> None:
        """Read the parts of a bundle; `truth`, if given, replaces its ground truth. Raises Wrong."""
        self.parts = unpack(data)
        self.statement: Fields = as_json(self.parts[MANIFEST], MANIFEST)
        self.subject: list[Fields] = self.statement["subject"]
        self.predicate: Fields = self.statement["predicate"]
        self.key: str = self.predicate["public_key"]
        self.texts = self._unpacked_texts()
        self.truth = self.texts.get(GROUND_TRUTH)
        if truth is not None:
            self.truth = truth

        of_run = self._value("run.json")
        self.contest: Fields = of_run["contest"]
        self.run: Fields = of_run["run"]
        self.rules: Fields | None = self.run.get("rules")
        self.task: str | None = (self.rules or {}).get("task")
        """The task that the run answers; None for boxes."""
        self.test_set: Fields = self._value("testset.json")
        self.order: list[int] = self._value("image_order.json")
        self.posts: list[Fields] = self._values("posts.jsonl.gz")

        self._value("ro-crate-metadata.json")
        self._value("checks.json")
        self.result: Fields | None = self._value("result.json")
        self.judgements: list[Fields] = []
        if JUDGEMENTS in self.texts:
            self.judgements = self._value(JUDGEMENTS)

        first, *logged = self._values("events.jsonl.gz")
        self.events_before: int = first["before"]
        self.log: list[str] = [first["previous"]]
        self.events: list[Event] = []
        for one in logged:
            with about("events.jsonl.gz"):
                self._add_event(one)

    @property
    def not_computed(self) -> str:
        """Why nothing is computed of a run that answers another task than boxes."""
        return f"the figures of the task {self.task} are not computed here"

    def _unpacked_texts(self) -> dict[str, bytes]:
        """Return the unpacked content of every part by name. Raises Wrong."""
        sizes = self.predicate["sizes"]
        listed = [MANIFEST, ENVELOPE, *sizes]
        need(
            listed == [*self.parts],
            f"the parts listed in {MANIFEST} are not those in the bundle",
        )
        texts = {}
        for name, size in sizes.items():
            texts[name] = inflate(self.parts[name], size, name)
        return texts

    def _value(self, name: str) -> Any:
        """Return the JSON value of a part."""
        return as_json(self.texts[name], name)

    def _values(self, name: str) -> list[Any]:
        """Return the JSON values of a part that has one per line."""
        written = self.texts[name].splitlines(keepends=True)
        return [as_json(line, name) for line in written]

    def _add_event(self, one: Fields) -> None:
        """Add an event of the run with its link; of an event of another run, add only the link."""
        if "digest" in one:  # of another run, or of none
            self._add_link(one["digest"])
            return
        self._add_link(digest_of_event(one))
        is_own = one["run"] == self.run["id"]
        need(is_own, "it has an event of a run other than the bundle's")
        event = Event(
            utc=one["utc"],
            kind=one["kind"],
            detail=json.loads(one["detail"]),
            link=self.log[-1],
        )
        self.events.append(event)

    def _add_link(self, digest: str) -> None:
        """Append the link that chains this digest to the previous link."""
        previous = self.log[-1]
        text = lines("lpirc-log-1", previous, digest)
        self.log.append(sha256(text))

    def events_of(self, kind: str) -> list[Event]:
        """Return the run's events of this kind, oldest first."""
        return [event for event in self.events if event.kind == kind]

    def last_detail(self, kind: str) -> Fields:
        """Return the detail of the run's last event of this kind, or an empty one if there is none."""
        events = self.events_of(kind)
        return events[-1].detail if events else {}

    def start_of_chain(self) -> str:
        """Return the first value of the run's hash chain."""
        run = self.run
        values = [
            self.contest["id"],
            run["id"],
            run["nonce"],
            run["team"],
            run["testset_digest"],
        ]
        if self.rules is None:
            return sha256(json_of(["lpirc-run-1", *values]))
        rules_sha256 = digest_of_rules(self.rules)
        return sha256(json_of(["lpirc-run-2", *values, rules_sha256]))

    def head_of_chain(self) -> str:
        """Return the last link of the run's hash chain, computed from its start."""
        head = self.start_of_chain()
        for post in self.posts:
            if post["number"] is not None:
                head = self.link_of_body(post | {"previous": head})
        return head

    def link_of_body(self, one: Fields) -> str:
        """Return the link of one of the run's bodies, computed from the other fields of its line or receipt."""
        values = [
            one["previous"],
            one["number"],
            one["sha256"],
            one["received_utc"],
            one["accepted"],
            one["received_total"],
        ]
        if self.rules is None:
            return sha256(lines("lpirc-receipt-1", *values))
        values.append(one["readings"])
        values.append(one["meter"])
        return sha256(lines("lpirc-receipt-2", *values))

    def meter_links(self) -> list[str]:
        """Return the link before the first reading, followed by the link of each reading."""
        table = self.texts["readings.csv.gz"]
        _, *readings, rest = table.split(b"\n")
        need(rest == b"", "readings.csv.gz is cut short")
        link = NO_LINK
        links = [link]
        for reading in readings:
            text = lines("lpirc-meter-1", link).encode()
            link = sha256(text + reading + b"\n")
            links.append(link)
        return links


def digest_of_event(one: Fields) -> str:
    """Return the digest of an event of the log."""
    values = [
        "lpirc-event-1",
        one["utc"],
        one["run"],
        one["kind"],
        one["detail"],
    ]
    return sha256(json_of(values))


def digest_of_rules(rules: Fields) -> str:
    """Return the SHA-256 of a run's rules."""
    return sha256(compact_json_of(rules))


def mean_power_w(run: Fields) -> float | None:
    """Return the energy divided by the run's length; None unless the energy was measured for that length."""
    energy = run["energy_wh"]
    counted_s = run["integrator_s"]
    elapsed_s = run["elapsed_s"]
    if energy is None or counted_s is None or elapsed_s is None:
        return None
    is_of_the_run = abs(counted_s - elapsed_s) <= 2
    if not is_of_the_run or not 0 < energy < math.inf:
        return None

    is_by_timer = 0 < counted_s == run["setup"]["integrator_timer_s"]
    is_exact = is_by_timer or counted_s % 1 != 0
    if not is_exact and abs(counted_s - elapsed_s) < 1:
        counted_s = elapsed_s
    if counted_s <= 0:
        return None
    power = energy * 3600 / counted_s
    return power if power < math.inf else None
