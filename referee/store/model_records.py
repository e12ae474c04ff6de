"""Values that the store takes and returns for model tracks: submissions, measurements, jobs, publications."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from lpirc_power.meter import Identity
from lpirc_power.meter_standing import counts_by_identity


@dataclass(frozen=True)
class ModelMeasurement:
    """The result of a submission: `valid`, or the sentence why not.

    `measured` has the fields of `lpirc_tracks.Measured`, None if the model failed; `metric` is the track's value and
    `figures` its other numbers, by the rule of that time. `meter` identifies the meter, if energy was measured;
    `meter_official` says whether the meter counts in a contest. `confined` says whether the model was confined; None in
    an earlier form. A measurement with an `unstable` latency is never valid: the model is to be measured again. `doubt`
    says why it is in review, unranked: the referee's own run of the model on some images does not confirm the device's
    answers.
    """

    measured_utc: str
    valid: bool
    sentence: str
    device: str | None = None
    meter: str | None = None
    metric: float | None = None
    measured: dict[str, Any] | None = None
    figures: dict[str, float] = field(default_factory=dict)
    meter_official: bool | None = None
    confined: bool | None = None
    unstable: bool = False
    doubt: str | None = None

    @property
    def official(self) -> bool:
        """True if its energy is official, as for a run, or if none was measured."""
        may_be = self.meter is None or counts_by_identity(Identity.parse(self.meter))
        return may_be and self.meter_official is not False


@dataclass(frozen=True)
class Submission:
    """A team's model, accepted for measurement on a track's `public` or `holdout` test set.

    The same model of the same team again is another build of the same submission: the best one counts. `counts`:
    towards the team's limit of that UTC day. `withdrawn` says why it is worth nothing; `withdrawn_utc` and
    `withdrawn_by` are None where it was given up, since it could not be measured, or where an earlier version withdrew
    it. `measurement` is None until it has been measured. `measured_by` made its result document elsewhere; then there
    may be no model file. `job` names what makes the result of an upload, or checks it before that: an upload has no
    `testset_digest` until then. `limit_day` is the UTC day whose limit it counts towards, None: that of `accepted_utc`.
    """

    id: int
    accepted_utc: str
    track: str
    team: str
    split: str
    build: str
    model_file: str
    model_sha256: str
    testset_digest: str
    counts: bool
    withdrawn: str | None = None
    measurement: ModelMeasurement | None = None
    measured_by: str | None = None
    job: str | None = None
    withdrawn_utc: str | None = None
    withdrawn_by: str | None = None
    limit_day: str | None = None

    @property
    def is_unchecked(self) -> bool:
        """True if it was received and waits for its check, or was refused by it."""
        return self.job is not None and not self.testset_digest

    @property
    def model_key(self) -> tuple[str, str]:
        """The team and its model; each submission without a model's file counts as a model of its own."""
        return self.team, self.model_sha256 or f"submission {self.id}"

    @property
    def origin(self) -> str:
        """Note shown behind a team or a sentence if the organiser has not measured it; else empty."""
        return (
            f" (measured by {self.measured_by}, not by the organiser)"
            if self.measured_by
            else ""
        )

    @property
    def doubt(self) -> str | None:
        """The reason it is in review, or None."""
        return None if self.measurement is None else self.measurement.doubt

    @property
    def has_no_place(self) -> bool:
        """True if the measurement is unranked for now: to be repeated, or in review."""
        return self.is_unstable or self.doubt is not None

    @property
    def is_unstable(self) -> bool:
        """True if it is to be measured again."""
        return self.measurement is not None and self.measurement.unstable


@dataclass(frozen=True)
class Upload:
    """A file as it was received: `size` in bytes, `received_utc` when its last byte came.

    `checked_utc` is None until its check has ended; `problem`, None if it found none, has `code`, `detail` and facts.
    `replaces` is the refused upload that it stands for.
    """

    submission: int
    received_utc: str
    size: int
    replaces: int | None = None
    checked_utc: str | None = None
    problem: dict[str, Any] | None = None


@dataclass(frozen=True)
class Publication:
    """The final board of a track, `document`, which `by` published; `code` identifies it and what looked odd.

    `taken_back` says why it is not shown any more, None while it is.
    """

    track: str
    utc: str
    by: str
    code: str
    document: dict[str, Any]
    taken_back_utc: str | None = None
    taken_back: str | None = None


class JobKind(StrEnum):
    """The kind of worker that carries out a job."""

    CHECKING = "checking"  # the server's own process that checks uploads
    SCORING = "scoring"  # a worker of `referee judge`
    MEASURING = "measuring"  # a device
    CALIBRATING = "calibrating"  # one device, of itself


class JobState(StrEnum):
    """The life of a job. A lease that has run out is given back to whoever asks for work next."""

    WAITING = "waiting"
    LEASED = "leased"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Job:
    """Work to be carried out once. `name` is the hash of every input of its outcome; `about` describes it for people.

    `failures` counts workers that reported a failure, `losses` those that vanished; `reason` is the newest of both.
    `renewals_left` says how often its lease may still be renewed; None: there is no limit. `failed_on` are the workers
    on which it failed, or which vanished with it, in order.
    """

    name: str
    kind: JobKind
    about: str
    state: JobState
    failures: int
    losses: int
    worker: str | None
    lease_until_utc: str | None
    reason: str | None
    created_utc: str
    ended_utc: str | None
    renewals_left: int | None
    failed_on: tuple[str, ...] = ()


@dataclass(frozen=True)
class Device:
    """A device that pulls work. `disabled` says why it gets none; `enabled_utc` is when it was last enabled again.

    `meter` is the meter that it last said it measures energy with, or None.
    """

    name: str
    seen_utc: str | None
    disabled: str | None = None
    disabled_utc: str | None = None
    enabled_utc: str | None = None
    meter: str | None = None


@dataclass(frozen=True)
class Calibration:
    """A device's result for a track's calibration model, None until it has one; `digest` identifies model and test set.

    `latency_ms` is the mean of one inference, `accuracy_percent` the accuracy on the whole test set. `doubt` says why
    the referee does not believe the answers.
    """

    id: int
    job: str
    device: str
    track: str
    model_sha256: str
    model_file: str
    digest: str
    utc: str
    measured_utc: str | None = None
    latency_ms: float | None = None
    accuracy_percent: float | None = None
    doubt: str | None = None
