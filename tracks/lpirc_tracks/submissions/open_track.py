"""A track of a contest, opened on one of its test sets: its rule, its images and their ground truth."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast, get_args

import numpy as np
from numpy.typing import NDArray

from lpirc_testsets import (
    GroundTruth,
    TestSet,
    TestSetError,
    load_test_set,
    read_ground_truth,
    read_labels,
)
from lpirc_testsets.close_names import did_you_mean
from lpirc_tracks import Track, track_named
from lpirc_tracks.model_accuracy import (
    coco_ap_percent,
    mean_iou_percent,
    only_objects,
    top1_percent,
)
from lpirc_tracks.submissions.result_document import ResultDocument
from lpirc_tracks.submissions.results_files import HOLDOUT, PUBLIC, results_set
from lpirc_tracks.track import Runtime
from referee.config import CONFIG_NAME
from referee.config.tracks import RESULTS, ModelTrack
from referee.contest import Contest, require_unchanged
from referee.errors import BadTrack, RefereeError
from referee.seams import Finding

UNKNOWN = "track-unknown"


@dataclass(frozen=True, eq=False)
class OpenTrack:
    """A track's rule on one test set.

    `truth` is labels (N,) for classification, otherwise objects; it is empty for results files. `digest` identifies
    images and truth, and `images_sha256` the images alone, as in a result document.
    """

    name: str
    rule: Track
    split: str
    test_set: TestSet
    digest: str
    images_sha256: str
    truth: GroundTruth | NDArray[np.int64]

    def accuracy_percent(self, document: ResultDocument) -> float:
        """Return the accuracy of a document over all images.

        Raises RefereeError as `lpirc_tracks.model_accuracy` does.
        """
        if not isinstance(self.truth, GroundTruth):
            return top1_percent(self.truth, document.answers)
        if self.rule.accuracy == "mean-iou":
            return mean_iou_percent(self.truth, document.rows)
        return coco_ap_percent(self.truth, document.rows)


def configured_track(contest: Contest, name: str) -> ModelTrack:
    """Return the track's entry in the configuration. Raises RefereeError `track-unknown`."""
    for one in contest.config.tracks:
        if one.name == name:
            return one
    names = [one.name for one in contest.config.tracks]
    hint = (
        f"its tracks are {', '.join(names)}"
        if names
        else f"it has no tracks, which its operator adds as [[tracks]] to {CONFIG_NAME}"
    )
    which = f"The contest has no track {name!r}"
    if not name:
        which = "The request names no track of the contest"
    raise RefereeError("track-unknown", f"{which}; {hint}.{did_you_mean(name, names)}")


def rule_of(contest: Contest, config: ModelTrack) -> Track:
    """Return the rule with the contest's settings. Raises RefereeError `bad-config`, `bad-track`."""
    where = f"{contest.folder / CONFIG_NAME}: track {config.name!r}"
    try:
        rule = track_named(config.rule_name, config.settings)
    except BadTrack:
        raise
    except RefereeError as error:
        words = f"{where}: {error.sentence}"
        if error.code == UNKNOWN and not config.rule:
            words += " Without the key rule, the name of a track is that of its rule."
        raise RefereeError("bad-config", words) from error
    if rule.is_suite:
        sentence = (
            f"{where}: {rule.name} is a suite of many models; see: referee suite run"
        )
        raise RefereeError("bad-config", sentence)
    taken = get_args(Runtime) if rule.runtime == "any" else (rule.runtime,)
    if config.runtime not in taken:
        sentence = f"{where}: runtime = {config.runtime!r}; {rule.name} takes {' or '.join(taken)}"
        raise RefereeError("bad-config", sentence)
    return replace(rule, runtime=cast(Runtime, config.runtime))


def wrong_rules(contest: Contest) -> Iterator[Finding]:
    """Yield what is wrong with the rule of each track, such as one that is not installed."""
    for track in contest.config.tracks:
        try:
            rule_of(contest, track)
        except RefereeError as error:
            yield Finding(error.code, error.sentence)


def open_track(
    contest: Contest, name: str, *, holdout: bool = False, to_run: bool = True
) -> OpenTrack:
    """Open a track on its public or its hold-out test set; `to_run` as for `track_on`.

    Raises RefereeError `track-unknown`, `bad-config`, `no-holdout`, and what `track_on` raises.
    """
    config = configured_track(contest, name)
    rule = rule_of(contest, config)
    split = HOLDOUT if holdout else PUBLIC
    if rule.name == RESULTS:
        if to_run:
            sentence = f"Track {name!r} takes results files, by POST /v1/entries."
            raise RefereeError("track-of-results", sentence)
        of = results_set(contest, config)
        return OpenTrack(
            name, rule, split, of.test_set, of.digest(split), "", np.empty(0, np.int64)
        )
    if holdout and not config.holdout:
        raise RefereeError(
            "no-holdout",
            f"The track {name!r} has no hold-out test set; give it a holdout.",
        )
    folder = contest.folder / (config.holdout if holdout else config.testset)
    opened = track_on(folder, name, rule, split, to_run=to_run)
    if config.holdout:
        _require_kept_back(
            opened, contest.folder / (config.testset if holdout else config.holdout)
        )
    return opened


def track_on(
    folder: Path, name: str, rule: Track, split: str = PUBLIC, *, to_run: bool = True
) -> OpenTrack:
    """Open a rule on the test set in `folder`. With `to_run`, a model will see the images, so each file is verified.

    Raises RefereeError `testset-empty`, `testset-changed`, `testset-unfit` (no labels, or no categories),
    `bad-ground-truth` (not exactly one object per image, though the rule needs that); TestSetError.
    """
    test_set = load_test_set(folder)
    if not test_set.images:
        raise RefereeError(
            "testset-empty", f"{test_set.folder} has no images to measure a model with."
        )
    if to_run:
        require_unchanged(test_set)
    digest, truth = _truth(rule, test_set)
    return OpenTrack(
        name, rule, split, test_set, digest, images_sha256(test_set), truth
    )


def _require_kept_back(opened: OpenTrack, other: Path) -> None:
    """Raise RefereeError for a hold-out set whose images are all public, whatever its path."""
    try:
        others = {image.sha256 for image in load_test_set(other).images}
    except TestSetError:
        return
    own = {image.sha256 for image in opened.test_set.images}
    if others and ((own <= others) if opened.split == HOLDOUT else (others <= own)):
        problem = "every image of the hold-out test set is also in the public one; choose other hold-out images"
        raise RefereeError("bad-config", f"Track {opened.name!r}: {problem}.")


def first_images(track: OpenTrack, limit: int | None) -> OpenTrack:
    """Return a classification track limited to its first `limit` images; with None, all of them."""
    truth = track.truth
    if limit is None or isinstance(truth, GroundTruth):
        return track
    test_set = replace(track.test_set, images=track.test_set.images[:limit])
    return replace(
        track,
        test_set=test_set,
        images_sha256=images_sha256(test_set),
        truth=truth[:limit],
    )


def images_sha256(test_set: TestSet) -> str:
    """Return the digest of images and their numbers for a result document: a hash of the lines "number sha256"."""
    lines = (f"{image.number} {image.sha256}\n" for image in test_set.images)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _truth(
    rule: Track, test_set: TestSet
) -> tuple[str, GroundTruth | NDArray[np.int64]]:
    if rule.task != "classification":
        if not test_set.categories:
            raise _unfit(rule, test_set, "no categories", "voc or coco")
        truth = read_ground_truth(test_set.folder)
        if rule.accuracy == "mean-iou":
            only_objects(truth)  # raises before a model is measured in vain
        return test_set.digest, truth
    if not test_set.has_labels:
        raise _unfit(rule, test_set, "no labels.csv", "labels")
    labels = read_labels(test_set)
    digest = hashlib.sha256(f"{test_set.digest} {labels.sha256}".encode()).hexdigest()
    return digest, labels.by_image


def _unfit(rule: Track, test_set: TestSet, problem: str, importer: str) -> RefereeError:
    hint = f"make its test set with: referee testset import {importer}"
    sentence = f"{test_set.folder} has {problem}, but {rule.name} is a track of {rule.task}; {hint}"
    return RefereeError("testset-unfit", sentence)
