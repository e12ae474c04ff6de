"""A `[[tracks]]` table of contest.toml: a competition of models, or of results files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

RESULTS = "results"
MODELS = "models"
"""Folder of submitted files inside the contest folder; each file is named by its SHA-256."""
MOST_SUBMISSIONS = 10_000  # per team and day
MOST_REPLACEMENT_MINUTES = 1440


@dataclass(frozen=True)
class ModelTrack:
    """A competition of models: its test sets, its rule (defined in `lpirc_tracks`) and the settings of that rule.

    `testset` and `holdout` are test-set folders, relative to the contest folder. A team may submit
    `submissions_per_day` models per UTC day, for `runtime` (`litert`, `onnxruntime`, `any`). `device` is the host whose
    measurements are accepted; "": the first host that measures. `devices` are several hosts that the organizer
    considers equal. `calibration` is a model's file, relative to the contest folder, which these hosts measure first
    and repeatedly to show that they are equal; "": none.

    With `unconfined`, models may run on the referee's host with the rights of its user if they cannot be confined
    there; without it, they do not run in that case.

    From `holdout_until` on, the track takes no uploads. Its hold-out figures become public once an operator has
    published its final board, or with `publish_automatically` from `holdout_until` on.

    In a track for results files (rule RESULTS), scored by `metric` ("": the contest's), a secret `holdout_part` of the
    images is held out until the hold-out figures are public; None: no image is held out.

    A file that was found broken may be replaced for `replacement_minutes` after its check, also after `holdout_until`.
    """

    name: str
    testset: str
    rule: str = ""
    holdout: str = ""
    submissions_per_day: int = 3
    device: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    runtime: str = "litert"
    metric: str = ""
    holdout_part: float = 0.5
    holdout_until: datetime | None = None
    publish_automatically: bool = False
    unconfined: bool = False
    devices: tuple[str, ...] = ()
    replacement_minutes: float = 15.0
    calibration: str = ""

    @property
    def rule_name(self) -> str:
        """The name of the rule, by default the track's name."""
        return self.rule or self.name


def track_problems(track: ModelTrack) -> Iterator[tuple[str, str]]:
    """Yield the problems of a track's values, each as a key and a sentence."""
    if not track.name.strip() or not track.name.isprintable():
        yield (
            "name",
            "a track needs a name that is not blank and has only printable characters.",
        )
    if not track.testset.strip():
        yield (
            "testset",
            f"track {track.name!r}: testset is blank; give its test-set folder.",
        )
    yield from _device_problems(track)
    if track.holdout and track.holdout == track.testset:
        yield (
            "holdout",
            f"track {track.name!r}: holdout is the public test set; choose a secret one.",
        )
    if not 1 <= (daily := track.submissions_per_day) <= MOST_SUBMISSIONS:
        words = (
            f"submissions_per_day = {daily} must lie between 1 and {MOST_SUBMISSIONS}."
        )
        yield "submissions_per_day", f"track {track.name!r}: {words}"
    if track.publish_automatically and track.holdout_until is None:
        words = "publish_automatically needs holdout_until, the time at which the final board is published."
        yield "publish_automatically", f"track {track.name!r}: {words}"
    if not 0 <= (minutes := track.replacement_minutes) <= MOST_REPLACEMENT_MINUTES:
        words = f"replacement_minutes = {minutes:g} must lie between 0 and {MOST_REPLACEMENT_MINUTES}."
        yield "replacement_minutes", f"track {track.name!r}: {words}"
    if not track.holdout_part < 1:
        words = f"holdout_part = {track.holdout_part:g} must lie between 0 and 1."
        yield "holdout_part", f"track {track.name!r}: {words}"


def _device_problems(track: ModelTrack) -> Iterator[tuple[str, str]]:
    if track.device and track.devices:
        yield (
            "devices",
            f"track {track.name!r}: device and devices are both given; take one of them away.",
        )
    if len(set(track.devices)) < len(track.devices) or not all(
        map(str.strip, track.devices)
    ):
        words = f"devices = {list(track.devices)} must be names that are not blank, each once."
        yield "devices", f"track {track.name!r}: {words}"
    if track.calibration and not (track.device or track.devices):
        words = "calibration needs device or devices: these hosts measure the calibration model first."
        yield "calibration", f"track {track.name!r}: {words}"
