"""What a bundle records of a run, and the items about it. From docs/bundle.md alone."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from verify_formats import (
    ENVELOPE,
    GROUND_TRUTH,
    MANIFEST,
    NotChecked,
    Row,
    about,
    as_json,
    good_rows,
    inflate,
    json_of,
    lines,
    need,
    need_same,
    need_signature,
    sha256,
    unpack,
)

Fields = dict[str, Any]

TERMS = ("images", "window_s", "setup", "meter_identity", "meter_standing", "images_digest")
NOT_BOUND = "an earlier version armed the run: its rules are not bound"
NO_LINK = "0" * 64


@dataclass
class Event:
    """An event of the run, and its link in the contest's log."""

    utc: str
    kind: str
    detail: Fields
    link: str


class Bundle:
    """The texts of a bundle as values. Raises Wrong, and whatever comes of values that are not what they should be."""

    def __init__(self, data: bytes, truth: bytes | None) -> None:
        self.parts = unpack(data)
        manifest = as_json(self.parts[MANIFEST], MANIFEST)
        self.subject: list[Fields] = manifest["subject"]
        self.predicate: Fields = manifest["predicate"]
        self.key: str = self.predicate["public_key"]

        sizes = self.predicate["sizes"]
        need([MANIFEST, ENVELOPE, *sizes] == [*self.parts], f"{MANIFEST}: it is of other parts")
        self.texts = {name: inflate(self.parts[name], size, name) for name, size in sizes.items()}
        self.truth = self.texts.get(GROUND_TRUTH) if truth is None else truth

        of_run = self._value("run.json")
        self.contest: Fields = of_run["contest"]
        self.run: Fields = of_run["run"]
        self.rules: Fields | None = self.run.get("rules")
        self.test_set: Fields = self._value("testset.json")
        self.order: list[int] = self._value("image_order.json")
        self.posts: list[Fields] = self._values("posts.jsonl.gz")
        self.result: Fields | None = self._value("result.json")
        self.judgements: list[Fields] = []
        if "judgements.json" in self.texts:
            self.judgements = self._value("judgements.json")
        for name in ("ro-crate-metadata.json", "checks.json"):
            self._value(name)

        first, *logged = self._values("events.jsonl.gz")
        self.events_before: int = first["before"]
        self.links: list[str] = [first["previous"]]
        self.events: list[Event] = []
        for one in logged:
            self._add_event(one)

    def _value(self, name: str) -> Any:
        return as_json(self.texts[name], name)

    def _values(self, name: str) -> list[Any]:
        return [as_json(line, name) for line in self.texts[name].splitlines(keepends=True)]

    def _add_event(self, one: Fields) -> None:
        if "digest" in one:
            digest = one["digest"]
        else:
            digest = sha256(json_of(["lpirc-event-1", one["utc"], one["run"], one["kind"], one["detail"]]))
        link = sha256(lines("lpirc-log-1", self.links[-1], digest))
        self.links.append(link)
        if "digest" not in one:
            need(one["run"] == self.run["id"], "events.jsonl.gz: an event of another run")
            self.events.append(Event(one["utc"], one["kind"], json.loads(one["detail"]), link))

    def events_of(self, kind: str) -> list[Event]:
        """The run's events of that kind, oldest first."""
        return [event for event in self.events if event.kind == kind]

    def last_detail(self, kind: str) -> Fields:
        """That of the run's last event of that kind; empty without one."""
        events = self.events_of(kind)
        return events[-1].detail if events else {}

    @cached_property
    def rules_sha256(self) -> str | None:
        """The digest of the run's rules, None where they are not bound."""
        return None if self.rules is None else digest_of_rules(self.rules)

    @cached_property
    def start(self) -> str:
        """The start of the run's chain."""
        run = self.run
        of_run = [self.contest["id"], run["id"], run["nonce"], run["team"], run["testset_digest"]]
        if self.rules is None:
            return sha256(json_of(["lpirc-run-1", *of_run]))
        return sha256(json_of(["lpirc-run-2", *of_run, self.rules_sha256]))

    @cached_property
    def head(self) -> str:
        """The last link of the run's chain, computed from the start; the start if no post has a link."""
        head = self.start
        for post in self.posts:
            if post["number"] is not None:
                head = link_of_body(post | {"previous": head}, is_bound=self.rules is not None)
        return head


def digest_of_rules(rules: Fields) -> str:
    """The SHA-256 of rules."""
    return sha256(json.dumps(rules, sort_keys=True, separators=(",", ":")))


# Who made it, and of which parts


def check_signature(bundle: Bundle, key: str | None) -> None:
    """The envelope is of this manifest, signed by its key, and by the given one."""
    manifest = bundle.parts[MANIFEST]
    kind = "application/vnd.in-toto+json"
    envelope = as_json(bundle.parts[ENVELOPE], ENVELOPE)
    signature = base64.b64decode(envelope["signatures"][0]["sig"])
    signed_by = {"keyid": bundle.key, "sig": base64.b64encode(signature).decode()}
    payload = base64.b64encode(manifest).decode()
    expected = {"payload": payload, "payloadType": kind, "signatures": [signed_by]}
    need(json_of(envelope) == json_of(expected), "it is of another manifest")

    text = f"DSSEv1 {len(kind)} {kind} {len(manifest)} ".encode() + manifest
    need_signature(text, signature, bytes.fromhex(bundle.key))
    need(key in (None, bundle.key), f"it is by {bundle.key}, not by {key}")


def check_parts(bundle: Bundle) -> None:
    """Every part has the SHA-256 of the manifest, and there are no others."""
    found = [{"name": name, "digest": {"sha256": sha256(bundle.parts[name])}} for name in bundle.texts]
    wrong = [one["name"] for one in found if one not in bundle.subject]
    need(found == bundle.subject, f"not of their SHA-256: {wrong}")

    truth = "included" if GROUND_TRUTH in bundle.parts else "secret"
    expected = {"run": bundle.run["id"], "contest": bundle.contest["id"], "ground_truth": truth}
    need_same(MANIFEST, bundle.predicate, expected)


# The test set


def check_test_set(bundle: Bundle) -> None:
    """Its digest is that of its content and of the run; images and their order are the run's."""
    images = bundle.test_set["images"]
    categories = bundle.test_set["categories"]
    digests = [sha256_of_it for _, _, _, sha256_of_it in images]
    content = {
        "format": "lpirc-testset",
        "version": 1,
        "images": digests,
        "ground_truth": bundle.test_set["ground_truth_sha256"],
        "categories": categories,
    }
    digest = sha256(json.dumps(content, sort_keys=True, separators=(",", ":")))
    need(digest == bundle.test_set["digest"], "its digest is not that of its content")
    _need_own_truth(bundle, digest)

    if bundle.run["images_digest"] is not None:
        shown = [[file, sha256_of_it] for file, _, _, sha256_of_it in images]
        known = [id_ for id_, _ in categories]
        images_digest = sha256(json_of([shown, known]))
        need(images_digest == bundle.run["images_digest"], "its images are not the run's")

    numbers = set(range(1, len(images) + 1))
    are_known = numbers.issuperset(bundle.order) and len({*bundle.order}) == len(bundle.order)
    need(are_known, "image_order.json has other images than the test set, or one twice")
    need(len(bundle.order) == bundle.run["images"], "image_order.json has not as many images as the run")


def _need_own_truth(bundle: Bundle, digest: str) -> None:
    """The test set is the one that the run was armed with, or events lead from that one to it."""
    armed_with = bundle.run["testset_digest"]
    corrections = bundle.events_of("truth-corrected")
    if corrections:
        before = armed_with
        for event in corrections:
            need(event.detail["old"] == before, f"the correction of {event.utc} is of another test set")
            _need_signed_correction(bundle, event)
            before = event.detail["new"]
        need(digest == before, "it is not the one that the events `truth-corrected` lead to")
    elif bundle.rules is None and digest != armed_with:
        judged = bundle.last_detail("judged")
        corrected = (judged.get("testset_digest"), judged.get("armed_with"))
        need(corrected == (digest, armed_with), "the run was armed with another one")
    else:
        need(digest == armed_with, "the run was armed with another one")


def _need_signed_correction(bundle: Bundle, event: Event) -> None:
    detail = event.detail
    text = json_of(
        [
            "lpirc-truth-1",
            bundle.contest["id"],
            bundle.run["id"],
            event.utc,
            detail["old"],
            detail["new"],
            detail["by"],
            detail["reason"],
        ]
    )
    need_signature(text.encode(), bytes.fromhex(detail["signature"]), bytes.fromhex(detail["public_key"]))


def check_ground_truth(bundle: Bundle) -> None:
    """It has the SHA-256 of the test set."""
    if bundle.truth is None:
        raise NotChecked("it is still secret: it needs --testset")
    need(
        sha256(bundle.truth) == bundle.test_set["ground_truth_sha256"],
        "it is not that of the test set",
    )


# The records of the run


def check_bodies(bundle: Bundle) -> list[Row]:
    """Each body is as its line says. Returns the rows that count, with the test set's image numbers."""
    bodies = bundle.texts["bodies.gz"]
    categories = {id_ for id_, _ in bundle.test_set["categories"]}
    at = 0
    taken: list[Row] = []
    for place, post in enumerate(bundle.posts, start=1):
        body = bodies[at : at + post["bytes"]]
        at += post["bytes"]
        with about(f"body {place}"):
            rows = good_rows(post, body, bundle.run["images"], categories)
        taken += rows
        need_same(f"body {place}", post, {"accepted": len(rows), "received_total": len(taken)})
    need(at == len(bodies), "bodies.gz has bytes of no body")

    _, *served_lines = bundle.texts["served.csv.gz"].decode().splitlines()
    served = {int(line.split(",")[0]) for line in served_lines}
    counts_all = bundle.contest["count_unserved"]
    counted = [row for row in taken if counts_all or row[0] in served]
    return [(bundle.order[int(image) - 1], *rest) for image, *rest in counted]


def check_run_chain(bundle: Bundle) -> None:
    """Every link follows from the one before, the first from the run and its rules."""
    before = bundle.start
    has_begun = False
    for place, post in enumerate(bundle.posts, start=1):
        if post["number"] is None and not has_begun:  # of an earlier version
            continue
        has_begun = True
        link = link_of_body(post, is_bound=bundle.rules is not None)
        need_same(f"body {place}", post, {"number": place, "previous": before, "link": link})
        before = link


def link_of_body(one: Fields, *, is_bound: bool) -> str:
    """The link of a body from its other fields, of which a run whose rules are bound has two more."""
    values = [one["previous"], one["number"], one["sha256"], one["received_utc"]]
    values += [one["accepted"], one["received_total"]]
    if is_bound:
        return sha256(lines("lpirc-receipt-2", *values, one["readings"], one["meter"]))
    return sha256(lines("lpirc-receipt-1", *values))


def check_meter_chain(bundle: Bundle) -> None:
    """Each body's `meter` is the link of its `readings`, which do not get fewer."""
    if bundle.rules is None:
        raise NotChecked(NOT_BOUND)
    _, *readings = bundle.texts["readings.csv.gz"].splitlines(keepends=True) or [b""]
    links = [NO_LINK]
    for line in readings:
        links.append(sha256(lines("lpirc-meter-1", links[-1]).encode() + line))

    before = 0
    for place, post in enumerate(bundle.posts, start=1):
        count = post["readings"]
        need(before <= count < len(links), f"body {place} came with {count} readings, after {before}")
        need(post["meter"] == links[count], f"body {place} has another link of its {count} readings")
        before = count


def check_log_chain(bundle: Bundle, head: str | None) -> None:
    """The links lead to the head of the manifest; the given one is among them."""
    links = bundle.links
    need(links[-1] == bundle.predicate["log_head"], f"it does not lead to the head of {MANIFEST}")
    if head is None:
        return

    first = bundle.events_before
    last = first + len(links) - 1
    span = f"this bundle has the links after {first} to {last} events: for another one ask for `referee log --head`"
    count, colon, digits = head.rpartition(":")
    if not colon:
        if not any(link.startswith(digits) for link in links):
            raise NotChecked(f"{digits} is not among its links; {span}")
        return
    if not first <= int(count) <= last:
        raise NotChecked(f"the head is that of {count} events; {span}")
    link = links[int(count) - first]
    need(link.startswith(digits), f"after {count} events it is {link}: the log was rewritten")


def check_closing(bundle: Bundle) -> None:
    """The event `closed` has the bodies, head, readings, served images and terms of the bundle."""
    closings = bundle.events_of("closed")
    closed = bundle.last_detail("closed")
    has_receipts = any(post["number"] is not None for post in bundle.posts)
    if "head" not in closed and not has_receipts and bundle.rules is None:
        raise NotChecked("an earlier version closed the run")

    terms = [bundle.run[name] for name in TERMS]
    expected = {
        "terms_sha256": sha256(json_of([*terms, bundle.order])),
        "posts": len(bundle.posts),
        "head": bundle.head,
        "readings_sha256": sha256(bundle.texts["readings.csv.gz"]),
        "served_sha256": sha256(bundle.texts["served.csv.gz"]),
    }
    need_same("the event `closed`", closed, expected)
    of_run = {"elapsed_s": closed["elapsed_s"], "closed_utc": closings[-1].utc}
    if closed["energy_wh"] is not None:
        of_run["meter_changes"] = closed["meter_changes"]
    need_same("run.json", bundle.run, of_run)


def check_energy(bundle: Bundle) -> None:
    """The energy of record, and the integrator's time, are those of the events."""
    of_record = bundle.last_detail("closed")
    if of_record.get("energy_wh") is None:
        of_record = bundle.last_detail("energy-read")
    need_same("run.json", bundle.run, {"energy_wh": of_record.get("energy_wh")})
    if "integrator_s" in of_record:
        need_same("run.json", bundle.run, {"integrator_s": of_record["integrator_s"]})
