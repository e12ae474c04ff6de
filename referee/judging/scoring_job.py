"""The slow part of a judgement as a job: a pure function of arrays, named by the hash of its inputs.

Runs with the same job name share its result. Two names with the same stem differ only in the ground truth: then only
the categories with changed objects are scored, and the known results of the other categories are reused.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import compress
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lpirc_score import Detections, lists_ties_by_image
from lpirc_score.analysis.halves import HALVES, SEED, half_averages
from lpirc_score.detections.plausibility import Implausible, implausible
from lpirc_score.metrics.average_precision import mean_known
from lpirc_score.metrics.evaluation import evaluated
from lpirc_score.metrics.evaluation_result import RULES_VERSION
from lpirc_score.metrics.ilsvrc_det import PUBLISHED
from lpirc_score.metrics.offered import engine_of
from lpirc_testsets import GroundTruth

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
IMAGE = 0
CATEGORY = 1
CONTEST = "contest"
WITH_UNSERVED = "with-unserved"
"""Name of an evaluation of all rows, including rows for images that were not served."""


@dataclass(frozen=True, eq=False)
class ScoringInput:
    """The input for scoring a run. `rows` (n, 7) are in order of arrival, with the test set's image numbers.

    `ground_truth` is that of the run's images; `served` (N + 1,) and `limits` (N + 1, 5) are indexed by image number.
    """

    metric: str
    count_unserved: bool
    ground_truth: GroundTruth
    rows: Floats
    served: NDArray[np.bool_]
    limits: Floats

    def scored(self, known: Scored | None = None) -> Scored:
        """Return the result without `halves`; `known` is an earlier result with the same stem."""
        return scored(self, known)

    def with_halves(self, found: Scored, known: Scored | None = None) -> Scored:
        """Return the result completed with `halves`."""
        return with_halves(self, found, known)


class Scorable(Protocol):
    """The input for scoring a run, of whatever task."""

    def scored(self, known: Scored | None = None, /) -> Scored:
        """Return the result without `halves`. Raises RefereeError."""

    def with_halves(self, found: Scored, known: Scored | None = None, /) -> Scored:
        """Return the result completed with `halves`."""


@dataclass(frozen=True, eq=False)
class Scored:
    """The result of a scoring: mAP and AP per category for CONTEST, and for PUBLISHED and WITH_UNSERVED if different.

    `others` has further figures of a task other than boxes, by name.

    `objects` has the digest of each category's objects. `halves` (K, HALVES) has the APs on halves of the images, with
    the categories in the order of the ground truth; None if not computed.
    """

    maps: Mapping[str, float]
    aps: Mapping[str, Mapping[int, float | None]]
    detections: int
    unserved_rows: int
    unserved_images: int
    implausible: Implausible
    objects: Mapping[int, str]
    halves: Floats | None = None
    others: Mapping[str, float] = field(default_factory=dict)

    def map_of(self, what: str) -> float:
        """Return the mAP of PUBLISHED or WITH_UNSERVED; if it was not computed, it equals that of CONTEST."""
        return self.maps.get(what, self.maps[CONTEST])

    @property
    def figures(self) -> str:
        """Return the figures as JSON, without `halves`."""
        values = {name: value for name, value in vars(self).items() if name != "halves"}
        if not self.others:
            del values["others"]
        return json.dumps(values | {"implausible": asdict(self.implausible)})


def scored_from(figures: str, halves: bytes | None) -> Scored:
    """Return the result from its stored form."""
    values: dict[str, Any] = json.loads(figures)
    for what, aps in values["aps"].items():
        values["aps"][what] = {int(category): ap for category, ap in aps.items()}
    values["objects"] = {
        int(category): digest for category, digest in values["objects"].items()
    }
    values["implausible"] = Implausible(**values["implausible"])
    if halves is not None:
        averages = np.frombuffer(halves, "<f8")
        values["halves"] = averages.reshape(len(values["objects"]), -1)
    return Scored(**values)


def stem_of(
    metric: str,
    count_unserved: bool,
    bodies: object,
    order: Ints,
    served: NDArray[np.bool_],
    limits: Floats,
) -> str:
    """Return the hash of all inputs but the ground truth; `bodies` identifies the posted rows, `order` the images."""
    engine = engine_of(metric)
    by = metric if engine is None else f"{metric} {engine}"
    parts = (
        "lpirc-scoring-2",
        RULES_VERSION,
        by,
        count_unserved,
        HALVES,
        SEED,
        digest_of(order),
        digest_of(served),
        digest_of(limits),
        bodies,
    )
    return hash_of(parts)


def digest_of(array: NDArray[Any]) -> str:
    """Return the SHA-256 of an array's bytes."""
    return hashlib.sha256(array.tobytes()).hexdigest()


def hash_of(parts: object) -> str:
    """Return the SHA-256 of parts as JSON."""
    text = json.dumps(parts)
    return hashlib.sha256(text.encode()).hexdigest()


def name_of(stem: str, objects: Mapping[int, str]) -> str:
    """Return the name of the job with this stem and these digests of each category's objects."""
    return hash_of((stem, sorted(objects.items())))


def object_digests(ground_truth: GroundTruth) -> dict[int, str]:
    """Return the digest of each category's objects, in the form in which metrics receive them."""
    columns = ("image", "boxes", "difficult", "crowd", "area", "coco_boxes")
    found = {}
    for category in ground_truth.category_ids.tolist():
        objects = ground_truth.of_objects(ground_truth.category == category)
        digest = hashlib.sha256()
        for name in columns:
            digest.update(getattr(objects, name).tobytes())
        found[category] = digest.hexdigest()
    return found


def score_whole(given: Scorable, known: Scored | None = None) -> Scored:
    """Return everything that a judgement and its interval need; `known` is an earlier result with the same stem."""
    return given.with_halves(given.scored(known), known)


def scored(given: ScoringInput, known: Scored | None = None) -> Scored:
    """Return the result without `halves`. Raises RefereeError as `evaluate` does."""
    objects = object_digests(given.ground_truth)
    rows, unserved = served_rows(given)
    judged = {CONTEST: (given.metric, rows)}
    if given.metric != PUBLISHED:
        judged[PUBLISHED] = (PUBLISHED, rows)
    if len(unserved) and not given.count_unserved:
        judged[WITH_UNSERVED] = (given.metric, np.concatenate([rows, unserved]))
    maps = {}
    aps = {}
    for what, (metric, its_rows) in judged.items():
        ground_truth, its_rows = of_categories(
            given.ground_truth,
            its_rows,
            changed(objects, known),
        )
        found = evaluated(ground_truth, scored_detections(its_rows, metric), metric)
        its_aps = found.ap if known is None else {**known.aps[what], **found.ap}
        aps[what] = {category: its_aps[category] for category in objects}
        maps[what] = found.map or 0.0
        if known is not None:
            maps[what] = mean_known(np.array([*aps[what].values()], np.float64))
    return Scored(
        maps,
        aps,
        detections=len(rows),
        unserved_rows=len(unserved),
        unserved_images=len(np.unique(unserved[:, IMAGE])),
        implausible=implausible(rows, given.limits),
        objects=objects,
    )


def with_halves(
    given: ScoringInput,
    found: Scored,
    known: Scored | None = None,
) -> Scored:
    """Return the result completed with `halves`."""
    former = None if known is None or known.halves is None else known
    averages = np.empty((len(found.objects), HALVES))
    if former is not None:
        averages = np.array(former.halves)
    categories = changed(found.objects, former)
    ground_truth, rows = of_categories(
        given.ground_truth,
        served_rows(given)[0],
        categories,
    )
    is_new = np.isin(given.ground_truth.category_ids, ground_truth.category_ids)
    detections = scored_detections(rows, given.metric)
    averages[is_new] = half_averages(ground_truth, detections, given.metric)
    return replace(found, halves=averages)


def served_rows(given: ScoringInput) -> tuple[Floats, Floats]:
    """Return the rows (n, 7) that count, and the rows (m, 7) for images that were not served."""
    images = given.rows[:, IMAGE].astype(np.int64)
    is_served = given.served[images]
    unserved = given.rows[~is_served]
    if given.count_unserved or not len(unserved):
        return given.rows, unserved
    return given.rows[is_served], unserved


def scored_detections(rows: Floats, metric: str) -> Detections:
    """Return the detections for the metric, from rows (n, 7) in order of arrival.

    If the metric breaks ties in confidence by order of arrival, the rows are sorted by image first, so that the
    network's timing has no influence on the score.
    """
    if not lists_ties_by_image(metric):
        rows = rows[np.argsort(rows[:, IMAGE], kind="stable")]
    return Detections.from_rows(rows)


def of_categories(
    ground_truth: GroundTruth,
    rows: Floats,
    categories: set[int],
) -> tuple[GroundTruth, Floats]:
    """Return the parts of the ground truth and the rows that belong to these categories."""
    ids = ground_truth.category_ids
    if len(categories) == len(ids):
        return ground_truth, rows
    wanted = np.array(sorted(categories), np.int64)
    kept = np.isin(ids, wanted)
    part = ground_truth.of_objects(np.isin(ground_truth.category, wanted))
    names = tuple(compress(ground_truth.category_names, kept))
    part = replace(part, category_ids=ids[kept], category_names=names)
    return part, rows[np.isin(rows[:, CATEGORY], wanted)]


def changed(objects: Mapping[int, str], known: Scored | None) -> set[int]:
    """Return the categories whose objects differ from those of the `known` result; all categories if it is None."""
    before = {} if known is None else known.objects
    return {
        category
        for category, digest in objects.items()
        if before.get(category) != digest
    }
