"""The values of contest.toml: a contest, its stations, prizes, images and backups."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime

from lpirc_power.meter import (
    Setup,
)
from lpirc_power.meter_standing import OFFICIAL_MAKERS
from lpirc_power.sampling.polling import settling_at_least_s
from lpirc_score.tasks import BOXES
from referee.config.journal_table import DEFAULT, Journal
from referee.config.rule_table import USUAL, RuleTable
from referee.config.tracks import ModelTrack
from referee.contest_rules import ContestRule


def is_simulated(meter: str) -> bool:
    """Return True for the address of a simulator that is started for its station."""
    return meter.partition(":")[0] == "sim"


def plain_address(meter: str) -> str:
    """Return an address without the library that reads it, in capitals: equal for one meter."""
    return meter.partition("@")[0].upper()


@dataclass(frozen=True)
class Station:
    """A station for one board: the address of its meter and how the meter measures (see lpirc_power.meter.Setup).

    Ranges are fixed, in volts and amperes; None means automatic. The meter starts at least `settle_s` seconds after its
    ranges are set. Arming compensates its zero level if that was done more than `zero_max_age_min` minutes ago; 0:
    never. `clients` are the networks (192.168.1.0/24) or addresses from which its board may send requests; empty means
    any. `loopback_meter` accepts the meter although its address leads back to this machine, as a tunnel's address does.
    """

    name: str
    meter: str
    voltage_range_v: float | None = None
    current_range_a: float | None = None
    update_interval_s: float = 0.25
    mode: str = "rms"
    crest_factor: int = 3
    line_filter: bool = False
    frequency_filter: bool = False
    synchronize: str = "voltage"
    element: str = "1"
    ambient_change_c: float = 5.0
    settle_s: float = 0.0
    zero_max_age_min: float = 60.0
    clients: tuple[str, ...] = ()
    loopback_meter: bool = False

    @property
    def is_simulated(self) -> bool:
        """True if the station's meter is a simulator started for it."""
        return is_simulated(self.meter)

    def setup(self, window_s: int) -> Setup:
        """Return the meter's setup for a run; its integrator stops automatically after `window_s` seconds."""
        names = {one.name for one in fields(Setup)} & vars(self).keys()
        return Setup(
            integrator_timer_s=window_s, **{name: getattr(self, name) for name in names}
        )


@dataclass(frozen=True)
class Prize:
    """A named prize for the best team by one of PRIZE_RULES."""

    name: str
    rule: str


TOURNAMENTS = ("", "knock-out", "round-robin")
"""What the rounds of heats are: nothing, a knock-out, a round robin."""

PRIZE_RULES = ("best-score", "least-energy", "highest-map")


@dataclass(frozen=True)
class Images:
    """The images of a run: `per_attempt` images of the test set, new to the team while there are any; 0: all images."""

    per_attempt: int = 0


@dataclass(frozen=True)
class Backup:
    """Scheduled backups of a served contest into `folder`, relative to the contest folder; blank: no backups."""

    folder: str = ""
    every_min: float = 10.0


@dataclass(frozen=True)
class ContestConfig:
    """A contest: its rules and its stations. `testset` is a path relative to the contest folder.

    `task` is what teams answer; `metric` scores the boxes of the task `boxes`, any other task has its own figure.

    Arming measures the power of the idle board for `idle_baseline_s` seconds; None skips that. `auto_judge` has
    each run judged when it is over. `live_score` computes a provisional score each second of an open run, shown to
    the team with `teams_see_score` and to everyone with `public_score`. `trusted_proxy` lists the networks or
    addresses of the proxies whose X-Forwarded-For is trusted. With `count_unserved`, detections are also scored on
    images that the run was not served. `id` is also in the database and the secrets; it is blank in folders of
    earlier versions. A run below `least_map` is shown but not ranked. `attempts` is the number of runs of each
    team; 0: unlimited. The public board shows nothing newer than `freeze_at` until it is unveiled. Bundles contain
    the ground truth once `ground_truth_secret_until` has passed. Meters of the `official_makers` are accepted. With
    `publish_by` 1 or 2 a judgement is public only once it was confirmed and published, by as many people; with 0 at
    once. `heats` says what the rounds of heats are: one of TOURNAMENTS. `board_url` is the
    board's address as the hall reaches it; blank: the one by which the projector has opened it. `rule` is what runs are
    ranked by.
    """

    name: str
    stations: tuple[Station, ...]
    window_s: int = 600
    metric: str = "lpirc"
    task: str = BOXES
    testset: str = "testset"
    shuffle: bool = True
    auto_arm: bool = False
    auto_judge: bool = True
    live_score: bool = True
    teams_see_score: bool = False
    idle_baseline_s: float | None = None
    trusted_proxy: tuple[str, ...] = ()
    count_unserved: bool = False
    images: Images = Images()
    tracks: tuple[ModelTrack, ...] = ()
    id: str = ""
    least_map: float | None = None
    attempts: int = 0
    freeze_at: datetime | None = None
    public_score: bool = False
    publish_by: int = 0
    board_url: str = ""
    heats: str = ""
    backup: Backup = Backup()
    journal: Journal = DEFAULT
    ground_truth_secret_until: datetime | None = None
    prizes: tuple[Prize, ...] = tuple(
        map(Prize, ("Best score", "Least energy", "Highest accuracy"), PRIZE_RULES)
    )
    official_makers: tuple[str, ...] = OFFICIAL_MAKERS
    rule: RuleTable = USUAL

    @property
    def contest_rule(self) -> ContestRule:
        """What runs are ranked by."""
        return self.rule.chosen

    @property
    def scored_by(self) -> str:
        """The name of what scores the answers: the metric of boxes, or the task."""
        return self.metric if self.task == BOXES else self.task

    def arming_at_least_s(self, station: Station) -> float:
        """Return the minimum time of arming a run at this station: settling the meter, measuring the idle board."""
        settling_s = settling_at_least_s(station.settle_s, station.update_interval_s)
        return settling_s + (self.idle_baseline_s or 0.0)

    def setup(self, station: str, window_s: int) -> Setup:
        """Return the setup of a station's meter; the default setup if the station is no longer configured."""
        found = next(
            (one for one in self.stations if one.name == station), Station(station, "")
        )
        return found.setup(window_s)
