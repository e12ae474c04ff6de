"""Values that the store takes and returns: runs, posts, scores, the board."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from lpirc_power.energy import Check
from lpirc_power.meter import Identity, Setup
from lpirc_power.meter_standing import OFFICIAL_MAKERS, Standing, counts_by_identity
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
TRUTH_CORRECTED = "truth-corrected"
"""Kinds of events that the program itself looks for."""


class EnergyMissing(StrEnum):
    """The reasons why a run has no energy: the `code` of an event ENERGY_MISSING, beside the sentence in `reason`."""

    READ_LATER = "read-later"  # the meter may still hold it: it did not answer, another did, or with no number
    METER_RESET = "meter-reset"
    BEGAN_AGAIN = "began-again"


class RunState(StrEnum):
    """The states of a run; `void` can follow any of the others."""

    ARMED = "armed"
    OPEN = "open"
    CLOSED = "closed"
    JUDGED = "judged"
    VOID = "void"


OVER = (RunState.CLOSED, RunState.JUDGED, RunState.VOID)
"""States in which nothing is served or accepted."""


@dataclass(frozen=True)
class Run:
    """One timed, metered attempt, as stored. Times in seconds; `start_s` is monotonic, of boot `boot_id`.

    `setup` is how the meter was set up, `meter_changes` what differed from that at the end, one phrase each; None: not
    asked. `idle_power_w` is the mean power of the idle board at arming. One start signal opens all runs of a `heat`.
    `meter_standing` says whether the meter of `meter_identity` counts in a contest; None: only the identity is known.
    `nonce` is a random value of its own, which keys its image order and its tokens; None: of an earlier form.
    `images_digest` identifies the images of its test set, whatever the ground truth; None: of an earlier form.
    `extra_s` of its window were granted by the operator. `rules` are bound into its chain; None: not bound.
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
    def contest_window_s(self) -> float:
        """The window without the operator's extension: runs with the same one are compared."""
        return self.window_s - (self.extra_s or 0.0)

    @property
    def official_makers(self) -> tuple[str, ...]:
        """The makers whose meters count, by the rules that the run was armed with."""
        if self.rules is None:
            return OFFICIAL_MAKERS
        return self.rules.makers

    @property
    def official(self) -> bool:
        """True if its energy is official: measured by a meter that counts in a contest."""
        if self.meter_standing is None:
            return counts_by_identity(Identity.parse(self.meter_identity or ""))
        return self.meter_standing.official


@dataclass(frozen=True)
class Post:
    """The receipt of one accepted body: its rows, its SHA-256, and the run's total after it.

    It is body `number` of the run, at `received_utc`; `previous` is the link before it. `readings` is the number of
    readings on disk with it, and `meter` the link of the last one. None: of an earlier form.
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
        """Form of the protocol: 2 with the link of the readings, 1 without."""
        return 1 if self.meter is None else 2

    @cached_property
    def link(self) -> bytes:
        """The chain's link of this body; it needs `previous` and `number`."""
        if self.previous is None or self.number is None:
            return LOG_START
        of_body = (self.sha256, self.received_utc, self.row_count, self.received_total)
        return receipt_link(
            self.previous, self.number, *of_body, self.readings, self.meter
        )


@dataclass(frozen=True)
class Closing:
    """The evidence of a run's close: its bodies, the head of their chain, the log's link of its close (hexadecimal)."""

    run: int
    posts: int
    head: str
    log: str


@dataclass(frozen=True)
class Provisional:
    """The figures of a run at `utc`: the mAP of the detections so far, the energy of the newest reading.

    `utc` is the older of the two times. `score` is None until an energy above 0 has been read, and while the figures
    are not fresh. The next figures follow after about `pause_s`; None in an earlier form.
    """

    run: int
    utc: str
    map: float
    energy_wh: float | None
    score: float | None
    detections: int
    pause_s: float | None = None


HALF_SAMPLING = "half-sampling"
BOOTSTRAP = "bootstrap"
"""Methods that compute an interval; versions up to form 15 used the second one."""


@dataclass(frozen=True)
class Released:
    """The figures that non-operators see of a run that is not judged yet: those at `utc`, as in `Provisional`.

    They are rounded, and the mAP is that of a secret half of the images. `released_utc` is when they were released.
    """

    run: int
    released_utc: str
    utc: str
    map: float
    energy_wh: float | None
    score: float | None
    detections: int


@dataclass(frozen=True)
class ScoreInterval:
    """The confidence intervals of a score at `level`, by `method` from `resamples` of the images drawn with `seed`.

    HALF_SAMPLING: `map_low` and `map_high` are for the mean mAP over this population's sets of this size, `other_low`
    and `other_high` for the mAP on another such set, `unlimited_low` and `unlimited_high` for that of unlimited images.
    `map_spread` is the mAP's standard error, `map_bias` how far too high it is at least for so few images. The score's
    interval is for the mean over sets of this size, and includes `energy_uncertainty`, the meter's stated accuracy
    relative to the energy; it is None without a score, or where the meter's accuracy is unknown.

    BOOTSTRAP, of an earlier form: `map_low` and `map_high` are all that there is of the mAP, with a `map_bias` or None.
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
    """The judgement of a run. `score` = `map` / `energy_wh`, None when there is no energy of record.

    `map` is by the contest's metric, `map_ilsvrc_det` compares with the published champions; None in an earlier form.
    `mean_power_w` is None unless the energy covers the window and nothing else. `energy_limit` is how far
    the energy may be off, relative to it; `energy_known_by` says what states it, or why there is none (None in earlier
    forms). `energy_own_limit` is the part of the limit that runs on one meter do not share; None in earlier forms.
    `rules` are those it was judged by; None where the run's are not bound.
    """

    run: int
    judged_utc: str
    map: float
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

    @property
    def needs_review(self) -> bool:
        """True if a check of severity `error` failed."""
        return any(not check.ok and check.severity == "error" for check in self.checks)


class BoardState(StrEnum):
    """The document on the public board: the newest one, that of the freeze, or that with the places unveiled so far."""

    LIVE = "live"
    FROZEN = "frozen"
    UNVEILING = "unveiling"


@dataclass(frozen=True)
class Published:
    """The public view: the results, a JSON document as of `utc`, and the `hall` view, another one as of `hall_utc`.

    Only the results stand still while the board is frozen. `hall` is None before the first time. `frozen_utc` says when
    the board was frozen last. During the unveiling, `final` has the final results, of whose ranking the last `unveiled`
    places are shown; `unveiled_utc` is when the last unveiling ended.
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
        """The number of places to unveil; 0 before the first unveiling."""
        return len(json.loads(self.final)["ranking"]) if self.final else 0


@dataclass(frozen=True)
class Review:
    """An operator's decision to accept a run whose checks `codes` had failed, and why."""

    operator: str
    note: str
    utc: str
    codes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Refusal:
    """`count` similar refused requests, from `first_utc` to `utc`; team and run as far as they are known."""

    first_utc: str
    utc: str
    count: int
    code: str
    status: int
    team: str | None
    run: int | None
    address: str
    sentence: str
