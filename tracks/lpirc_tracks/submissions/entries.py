"""Entries: files that teams upload to a track at any time, the current state of each, and the public board."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from lpirc_score.analysis.halves import HALVES, SEED
from lpirc_score.analysis.interval import Halved, chance_of_order
from lpirc_tracks import Track
from lpirc_tracks.submissions.confining import require_confined, unit_socket
from lpirc_tracks.submissions.harness import Limits, refusals
from lpirc_tracks.submissions.open_track import rule_of, track_on
from lpirc_tracks.submissions.results_files import (
    HOLDOUT,
    PUBLIC,
)
from lpirc_tracks.submissions.submitting import expected_devices
from lpirc_tracks.submissions.track_board import Line, board, candidates
from referee.config.tracks import RESULTS, ModelTrack
from referee.contest import Contest
from referee.errors import RefereeError
from referee.judging.ranking import SURE
from referee.store import Store
from referee.store.model_records import JobKind, JobState, Submission

LONGEST_NAME = 100
SUFFIXES = {True: (".json", ".csv", ".txt"), False: (".tflite", ".onnx")}
"""Allowed suffixes: of results files under True, of models under False."""


def require_open(
    contest: Contest, config: ModelTrack, team: str, file: str, now: datetime
) -> None:
    """Raise RefereeError unless the team may upload a file of that name.

    Examples of the codes are `track-closed` and `submission-limit`.
    """
    if is_closed(config, now):
        raise RefereeError(
            "track-closed",
            f"The track {config.name} was closed at {config.holdout_until}.",
        )
    if (
        contest.store.publications.newest(config.name) is not None
    ):  # also where holdout_until was moved since
        sentence = f"The track {config.name} takes no more entries: its final board was published."
        raise RefereeError("track-closed", sentence)
    suffixes = SUFFIXES[config.rule_name == RESULTS]
    if not (
        file.lower().endswith(suffixes)
        and file.isprintable()
        and len(file) <= LONGEST_NAME
    ):
        words = f"be at most {LONGEST_NAME} printable characters and end in {' or '.join(suffixes)}."
        raise RefereeError(
            "unsupported-media-type", f"name={file[:LONGEST_NAME]!r} must {words}"
        )
    if rule_of(contest, config).needs_energy and not _has_metered_device(
        contest, config.name
    ):
        words = "needs energy, and no device of the track has reported a meter yet"
        raise RefereeError(
            "track-closed",
            f"The track {config.name} accepts no uploads: the track {words}.",
        )
    contest.store.submissions.require_below_limit(
        config.name, team, config.submissions_per_day, now
    )
    require_confined(contest, config)


def _has_metered_device(contest: Contest, track: str) -> bool:
    """Return True if a device whose measurements count has a meter; if none is named, any device will do."""
    meters = contest.store.devices.meters()
    return any(
        device in meters for device in expected_devices(contest, track) or meters
    )


def check_model(
    model: Path,
    file: str,
    rule: Track,
    folders: dict[str, Path],
    limits: Limits,
    hidden: Sequence[Path],
) -> dict[str, str]:
    """Return the digests of the splits that a model will be measured on; the check runs without access to `hidden`.

    Raises RefereeError `model-refused` with every reason, or `not-confined`.
    """
    if found := refusals(model, rule, limits, unit_socket(), hidden):
        reasons = [
            one.replace(str(model), file).replace(model.name, file) for one in found
        ]
        raise RefereeError(
            "model-refused", f"The model is refused: {reasons[0]}", refusals=reasons
        )
    opened = {
        split: track_on(one, "", rule, split, to_run=False)
        for split, one in folders.items()
    }
    return {split: one.digest for split, one in opened.items()}


def is_closed(config: ModelTrack, now: datetime) -> bool:
    """Return True if a track takes no more uploads."""
    return config.holdout_until is not None and now >= config.holdout_until


def entry_document(store: Store, one: Submission) -> dict[str, Any]:
    """Return an entry with its current state, as its team sees it. See also `upload_document`."""
    keys = {
        "id": one.id,
        "track": one.track,
        "split": one.split,
        "file": one.model_file,
    }
    keys |= {"sha256": one.model_sha256, "accepted_utc": one.accepted_utc}
    if one.withdrawn is not None and one.is_unchecked and one.withdrawn_utc is None:
        return keys | {"state": "refused", "reason": one.withdrawn}
    if one.withdrawn is not None:
        return keys | {
            "state": "withdrawn",
            "reason": one.withdrawn,
            "since_utc": one.withdrawn_utc,
        }
    if (outcome := one.measurement) is not None:
        ended = {"since_utc": outcome.measured_utc}
        if outcome.doubt is not None:
            return keys | ended | {"state": "review", "reason": outcome.doubt}
        if outcome.valid:
            return (
                keys
                | ended
                | {
                    "state": "scored",
                    "score": outcome.metric,
                    "sentence": outcome.sentence,
                }
            )
        return keys | ended | {"state": "failed", "reason": outcome.sentence}
    job = store.jobs.get(one.job or "")
    keys |= {"attempts": job.failures + job.losses, "reason": job.reason}
    if job.kind is JobKind.CHECKING:
        return keys | {
            "state": "checking" if job.state is JobState.LEASED else "received"
        }
    if job.state is JobState.WAITING:
        waiting = [
            other.created_utc
            for other in store.jobs.all(JobState.WAITING)
            if other.kind is job.kind
        ]
        place = 1 + sum(created_utc < job.created_utc for created_utc in waiting)
        return keys | {"state": "waiting", "place": place}
    doing = "scoring" if job.kind is JobKind.SCORING else "measuring"
    return keys | {
        "state": doing,
        "by": job.worker,
        "lease_until_utc": job.lease_until_utc,
    }


def board_by(
    contest: Contest,
    config: ModelTrack,
    submissions: Sequence[Submission],
    split: str,
    digest: str | None = None,
) -> dict[str, Any]:
    """Return the board of a track for one split, with the number of entries that failed, wait or are left out.

    Only measurements on the images with `digest` are included; None means the newest images.
    """
    rule = rule_of(contest, config)
    made = [one for one in submissions if one.withdrawn is None]
    lines = _lines(rule, made, split, digest)
    public = {
        line.candidate.made.team: line.verdict.value
        for line in _lines(rule, made, PUBLIC, None)
    }
    handed_in = {one.model_key for one in made if one.split in (PUBLIC, split)}
    entries = Counter(team for team, _ in handed_in)
    places = []
    for line, level in zip(lines, _level(contest.store, lines), strict=True):
        one = line.candidate.made
        place = {
            "rank": line.rank,
            "team": one.team,
            "score": line.verdict.value,
            "level_with": level,
            "entries": entries[one.team],
            "accepted_utc": one.accepted_utc[:19],
            "measured_by": one.measured_by,
            "official": line.candidate.official,
        }
        if split == HOLDOUT:
            place["public_score"] = public.get(one.team)
        places.append(place)
    return {
        "track": config.name,
        "title": rule.title,
        "metric": rule.metric,
        "split": split,
        "holdout_until": config.holdout_until and config.holdout_until.isoformat(),
        "places": places,
        "entries": len(handed_in),
        **_without_place(made, split, digest),
    }


def _without_place(
    made: Sequence[Submission], split: str, digest: str | None
) -> dict[str, int]:
    """Count the unranked entries that are not withdrawn: failed, not measured yet, or measured on other images."""
    newest = {one.model_key: one for one in made if one.split == split}.values()
    images = digest or _newest_images(made, split)
    measured = [one for one in newest if one.measurement is not None]
    valid = [
        one for one in measured if one.measurement is not None and one.measurement.valid
    ]
    return {
        "failed": len(measured) - len(valid),
        "in_review": sum(one.doubt is not None for one in valid),
        "waiting": len(newest) - len(measured),
        "outdated": sum(one.testset_digest != images for one in valid),
    }


def _lines(
    rule: Track, made: Sequence[Submission], split: str, digest: str | None
) -> tuple[Line, ...]:
    images = digest or _newest_images(made, split)
    comparable = [
        one for one in candidates(made, split) if one.made.testset_digest == images
    ]
    return board(rule, comparable).lines


def _newest_images(made: Sequence[Submission], split: str) -> str | None:
    found = candidates(made, split)
    return found[-1].made.testset_digest if found else None


def _level(store: Store, lines: Sequence[Line]) -> list[list[str]]:
    """Return for each line the adjacent teams whose order relative to it is uncertain."""
    level: list[list[str]] = [[] for _ in lines]
    for at, pair in enumerate(pairwise(lines)):
        kept = [store.jobs.scoring(line.candidate.made.job or "") for line in pair]
        halves = [np.frombuffer((each and each[1]) or b"") for each in kept]
        if any(
            len(each) != HALVES for each in halves
        ):  # bootstrap resamples of an earlier version, or none
            continue
        scores = [json.loads(each[0])[0] for each in kept if each]
        one, two = (
            Halved(score, each, images=SEED)
            for score, each in zip(scores, halves, strict=True)
        )
        if chance_of_order(one, two, "map") < SURE:
            level[at].append(pair[1].candidate.made.team)
            level[at + 1].append(pair[0].candidate.made.team)
    return level
