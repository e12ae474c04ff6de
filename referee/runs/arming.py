"""Arming: makes a new run of a team, a free station with its meter, and an image order."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from lpirc_power.errors import MeterError
from lpirc_power.meter import Setup
from lpirc_score.metrics.evaluation_result import RULES_VERSION
from lpirc_score.tasks import BOXES
from lpirc_score.tasks.offered import TASK_RULES_VERSION
from lpirc_testsets import TestSet
from referee.auth.client_addresses import admits, require_admitted
from referee.clock import Clock
from referee.config import LONGEST_WINDOW_S, ContestConfig, Station
from referee.contest import Contest
from referee.contest_rules import DEFAULT
from referee.errors import AttemptsUsed, NotArmed, RefereeError, StationBusy
from referee.runs.idle_station import IdleStations
from referee.runs.image_order import image_order, images_had
from referee.runs.run_recorder import note_event
from referee.runs.run_recovery import energy_may_be_held, read_left_over
from referee.runs.station_meters import RunMeter, StationMeters
from referee.store.acts import Act
from referee.store.records import IMAGES_SEEN, Run, RunState
from referee.store.run_rules import Rules

logger = logging.getLogger(__name__)
NOT_YET_STORED = 0
NONCE_BYTES = 8  # with longer ones the token would be compressed


@dataclass(frozen=True)
class ReadyRun:
    """A run that can be stored: its meter is set up.

    `attempt` is its number if it exceeds the contest's limit, `seen` what the team's earlier runs had of its images.
    """

    run: Run
    order: NDArray[np.int64]
    meter: RunMeter
    attempt: int | None
    seen: Mapping[str, object] | None


class Arming:
    """Makes armed runs. `lock_of` returns one of the locks of RunControl, whose docstring states their order."""

    def __init__(
        self,
        contest: Contest,
        clock: Clock,
        meters: StationMeters,
        lock_of: Callable[[str], threading.Lock],
        idle: IdleStations,
    ) -> None:
        self._contest = contest
        self._store = contest.store
        self._clock = clock
        self._meters = meters
        self._lock_of = lock_of
        self._idle = idle
        self._note = partial(note_event, contest.store, clock)

    def arm(
        self,
        team: str,
        station: Station,
        heat: str | None = None,
        *,
        extra_s: int | None = None,
        beyond_attempts: bool = False,
        act: Act | None = None,
    ) -> Run:
        """Return a new armed run at a free station, its window longer by `extra_s`. The caller holds the team's lock.

        Raises RefereeError `station-busy`, `team-busy`, `attempts-used` unless `beyond_attempts`, `bad-request` for a
        bad `extra_s`, `bad-config` for more images than there are; MeterError.
        """
        window_s = self._contest.config.window_s + (extra_s or 0)
        if extra_s is not None and not (extra_s > 0 and window_s <= LONGEST_WINDOW_S):
            sentence = f"extra_s = {extra_s} must be above 0, and the window at most {LONGEST_WINDOW_S} s long."
            raise RefereeError("bad-request", sentence)
        with self._lock_of(f"station {station.name}"):
            ready = self.make_ready(
                team, station, heat, extra_s=extra_s, beyond_attempts=beyond_attempts
            )
            try:
                now = self._clock.utc()
                run = self._store.runs.arm(ready.run, now, ready.order, act)
            except BaseException:
                ready.meter.sampler.close()
                raise
            self.keep(run, ready)
        return run

    def make_ready(
        self,
        team: str,
        station: Station,
        heat: str | None = None,
        *,
        extra_s: int | None = None,
        beyond_attempts: bool = False,
    ) -> ReadyRun:
        """Set up the meter of a new run, and return the run, to be stored. The caller holds team's and station's lock.

        Raises as `arm`. If the run is not stored, close its meter.
        """
        self.require_able(team, station, anyway=beyond_attempts)
        attempt = self._require_attempt(team, anyway=beyond_attempts)
        take_over = read_left_over(self._contest, self._clock, self._meters, station)
        unread = energy_may_be_held(self._contest, station)
        meter = self._meters.set_up(
            station,
            self._contest.config.window_s + (extra_s or 0),
            take_over=take_over and not unread,
            spare_energy=unread,
        )
        try:
            new = self._new_run(team, station, meter, heat, extra_s)
            order, seen = self._order(new)
        except BaseException:
            meter.sampler.close()
            raise
        return ReadyRun(new, order, meter, attempt, seen)

    def keep(self, run: Run, ready: ReadyRun) -> None:
        """Keep the meter of a run that is stored now, and note what was found when it was made ready."""
        meter = ready.meter
        self._meters.keep(run, meter)
        if ready.seen is not None:
            self._note(run.id, IMAGES_SEEN, **ready.seen)
        self._note(
            run.id,
            "armed",
            meter=meter.identity,
            station=run.station,
            standing=run.meter_standing,
            zero_age_s=self._meters.zero_age_s(meter),
            zero_error=None
            if meter.sampler.zero_error is None
            else meter.sampler.zero_error.sentence,
            extra_s=run.extra_s,
            beyond_attempts=ready.attempt,
        )
        logger.info("run %d of %s is armed at %s", run.id, run.team, run.station)

    def armed_run(self, team: str, address: str | None) -> Run:
        """Return the team's armed run, or a new one if there is none and the contest arms runs automatically.

        The caller holds the team's lock. Raises RefereeError `not-armed`, `attempts-used`, `station-busy`,
        `wrong-address`; MeterError.
        """
        for run in self._store.runs.find(RunState.ARMED, team=team):
            return run
        if not self._contest.config.auto_arm:
            raise NotArmed(f"No run is armed for {team}; ask the operator.", team=team)
        stations = self._contest.config.stations
        admitting = [
            station for station in stations if admits(station.clients, address)
        ]
        if not admitting:
            require_admitted(stations[0], address)
        return self._armed_at_first(team, admitting)

    def _armed_at_first(self, team: str, stations: Sequence[Station]) -> Run:
        """Arm a run at the first of these stations that is free and whose meter answers, and return it."""
        failures: dict[str, MeterError] = {}
        # A station is locked while its meter settles for another team; a free station need not wait for that.
        for station in sorted(
            stations,
            key=lambda one: self._lock_of(f"station {one.name}").locked(),
        ):
            try:
                run = self.arm(team, station)
            except MeterError as error:
                logger.warning(
                    "station %s is skipped: %s",
                    station.name,
                    error.sentence,
                )
                failures[station.name] = error
            except StationBusy:
                continue
            else:
                for name, failure in failures.items():
                    self._note(
                        run.id,
                        "station-passed-over",
                        station=name,
                        reason=failure.sentence,
                    )
                return run
        for failure in failures.values():
            raise failure
        raise StationBusy("Every station is in use; log in again when one is free.")

    def require_able(self, team: str, station: Station, *, anyway: bool) -> None:
        """Raise what `arm` would raise before it asks the meter; `anyway` allows a team that has used its attempts."""
        images_of_a_run(self._contest)
        self._store.posts.require_room(0)
        self._require_free(team, station)
        self._require_attempt(team, anyway=anyway)

    def _require_free(self, team: str, station: Station) -> None:
        self._idle.require_not_asked(station.name)
        run = self._running(station=station.name)
        if run is not None:
            what = (
                f"Station {station.name} has run {run.id} ({run.state}) of {run.team}"
            )
            raise StationBusy(f"{what}; end it first: {_ending(run)}")
        run = self._running(team=team)
        if run is not None:
            what = f"{team} has run {run.id} ({run.state}) at {run.station}"
            raise RefereeError("team-busy", f"{what}; end it first: {_ending(run)}")

    def _require_attempt(self, team: str, *, anyway: bool) -> int | None:
        """Return the number of the attempt if it exceeds the contest's limit, else None.

        Raises AttemptsUsed for such an attempt unless `anyway`.
        """
        most = self._contest.config.attempts
        used = self._store.runs.attempts_used().get(team, 0)
        if not most or used < most:
            return None
        if not anyway:
            sentence = f"{team} has used {used} of {most} attempts"
            raise AttemptsUsed(
                f"{sentence}; an operator can void a run, or allow one more",
                team=team,
                attempts=most,
            )
        return used + 1

    def _running(self, **where: str) -> Run | None:
        states = (RunState.ARMED, RunState.OPEN)
        return next(
            (run for state in states for run in self._store.runs.find(state, **where)),
            None,
        )

    def _new_run(
        self,
        team: str,
        station: Station,
        meter: RunMeter,
        heat: str | None,
        extra_s: int | None,
    ) -> Run:
        test_set = self._contest.test_set
        config = self._contest.config
        idle_s = config.idle_baseline_s
        return Run(
            id=NOT_YET_STORED,
            team=team,
            station=station.name,
            state=RunState.ARMED,
            armed_utc="",
            testset_digest=test_set.digest,
            images_digest=test_set.images_digest,
            images=images_of_a_run(self._contest),
            window_s=float(meter.setup.integrator_timer_s),
            setup=meter.setup,
            meter_identity=meter.identity,
            idle_power_w=None
            if idle_s is None
            else meter.sampler.measure_idle(idle_s).power_w,
            heat=heat,
            meter_standing=meter.standing,
            nonce=secrets.token_hex(NONCE_BYTES),
            extra_s=extra_s,
            rules=rules_now(config, test_set, meter.setup, extra_s or 0),
        )

    def _order(self, new: Run) -> tuple[NDArray[np.int64], dict[str, object] | None]:
        """Return the run's image order, and which of the images the team's earlier runs had; None if they had none."""
        pool = len(self._contest.test_set.images)
        had = images_had(self._store, new.team, new.images_digest)
        times_had = np.bincount(
            np.concatenate([*had.values(), [0]]).astype(int),
            minlength=pool + 1,
        )[1:]
        shuffle = self._contest.config.shuffle
        order = image_order(
            self._contest.secret,
            str(new.nonce),
            times_had,
            new.images,
            shuffle=shuffle,
        )
        seen = [one for one, numbers in had.items() if np.isin(order, numbers).any()]
        if not seen:
            return order, None
        return order, {"images": int((times_had[order - 1] > 0).sum()), "runs": seen}


def rules_now(
    config: ContestConfig,
    test_set: TestSet,
    setup: Setup,
    extra_s: int,
) -> Rules:
    """Return the rules of a run that is armed now, on a meter with this setup."""
    is_boxes = config.task == BOXES
    rule = config.contest_rule
    return Rules(
        attempts=config.attempts,
        count_unserved=config.count_unserved,
        extra_s=extra_s,
        least_map=config.least_map,
        metric=config.scored_by,
        metric_version=RULES_VERSION if is_boxes else TASK_RULES_VERSION,
        per_attempt=config.images.per_attempt,
        prizes=tuple(asdict(prize) for prize in config.prizes),
        setup=setup.stated,
        testset_digest=test_set.digest,
        window_s=config.window_s,
        official_makers=config.official_makers,
        task=None if is_boxes else config.task,
        rule=None if rule == DEFAULT else rule.stated,
    )


def images_of_a_run(contest: Contest) -> int:
    """Return the number of images of a run. Raises RefereeError `bad-config` if the test set has fewer."""
    pool = len(contest.test_set.images)
    images = contest.config.images.per_attempt
    if images > pool:
        sentence = f"[images] per_attempt = {images}, but the test set has {pool} images; choose fewer."
        raise RefereeError("bad-config", sentence)
    return images or pool


def _ending(run: Run) -> str:
    """Return the operator's command that ends the run."""
    how = (
        f"close {run.id}"
        if run.state is RunState.OPEN
        else f'void {run.id} --reason "…"'
    )
    return f"referee run {how}"
