"""Contests, runs and what lies in them, with defaults: a test names only what matters to it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from lpirc_power.meter import IntegratorState, Reading, Setup
from lpirc_power.sampling.sampler import Sampler
from lpirc_score.analysis.halves import HALVES
from lpirc_testsets import TestSet
from referee.clock import Clock
from referee.contest import Contest, create_contest, open_contest
from referee.errors import RefereeError
from referee.runs import station_meters
from referee.runs.run_control import RunControl
from referee.store import Store
from referee.store.records import HALF_SAMPLING, Post, Run, RunState, ScoreInterval

START = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
SIMULATED = "sim:constant:36W"
TEAM = "otters"
HALF_SAMPLED = ScoreInterval(
    0.95,
    HALVES,
    0,
    map_low=0.4,
    map_high=0.6,
    score_low=0.2,
    score_high=0.6,
    energy_uncertainty=0.0,
    map_bias=0.01,
    method=HALF_SAMPLING,
    map_spread=0.05,
    other_low=0.35,
    other_high=0.65,
    unlimited_low=0.37,
    unlimited_high=0.59,
)


class DrivenClock(Clock):
    """Real time plus what a test adds: meters answer in their own pace, and a deadline comes when it is told to."""

    def __init__(self) -> None:
        self.added_s = 0.0
        self.set_forward_s = 0.0
        self.booted_s = 0.0
        self.boot: str | None = "boot-1"

    def monotonic_s(self) -> float:
        return time.monotonic() + self.added_s - self.booted_s

    def utc(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.added_s + self.set_forward_s)

    def wait(self, event: threading.Event, until_s: float) -> bool:
        while not event.wait(0.005):
            if self.monotonic_s() >= until_s:
                return False
        return True

    def boot_id(self) -> str | None:
        return self.boot

    def advance(self, seconds: float) -> None:
        self.added_s += seconds

    def reboot(self, boot: str | None = "boot-2") -> None:
        """The monotonic clock starts again."""
        self.booted_s += self.monotonic_s()
        self.boot = boot


class StillClock(Clock):
    """A clock that stands at `now_s` after START until the test moves it."""

    def __init__(self, now_s: float = 0.0) -> None:
        self.now_s = now_s

    def monotonic_s(self) -> float:
        return self.now_s

    def utc(self) -> datetime:
        return START + timedelta(seconds=self.now_s)


def station(
    name: str = "one",
    meter: str = SIMULATED,
    **more: object,
) -> dict[str, object]:
    return {
        "name": name,
        "meter": meter,
        "update_interval_s": 0.1,
    } | more


def config_text(
    test_set: TestSet,
    *stations: dict[str, object],
    **keys: object,
) -> str:
    top = {
        "name": "Test",
        "window_s": 600,
        "testset": str(test_set.folder),
    } | keys
    lines = [f"{key} = {_toml(value)}" for key, value in top.items()]
    for one in stations or (station(),):
        lines += [
            "[[stations]]",
            *(f"{key} = {_toml(value)}" for key, value in one.items()),
        ]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return (
            f"{{ {', '.join(f'{key} = {_toml(one)}' for key, one in value.items())} }}"
        )
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return f"'{value}'" if isinstance(value, str) else str(value)


def run_record(**different: Any) -> Run:
    values = {
        "id": 0,
        "team": TEAM,
        "station": "one",
        "state": RunState.ARMED,
        "armed_utc": "",
        "testset_digest": "d" * 64,
        "images": 5,
        "window_s": 600.0,
        "setup": Setup(150.0, 0.5, update_interval_s=0.1, integrator_timer_s=600),
        "meter_identity": "YOKOGAWA WT310 C2PH13047V F1.03",
    }
    return Run(**(values | different))


def stored_run(store: Store, **different: Any) -> Run:
    """An armed run of a registered team, in the store."""
    new = run_record(**different)
    if new.team not in store.teams.all():
        store.teams.add(new.team, "no hash", START)
    return store.runs.arm(new, START, np.arange(1, new.images + 1))


def reading(monotonic_s: float = 0.0, **different: Any) -> Reading:
    values = {
        "monotonic_s": monotonic_s,
        "utc": START + timedelta(seconds=monotonic_s),
        "voltage_v": 120.0,
        "current_a": 0.3,
        "apparent_va": 36.0,
        "power_w": 36.0,
        "power_factor": 1.0,
        "energy_wh": 36.0 * monotonic_s / 3600,
        "integrator_s": float(int(monotonic_s)),
        "state": IntegratorState.START,
        "over_range": False,
        "voltage_peak_over": False,
        "current_peak_over": False,
    }
    return Reading(**(values | different))


def steady_readings(
    energy_wh: float,
    elapsed_s: float,
    each_s: float = 1.0,
) -> list[Reading]:
    """Readings of a window in which the meter took this energy at one power, the last at its end: no check fails."""
    power_w = 3600.0 * energy_wh / elapsed_s
    figures = []
    for number in range(round(elapsed_s / each_s) + 1):
        now_s = number * each_s
        taken = {
            "power_w": power_w,
            "apparent_va": power_w,
            "current_a": power_w / 120.0,
        }
        figures.append(reading(now_s, **taken, energy_wh=power_w * now_s / 3600.0))
    return figures


def told(receipt: Post | None) -> tuple[int, str, int] | None:
    """What every receipt has told: rows, SHA-256, total."""
    return receipt and (receipt.row_count, receipt.sha256, receipt.received_total)


def rows(
    count: int = 1,
    image: int = 1,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Plausible detections, shape (count, 7)."""
    rng = np.random.default_rng([seed, image])
    corner = rng.uniform(0, 40, (count, 2))
    return np.column_stack(
        [
            np.full(count, float(image)),
            rng.integers(1, 4, count).astype(float),
            rng.uniform(0, 1, count),
            corner,
            corner + 10,
        ]
    )


def parse_rows(body: bytes) -> NDArray[np.float64]:
    """The tests' own body format: packed float64."""
    return np.frombuffer(body, "<f8").reshape(-1, 7)


def body(count: int = 1, image: int = 1, seed: int = 0) -> bytes:
    return rows(count, image, seed).tobytes()


class MortalSampler(Sampler):
    """A sampler that can end as with its process: it restores no settings any more."""

    made: ClassVar[list[MortalSampler]] = []
    is_dead = False

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.made.append(self)

    def die(self) -> None:
        self.is_dead = True
        self.close()

    def close(self, *, restore_settings: bool = True) -> None:
        super().close(restore_settings=restore_settings and not self.is_dead)


@dataclass
class House:
    """A contest folder, and the servers' cores that come and go over it, each with its own connection."""

    folder: Path
    clock: DrivenClock
    stack: ExitStack
    contest: Contest = field(init=False)
    control: RunControl = field(init=False)

    def __post_init__(self) -> None:
        self.contest = self.stack.enter_context(open_contest(self.folder))
        self.control = self.started(self.contest)
        for team in (TEAM, "badgers"):
            if team not in self.contest.store.teams.all():
                self.contest.store.teams.add(team, "no hash", START)

    @property
    def store(self) -> Store:
        return self.contest.store

    def started(self, contest: Contest) -> RunControl:
        control = RunControl(contest, self.clock)
        self.stack.callback(control.shutdown)
        return control

    def restart(self, *, orderly: bool = True) -> None:
        """Another server on the same folder; the earlier one shut down, or abandoned as by kill -9."""
        if orderly:
            self.control.shutdown()
        else:
            self.abandon()
        self.contest = self.stack.enter_context(open_contest(self.folder))
        self.control = self.started(self.contest)
        self.control.recover()
        self.control.read_left_over()

    def abandon(self) -> None:
        """What is left of a process after kill -9: no thread, no link, no meter with its settings restored."""
        for run in self.store.runs.find(RunState.OPEN):
            with suppress(RefereeError):  # one that this server has not taken up
                live = self.control.live(run.id)
                live.done.set()
                live.ending.set()
        for sampler in MortalSampler.made:
            sampler.die()


@contextmanager
def house(
    folder: Path,
    test_set: TestSet,
    stations: Sequence[dict[str, object]] = (),
    *,
    is_new: bool = True,
    **keys: object,
) -> Iterator[House]:
    if is_new:
        create_contest(folder, config_text(test_set, *stations, **keys))
    with ExitStack() as stack:
        stack.callback(MortalSampler.made.clear)
        stack.enter_context(mock.patch.object(station_meters, "Sampler", MortalSampler))
        yield House(folder, DrivenClock(), stack)
