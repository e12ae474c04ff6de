"""Data classes of the store for model tracks: submissions, measurements, jobs, publications."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from lpirc_power.meter import Identity
from lpirc_power.meter_standing import counts_by_identity


@dataclass(frozen=True)
class ModelMeasurement:
    """The result of a submission: `valid`, or the `sentence` that says why it is not.

    `measured` has the fields of `lpirc_tracks.Measured`; it is None if the model failed. `metric` is the track's value
    and `figures` its other numbers, by the track's rule when the model was measured. `meter` identifies the meter if
    energy was measured; `meter_official` says whether that meter counts in a contest. `confined` says whether the model
    was confined (None in an earlier version). A measurement with an `unstable` latency is never valid, and the model is
    measured again. `doubt` says why the measurement is in review, and so unranked: the referee ran the model on some
    images and did not confirm the device's answers.
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
        """True if its energy is official, by the same rule as a run's energy, or if no energy was measured."""
        may_be = self.meter is None or counts_by_identity(Identity.parse(self.meter))
        return may_be and self.meter_official is not False


@dataclass(frozen=True)
class Submission:
    """A team's model, accepted for measurement on a track's `public` or `holdout` test set.

    A second submission of the same model by the same team is another build of the same entry; the best build counts.
    `counts` is True if it uses up one submission of the team's daily limit. The day, in UTC, is `limit_day`, or else
    the day of `accepted_utc`. `withdrawn` says why it is not ranked; `withdrawn_utc` and `withdrawn_by` are None if the
    program withdrew it because it could not be measured, or if an earlier version withdrew it. `measurement` is None
    until it has been measured. `measured_by` names another party that made its result document; then there may be no
    model file. `job` names the job that makes its result or, before that, checks the upload. An upload has no
    `testset_digest` until it is checked.
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
        """True if the upload still waits for its check, or if the check refused it."""
        return self.job is not None and not self.testset_digest

    @property
    def model_key(self) -> tuple[str, str]:
        """The team and its model; a submission without a model file is a model of its own."""
        return self.team, self.model_sha256 or f"submission {self.id}"

    @property
    def origin(self) -> str:
        """Note to append to a team's name or a sentence if the organiser did not measure the submission; else empty."""
        return (
            f" (measured by {self.measured_by}, not by the organiser)"
            if self.measured_by
            else ""
        )

    @property
    def doubt(self) -> str | None:
        """The reason why the measurement is in review, or None."""
        return None if self.measurement is None else self.measurement.doubt

    @property
    def has_no_place(self) -> bool:
        """True if the measurement is unranked for now, because it is unstable or in review."""
        return self.is_unstable or self.doubt is not None

    @property
    def is_unstable(self) -> bool:
        """True if the submission is to be measured again, because its latency was unstable."""
        return self.measurement is not None and self.measurement.unstable


@dataclass(frozen=True)
class Upload:
    """A received file: `size` is in bytes, `received_utc` is when the last byte arrived.

    `checked_utc` is None until the check has ended. `problem` is None if the check found none; otherwise it has `code`,
    `detail` and facts. `replaces` is the number of the refused upload that this one replaces.
    """

    submission: int
    received_utc: str
    size: int
    replaces: int | None = None
    checked_utc: str | None = None
    problem: dict[str, Any] | None = None


@dataclass(frozen=True)
class Publication:
    """The final board of a track: the `document` that the operator `by` published.

    `code` is a hash of the board and of what looked odd at its publication.

    `taken_back` says why it is no longer shown; None while it is shown.
    """

    track: str
    utc: str
    by: str
    code: str
    document: dict[str, Any]
    taken_back_utc: str | None = None
    taken_back: str | None = None


class JobKind(StrEnum):
    """The kind of work in a job, which decides which workers get it."""

    CHECKING = "checking"  # the server's own process that checks uploads
    SCORING = "scoring"  # a worker of `referee judge`
    MEASURING = "measuring"  # a device
    CALIBRATING = "calibrating"  # one device, of itself


class JobState(StrEnum):
    """The states of a job. A job whose lease has run out is given to the next worker that asks."""

    WAITING = "waiting"
    LEASED = "leased"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Job:
    """Work to carry out once.

    `name` is the hash of all inputs that determine the result; `about` describes the job for people. `failures` counts
    reported failures and `losses` vanished workers; `reason` is that of the newest one. `renewals_left` is how often
    the lease may still be renewed (None: no limit). `failed_on` lists, in order, the workers that reported a failure or
    vanished.
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
    """A device that pulls work.

    `disabled` says why it gets no work, and `enabled_utc` when it was last enabled again. `meter` is the meter
    that it named last, or None if it measures no energy.
    """

    name: str
    seen_utc: str | None
    disabled: str | None = None
    disabled_utc: str | None = None
    enabled_utc: str | None = None
    meter: str | None = None


@dataclass(frozen=True)
class Calibration:
    """A device's result for a track's calibration model; the figures are None until it is measured.

    `digest` identifies model and test set. `latency_ms` is the mean of one inference, `accuracy_percent` the accuracy
    on the whole test set. `doubt` says why the referee does not trust the answers.
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
