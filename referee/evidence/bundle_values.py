"""The content of a bundle as typed values, read before anything is compared. Pure."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpirc_power.energy import Check
from lpirc_power.meter import Limits, Reading, Setup
from lpirc_power.meter_standing import Standing
from lpirc_score.metrics.contest_score import score
from lpirc_testsets import Category, Image, TestSet
from referee.evidence.bundle_container import (
    GROUND_TRUTH,
    JUDGEMENTS,
    BadBundle,
    gunzip,
    read_json,
    read_json_lines,
)
from referee.evidence.limits_in_bundle import read_limits
from referee.store.reading_table import reading_of
from referee.store.records import Run, RunState, Score, ScoreInterval
from referee.store.run_rules import rules_of
from referee.store.score_table import Judgement

TEXTS = ("utc", "state", "flags", "changed")
"""The columns of readings that contain text."""


@dataclass(frozen=True)
class PostLine:
    """A line of `posts.jsonl.gz`."""

    number: int | None
    previous: str | None
    link: str | None
    received_utc: str
    elapsed_s: float
    content_type: str | None
    kind: str
    bytes: int
    sha256: str
    accepted: int
    received_total: int
    refused: int
    refused_rows: list[tuple[int, str]]
    readings: int | None = None
    meter: str | None = None


@dataclass(frozen=True, eq=False)
class Bundle:
    """The content of a bundle.

    `bodies` has one entry for each of `posts`. `events` are the lines of the events part after its first line; that
    first line states how many events of the log precede them, `events_before`.
    """

    manifest: Mapping[str, Any]
    contest: Mapping[str, Any]
    run: Run
    run_row: Mapping[str, Any]
    limits: Limits | None
    test_set: TestSet
    order: NDArray[np.int64]
    ground_truth: bytes | None
    posts: list[PostLine]
    bodies: list[bytes]
    served: bytes
    readings: bytes
    log_before: bytes
    events_before: int
    events: list[Mapping[str, Any]]
    checks: list[Mapping[str, Any]]
    judgements: list[Judgement]
    result: Mapping[str, Any] | None

    @cached_property
    def served_images(self) -> list[int]:
        """The distinct images that were served, by the numbers that the team knows."""
        return sorted({int(row["image"]) for row in _csv(self.served)})

    @cached_property
    def meter_readings(self) -> list[Reading]:
        """The readings in order, with times since the start of the window."""
        found = []
        for row in _csv(self.readings):
            values = {name: _value(name, text) for name, text in row.items()}
            found.append(reading_of({"stopped": None, **values}, 0.0))
        return sorted(found, key=lambda one: one.monotonic_s)

    @property
    def judged(self) -> Score | None:
        """Return the stated judgement, or None before the run is judged. Raises BadBundle."""
        if self.result is None:
            return None
        with _reading("result.json"):
            checks = tuple(Check(**check) for check in self.checks)
            interval = (
                ScoreInterval(**self.result["interval"])
                if self.result["interval"]
                else None
            )
            rules = self.judgements[-1].rules if self.judgements else None
            values = dict(self.result) | {"interval": interval, "rules": rules}
            judged = Score(**values, run=self.run.id, checks=checks)
            is_quotient = self.run.rules is None or self.run.rules.rule is None
            has_score = judged.score is not None
            if (has_score and judged.map is None) or (
                is_quotient
                and judged.score is not None
                and judged.map is not None
                and judged.score != score(judged.map, judged.energy_wh or 0.0)
            ):
                raise ValueError("its score is not its mAP divided by its energy")
            return judged

    def own_events(self) -> Iterator[dict[str, Any]]:
        """Yield the run's events, oldest first, in the form of the store."""
        for event in self.events:
            if "kind" in event:
                yield {
                    "utc": event["utc"],
                    "kind": event["kind"],
                    **json.loads(event["detail"]),
                }

    def last_event(self, kind: str) -> dict[str, Any]:
        """Return the last event of this kind, or an empty dict."""
        return ([{}] + [event for event in self.own_events() if event["kind"] == kind])[
            -1
        ]


def read_bundle(manifest: Mapping[str, Any], parts: Mapping[str, bytes]) -> Bundle:
    """Read a bundle from parts that have been checked against the manifest. Raises BadBundle."""
    sizes = manifest["sizes"]
    unzipped = {
        name: gunzip(name, part, sizes.get(name))
        for name, part in parts.items()
        if name.endswith(".gz")
    }
    content = {**parts, **unzipped}
    with _reading("run.json"):
        about = read_json("run.json", content["run.json"])
        run = _run(about["run"])
        limits = read_limits(about["meter"]["limits"])
    with _reading("testset.json"):
        test_set = _test_set(read_json("testset.json", content["testset.json"]))
    with _reading("image_order.json"):
        order = _order(
            read_json("image_order.json", content["image_order.json"]), run, test_set
        )
    with _reading("posts.jsonl.gz"):
        posts = [
            PostLine(**line)
            for line in read_json_lines("posts.jsonl.gz", content["posts.jsonl.gz"])
        ]
        bodies = _bodies(posts, content["bodies.gz"])
    with _reading("events.jsonl.gz"):
        first, *events = read_json_lines("events.jsonl.gz", content["events.jsonl.gz"])
        log_before = _log_before(first)
    with _reading(JUDGEMENTS):
        judgements = [_judgement(one) for one in _listed(content)]
    bundle = Bundle(
        manifest=manifest,
        contest=about["contest"],
        run=run,
        run_row=about["run"],
        limits=limits,
        test_set=test_set,
        order=order,
        ground_truth=content.get(GROUND_TRUTH),
        posts=posts,
        bodies=bodies,
        served=content["served.csv.gz"],
        readings=content["readings.csv.gz"],
        log_before=log_before,
        events_before=first["before"],
        events=events,
        checks=read_json("checks.json", content["checks.json"]),
        judgements=judgements,
        result=read_json("result.json", content["result.json"]),
    )
    with _reading("run.json"):
        _require_same_run(bundle)
    return bundle


@contextmanager
def _reading(part: str) -> Iterator[None]:
    try:
        yield
    except (
        csv.Error,
        KeyError,
        TypeError,
        ValueError,
        IndexError,
        AttributeError,
        OverflowError,
    ) as error:
        sentence = f"Part {part} is malformed ({error!r:.200})."
        raise BadBundle(part, sentence) from None


def _require_same_run(bundle: Bundle) -> None:
    says = bundle.manifest["run"], bundle.manifest.get("contest")
    if says != (bundle.run.id, bundle.contest.get("id")):
        raise BadBundle(
            "run.json",
            f"Part run.json is of run {bundle.run.id} in contest {bundle.contest.get('id')!r}, but the manifest names "
            f"run {says[0]!r} in contest {says[1]!r}.",
        )
    with _reading("events.jsonl.gz"):
        if any(
            event["run"] != bundle.run.id for event in bundle.events if "kind" in event
        ):
            raise ValueError("it has an event of a run other than the bundle's")
        list(bundle.own_events())
    with _reading("served.csv.gz"):
        if not {*bundle.served_images} <= {*range(1, len(bundle.order) + 1)}:
            raise ValueError("it has an image that the run does not have")
    with _reading("readings.csv.gz"):
        list(bundle.meter_readings)


def _run(row: Mapping[str, Any]) -> Run:
    changes = row["meter_changes"]
    standing = row["meter_standing"]
    rules = row.get("rules")
    read = {
        "state": RunState(row["state"]),
        "setup": Setup(**row["setup"]),
        "meter_changes": None if changes is None else tuple(changes),
        "meter_standing": None if standing is None else Standing(standing),
        "rules": None if rules is None else rules_of(rules),
    }
    return Run(**(dict(row) | read))


def _listed(content: Mapping[str, bytes]) -> list[Mapping[str, Any]]:
    """Return the listed judgements; empty for a format before 3."""
    found: list[Mapping[str, Any]] = read_json(
        JUDGEMENTS, content.get(JUDGEMENTS, b"[]\n")
    )
    return found


def _judgement(row: Mapping[str, Any]) -> Judgement:
    rules = row["rules"]
    return Judgement(
        **(dict(row) | {"rules": None if rules is None else rules_of(rules)})
    )


def _test_set(content: Mapping[str, Any]) -> TestSet:
    images = [
        Image(number, file, width, height, sha256, "")
        for number, (file, width, height, sha256) in enumerate(
            content["images"], start=1
        )
    ]
    return TestSet(
        folder=Path(),
        name=content["name"],
        digest=content["digest"],
        images=tuple(images),
        categories=tuple(Category(id_, name) for id_, name in content["categories"]),
        ground_truth_sha256=content["ground_truth_sha256"],
        objects=0,
    )


def _order(numbers: list[int], run: Run, test_set: TestSet) -> NDArray[np.int64]:
    are_known = {*numbers} <= {*range(1, len(test_set.images) + 1)} and {
        *map(type, numbers)
    } <= {int}
    if not are_known or not len({*numbers}) == len(numbers) == run.images:
        raise ValueError("the numbers are not those of the run's images, each once")
    return np.array(numbers, np.int64)


def _bodies(posts: list[PostLine], content: bytes) -> list[bytes]:
    ends = np.cumsum([0, *(post.bytes for post in posts)]).tolist()
    if ends[-1] != len(content) or any(post.bytes < 0 for post in posts):
        raise BadBundle(
            "bodies.gz",
            "Part bodies.gz does not have the size that posts.jsonl.gz states.",
        )
    return [
        content[start : start + post.bytes]
        for start, post in zip(ends, posts, strict=False)
    ]


def _log_before(first: Mapping[str, Any]) -> bytes:
    previous = bytes.fromhex(first["previous"])
    is_first = previous == bytes(32)
    if (
        len(previous) != 32
        or {*first} != {"previous", "before"}
        or is_first != (first["before"] == 0)
    ):
        raise ValueError(
            "the first line is not the head of the log before the first event"
        )
    return previous


def _csv(content: bytes) -> Iterator[dict[str, str]]:
    return csv.DictReader(io.StringIO(content.decode()))


def _value(name: str, text: str) -> float | str | None:
    if name in TEXTS:
        return text
    return float(text) if text else None
