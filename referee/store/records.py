"""Data classes of the store: runs, posts, scores, the public board."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from lpirc_power.energy import Check
from lpirc_power.meter import Identity, Setup
from lpirc_power.meter_standing import OFFICIAL_MAKERS, Standing, counts_by_identity
from lpirc_score.tasks import BOXES
from referee.store.hash_links import LOG_START, receipt_link
from referee.store.run_rules import Rules

METER_START = "meter-start"
ENERGY_MISSING = "energy-missing"
ENERGY_LOST = "energy-lost"
ENERGY_READ = "energy-read"
RUN_CLOSED = "closed"
IMAGES_SEEN = "images-seen"
REBOOTED = "rebooted"
TOOK_OVER = "took-over"
SETTINGS = "settings"
JUDGED = "judged"
JUDGE_FAILED = "judge-failed"
LIVE_FAILED = "live-failed"
"""The figures of a run so far could not be computed; its judgement is made anew."""
BACKUP = "backup"
TRUTH_CORRECTED = "truth-corrected"
"""Kind of an event that the program reads back, as the kinds above."""


class EnergyMissing(StrEnum):
    """The reasons why a run has no energy.

    An event ENERGY_MISSING has one as its `code`, and a sentence as its `reason`.
    """

    READ_LATER = "read-later"  # the meter may still hold it: it did not answer, another did, or with no number
    METER_RESET = "meter-reset"
    BEGAN_AGAIN = "began-again"


class RunState(StrEnum):
    """The states of a run. A run that is not void can become `void` from every state."""

    ARMED = "armed"
    OPEN = "open"
    CLOSED = "closed"
    JUDGED = "judged"
    VOID = "void"


OVER = (RunState.CLOSED, RunState.JUDGED, RunState.VOID)
"""States in which a run is served no image and nothing from it is accepted."""


@dataclass(frozen=True)
class Run:
    """One timed, metered attempt, as stored.

    Times are in seconds; `start_s` is on the monotonic clock of the boot `boot_id`.

    `setup` is how the meter was set up. `meter_changes` lists what had changed in that setup at the end, one phrase
    each (None: not checked). `idle_power_w` is the mean power of the idle board at arming. One start signal opens all
    runs of a `heat`. `meter_standing` says whether the meter `meter_identity` counts in a contest; None if only the
    identity is known. `nonce` is a random value from which the run's image order and tokens are derived.
    `images_digest` identifies the images of its test set, without the ground truth. `extra_s` is the part of its window
    that the operator granted. `rules` are the rules that its chain covers. Each of these is None in a run of a version
    that did not have it.
    """

    id: int
    team: str
    station: str
    state: RunState
    armed_utc: str
    testset_digest: str
    images: int
    window_s: float
    setup: Setup
    meter_identity: str | None = None
    opened_utc: str | None = None
    start_s: float | None = None
    boot_id: str | None = None
    closed_utc: str | None = None
    closed_by: str | None = None
    elapsed_s: float | None = None
    energy_wh: float | None = None
    integrator_s: float | None = None
    void_reason: str | None = None
    meter_changes: tuple[str, ...] | None = None
    idle_power_w: float | None = None
    heat: str | None = None
    meter_standing: Standing | None = None
    nonce: str | None = None
    images_digest: str | None = None
    extra_s: float | None = None
    rules: Rules | None = None

    @property
    def task(self) -> str:
        """What the run's team answers: boxes, unless its rules name another task."""
        if self.rules is None:
            return BOXES
        return self.rules.task or BOXES

    @property
    def contest_window_s(self) -> float:
        """The window without the operator's extension; runs with the same value are comparable."""
        return self.window_s - (self.extra_s or 0.0)

    @property
    def official_makers(self) -> tuple[str, ...]:
        """The meter makers whose meters count, by the rules bound at arming."""
        if self.rules is None:
            return OFFICIAL_MAKERS
        return self.rules.makers

    @property
    def official(self) -> bool:
        """True if the run's energy is official: measured by a meter that counts in a contest."""
        if self.meter_standing is None:
            return counts_by_identity(Identity.parse(self.meter_identity or ""))
        return self.meter_standing.official


@dataclass(frozen=True)
class Post:
    """The receipt of one accepted body: its rows, its SHA-256, and the number of rows in the run after it.

    It is body `number` of the run, received at `received_utc`; `previous` is the link of the body before it. When it
    was stored, `readings` readings were on disk, and `meter` is the link of the last of them. Values that an earlier
    version lacks are None.
    """

    row_count: int
    sha256: str
    received_total: int
    number: int | None = None
    previous: bytes | None = None
    received_utc: str = ""
    readings: int | None = None
    meter: bytes | None = None

    @property
    def form(self) -> int:
        """The form of the protocol: 2 if the receipt has the link of the readings, otherwise 1."""
        return 1 if self.meter is None else 2

    @cached_property
    def link(self) -> bytes:
        """The chain's link of this body; 32 zero bytes if `previous` or `number` is not known."""
        if self.previous is None or self.number is None:
            return LOG_START
        of_body = (self.sha256, self.received_utc, self.row_count, self.received_total)
        return receipt_link(
            self.previous, self.number, *of_body, self.readings, self.meter
        )


@dataclass(frozen=True)
class Closing:
    """The evidence in a run's closing event.

    It is the number of bodies, the head of their chain, and the event's link in the log (hexadecimal).
    """

    run: int
    posts: int
    head: str
    log: str


@dataclass(frozen=True)
class Provisional:
    """The figures of a run at `utc`: the mAP of the detections so far, and the energy of the newest reading.

    `utc` is the earlier of the times of both. `map` is None if the test set has no ground truth. `score` is None until
    an energy above 0 has been read, and while the figures are not fresh. The next figures follow after about `pause_s`
    (None in an earlier version).
    """

    run: int
    utc: str
    map: float | None
    energy_wh: float | None
    score: float | None
    detections: int
    pause_s: float | None = None


HALF_SAMPLING = "half-sampling"
BOOTSTRAP = "bootstrap"
"""Method of an interval in databases up to version 15; HALF_SAMPLING replaced it."""


@dataclass(frozen=True)
class Released:
    """The figures at `utc`, as in `Provisional`, that non-operators see of a run until it is judged.

    They are rounded, and the mAP is that of a secret half of the images. `released_utc` is when they were released.
    """

    run: int
    released_utc: str
    utc: str
    map: float | None
    energy_wh: float | None
    score: float | None
    detections: int


@dataclass(frozen=True)
class ScoreInterval:
    """The confidence intervals of a score at `level`, by `method` from `resamples` of the images drawn with `seed`.

    HALF_SAMPLING: `map_low` and `map_high` are for the mean mAP over test sets of this size from the same population,
    `other_low` and `other_high` for the mAP on one other such set, `unlimited_low` and `unlimited_high` for the mAP on
    unlimited images. `map_spread` is the standard error of the mAP. `map_bias` is a lower bound for how much the mAP is
    too high because the set is small. The score's interval is for the mean over sets of this size. It includes
    `energy_uncertainty`, relative to the energy, and is None without a score or if that uncertainty is unknown.

    BOOTSTRAP, in earlier versions: the mAP has only `map_low`, `map_high` and `map_bias`, and these may be None.
    """

    level: float
    resamples: int
    seed: int
    map_low: float
    map_high: float
    score_low: float | None
    score_high: float | None
    energy_uncertainty: float | None
    map_bias: float | None = None
    method: str = BOOTSTRAP
    map_spread: float | None = None
    other_low: float | None = None
    other_high: float | None = None
    unlimited_low: float | None = None
    unlimited_high: float | None = None


@dataclass(frozen=True)
class Score:
    """The judgement of a run. `score` = `map` / `energy_wh`, None if the run has no valid energy.

    `map` is by the contest's metric; `map_ilsvrc_det` is comparable with the mAPs of the published champions. Without
    ground truth there is neither. In a task other than boxes `map` is the task's accuracy, `others` has its further
    figures by name, and `map_ilsvrc_det` is None. `mean_power_w` is None unless the energy covers exactly the window.
    `energy_limit` is the largest possible error of the energy, relative to it. `energy_known_by` names the source of
    that limit, or says why there is none. `energy_own_limit` is the part of the limit that differs between runs on one
    meter. `energy_budget` is the document of the energy's uncertainty budget (lpirc_power.energy.Budget). `rules` are
    the rules of the judgement; None if the run has no recorded rules. Values that an earlier version lacks are None.
    """

    run: int
    judged_utc: str
    map: float | None
    energy_wh: float | None
    score: float | None
    mean_power_w: float | None
    images: int
    detections: int
    ap: dict[int, float | None]
    signature: str
    checks: tuple[Check, ...]
    interval: ScoreInterval | None = None
    map_ilsvrc_det: float | None = None
    energy_limit: float | None = None
    energy_known_by: str | None = None
    rules: Rules | None = None
    energy_own_limit: float | None = None
    others: dict[str, float] | None = None
    energy_budget: dict[str, Any] | None = None

    @property
    def needs_review(self) -> bool:
        """True if a check of severity `error` failed."""
        return any(not check.ok and check.severity == "error" for check in self.checks)


class BoardState(StrEnum):
    """The state of the public board: live, frozen, or unveiling its final ranking place by place."""

    LIVE = "live"
    FROZEN = "frozen"
    UNVEILING = "unveiling"


@dataclass(frozen=True)
class Published:
    """The public view: the results as of `utc` and the `hall` view as of `hall_utc`, both JSON documents.

    Freezing the board stops the results only. `hall` is None before it is first stored. `frozen_utc` is when the board
    was last frozen. During the unveiling `final` has the final results, and the last `unveiled` places of their ranking
    are shown; `unveiled_utc` is when the last unveiling ended.
    """

    utc: str
    document: str
    state: BoardState
    unveiled: int
    frozen_utc: str | None = None
    final: str | None = None
    unveiled_utc: str | None = None
    hall: str | None = None
    hall_utc: str | None = None

    @property
    def places(self) -> int:
        """The number of places to unveil; 0 unless an unveiling has begun."""
        return len(json.loads(self.final)["ranking"]) if self.final else 0


@dataclass(frozen=True)
class Review:
    """An operator's decision to accept a run although the checks `codes` had failed, and the reason."""

    operator: str
    note: str
    utc: str
    codes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Note:
    """A note of an operator on a run, for operators only."""

    utc: str
    operator: str
    text: str


class DecisionKind(StrEnum):
    """What the jury decides about a judgement: first it is confirmed, then published."""

    CONFIRMED = "confirmed"
    PUBLISHED = "published"


@dataclass(frozen=True)
class Decision:
    """A decision of the jury about the latest judgement of a run; `operator` is as every list shows it."""

    utc: str
    operator: str
    kind: DecisionKind


@dataclass(frozen=True)
class Heat:
    """A heat that an operator made; `round` is that of a knock-out or round robin, None outside both."""

    name: str
    utc: str
    operator: str
    round: int | None = None


@dataclass(frozen=True)
class Question:
    """A team's question to the jury; `answered_utc`, `operator` and `answer` are None until it is answered.

    With `to_all` everyone may read the question and its answer; `wording` is the question as the jury has changed it
    for that, or None.
    """

    id: int
    utc: str
    team: str
    text: str
    answered_utc: str | None
    operator: str | None
    answer: str | None
    to_all: bool
    wording: str | None = None

    @property
    def public_text(self) -> str:
        """The question as everyone reads it."""
        return self.wording or self.text


@dataclass(frozen=True)
class Refusal:
    """Similar refused requests: `count` of them from `first_utc` to `utc`, with team and run if they are known."""

    first_utc: str
    utc: str
    count: int
    code: str
    status: int
    team: str | None
    run: int | None
    address: str
    sentence: str
