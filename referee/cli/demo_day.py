"""A simulated contest day for `referee demo`, made with the real store and the real judge.

Its figures are the same each time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from lpirc_power.meter import IntegratorState, Reading
from lpirc_power.meter_standing import Standing
from lpirc_score.detections.parsed_rows import Refused
from lpirc_testsets import GroundTruth, read_ground_truth
from referee.auth.passwords import hash_password
from referee.clock import Clock
from referee.contest import Contest
from referee.judging.judge_many import judge_with_interval
from referee.runs.arming import rules_now
from referee.store.records import Run, RunState

PAUSE = timedelta(minutes=6)  # between the starts of two runs
IMAGES = 40
POSTS = 10  # of a run
LOADING = 0.6  # of the power above idle while a model is loaded
IDLE_W = 1.9
BLIND_ROWS = 100
IMAGE_BYTES = 20_000
TOO_MUCH = 1.12  # times the energy of the readings: a check fails
QUEUED = 7  # teams
LOG_OUT_S = 0.3  # after the last POST
START_STOP_S = 0.02  # what the meter took for both
METER = "YOKOGAWA WT310 C0DEMO016V F1.03"
VOLTAGE_V = 120.0


@dataclass(frozen=True)
class Entry:
    """A team and the parameters of its run.

    `found` is the share of objects found, `shake` the box error, `power_w` the power. The other fields are times in s.
    Like a real board the run first loads its model, at `LOADING` of its power, and then answers the first images.
    """

    team: str
    affiliation: str
    found: float
    shake: float = 0.06  # of a box's sides
    power_w: float = 6.0
    lasts_s: float = 90.0
    loads_s: float = 9.0

    @property
    def step_s(self) -> float:
        """Time for one image in s."""
        return (self.lasts_s - self.loads_s) / IMAGES


ENTRIES = (
    Entry("Aurora", "Northern Institute of Vision", 0.92, 0.04, 6.2, 88.0),
    Entry("Birchwood", "University of Birchwood", 0.85, 0.05, 5.1, 96.0),
    Entry("Cobalt", "Cobalt Embedded", 0.88, 0.04, 7.9, 71.0),
    Entry("Delta Vision", "Delta Technical College", 0.70, 0.08, 4.4, 110.0),
    Entry("Eider", "Coast University", 0.64, 0.07, 3.6, 118.0),
    Entry("Fjord", "Fjord Robotics Club", 0.81, 0.06, 5.5, 93.0),
    Entry("Garnet", "Garnet Research", 0.55, 0.09, 3.1, 104.0),
    Entry("Heron", "Heron Academy", 0.78, 0.05, 8.6, 64.0),
    Entry("Indigo", "Indigo Labs", 0.60, 0.10, 6.8, 82.0),
    Entry("Juniper", "Juniper State University", 0.85, 0.05, 5.2, 95.0),
    Entry("Kestrel", "Kestrel Systems", 0.73, 0.06, 4.9, 99.0),
    Entry("Larch", "Larch Valley College", 0.48, 0.12, 4.0, 87.0),
    Entry("Merlin", "Merlin Semiconductors", 0.95, 0.03, 9.4, 112.0),
    Entry("Nimbus", "Nimbus Student Team", 0.0, power_w=2.2, lasts_s=4.0, loads_s=0.5),
    Entry("Onyx", "Onyx Polytechnic", 0.76, 0.06, 5.8, 90.0),
    Entry("Puffin", "Island School of Engineering", 0.68, 0.07, 4.2, 101.0),
)
WAITING = ENTRIES[-2:]  # they have not run yet
BLIND = "Nimbus"  # sends guesses and logs out at once
VOIDED = "Cobalt"
AGAIN = "Birchwood"
IN_REVIEW = "Heron"
WITH_REFUSED_ROWS = "Kestrel"
NEXT = tuple(
    dict.fromkeys(entry.team for entry in (*WAITING, *ENTRIES) if entry.team != BLIND)
)
"""The teams that run while someone watches, in this order; after the last one the first runs again."""
REFUSED = Refused(
    2, ((3, "xmin is not a number", "nan"), (7, "image 99 is unknown", "99"))
)


def record_day(contest: Contest, password: str, clock: Clock) -> None:
    """Fill a new contest: teams and an operator, all with this password, judged runs, a queue, an announcement."""
    store = contest.store
    hashed = hash_password(password)
    now = clock.utc()
    store.operators.add("demo", hashed, now)
    for entry in ENTRIES:
        store.teams.add(entry.team, hashed, now, entry.affiliation)
    over = [entry for entry in ENTRIES if entry not in WAITING]
    attempts = [*over, *(entry for entry in over if entry.team in (VOIDED, AGAIN))]
    truth = read_ground_truth(contest.test_set.folder)
    for place, entry in enumerate(attempts):
        _record_run(contest, entry, truth, now - PAUSE * (len(attempts) - place), place)
    for run in store.runs.find(RunState.CLOSED):
        judge_with_interval(contest, run.id, clock)
    voided = store.runs.find(team=VOIDED)[0].id
    reason = "the mains failed in the hall"
    with store.log.act(
        now, voided, operator="demo", action="void", reason=reason
    ) as under_way:
        store.runs.change(
            voided,
            (RunState.JUDGED,),
            act=under_way,
            state=RunState.VOID.value,
            void_reason=reason,
        )
    store.queue.change(lambda _: list(NEXT[:QUEUED]))
    store.announcements.add(
        "demo", "This is a demo: a rehearsed contest day with invented teams.", now
    )


def _guesses(
    entry: Entry, truth: GroundTruth, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the detections of a team: rows (n, 7) with the test set's image numbers.

    A team that finds nothing gets random boxes.
    """
    size = truth.boxes.max(axis=0)[2:]
    corner = rng.uniform(0, 0.6, (BLIND_ROWS, 2)) * size
    image = rng.choice(truth.image_ids, BLIND_ROWS)
    category = rng.choice(truth.category, BLIND_ROWS)
    blind = np.column_stack(
        [image, category, rng.random(BLIND_ROWS), corner, corner + 0.3 * size]
    )
    if not entry.found:
        return blind
    found = truth.of_objects(rng.random(len(truth.image)) < entry.found)
    sides = np.tile(found.boxes[:, 2:] - found.boxes[:, :2] + 1, 2)
    boxes = found.boxes + rng.normal(0, entry.shake, sides.shape) * sides
    boxes[:, 2:] = np.maximum(boxes[:, 2:], boxes[:, :2] + 1)
    is_right = rng.random(len(boxes)) < 0.5 + entry.found / 2
    category = np.where(
        is_right, found.category, rng.choice(truth.category, len(boxes))
    )
    confidence = np.clip(rng.normal(0.5 + 0.3 * is_right, 0.15), 0.01, 0.99)
    blind[:, 2] *= 0.4
    rows = np.column_stack([found.image, category, confidence, np.maximum(boxes, 0)])
    return np.concatenate([rows, blind[: len(rows) // 3]]).round(4)


def _record_run(
    contest: Contest, entry: Entry, truth: GroundTruth, start: datetime, seed: int
) -> None:
    store = contest.store
    rng = np.random.default_rng(seed)
    order = rng.permutation(truth.image_ids)
    station = contest.config.stations[seed % 2].name
    new = _new_run(contest, entry, station, len(order))
    run = store.runs.arm(new, start, order).id
    rows = _guesses(entry, truth, rng)
    rows[:, 0] = np.argsort(order)[rows[:, 0].astype(int) - 1] + 1
    _record_posts(contest, run, entry, rows, len(order), start)
    readings = list(_readings(entry, start, rng))
    store.readings.append(run, 0.0, readings)
    closed = start + timedelta(seconds=entry.lasts_s)
    store.log.append(start, run, "open")
    store.log.append(closed, run, "closed", start_stop_s=START_STOP_S)
    energy_wh = readings[-1].energy_wh
    if entry.team == IN_REVIEW:
        energy_wh *= TOO_MUCH
    store.runs.change(
        run,
        (RunState.ARMED,),
        state=RunState.CLOSED.value,
        opened_utc=start.isoformat(),
        start_s=0.0,
        closed_utc=closed.isoformat(),
        closed_by="logout",
        elapsed_s=entry.lasts_s,
        energy_wh=energy_wh,
        integrator_s=entry.lasts_s,
        meter_changes=(),
    )


def _new_run(contest: Contest, entry: Entry, station: str, images: int) -> Run:
    config = contest.config
    setup = config.setup(station, config.window_s)
    return Run(
        id=0,
        team=entry.team,
        station=station,
        state=RunState.ARMED,
        armed_utc="",
        testset_digest=contest.test_set.digest,
        images=images,
        window_s=config.window_s,
        setup=setup,
        rules=rules_now(config, contest.test_set, setup, extra_s=0),
        meter_identity=METER,
        meter_standing=Standing.OFFICIAL,
    )


def _record_posts(
    contest: Contest,
    run: int,
    entry: Entry,
    rows: NDArray[np.float64],
    images: int,
    start: datetime,
) -> None:
    """Store the served images and the posts of a run.

    POSTS posts share its rows (n, 7); the last one precedes the log-out.
    """
    store = contest.store
    last_s = entry.lasts_s - LOG_OUT_S
    edges_s = np.linspace(entry.loads_s, last_s, POSTS + 1).tolist()
    fetched_s = edges_s[:-1]
    posts_s = edges_s[1:]
    batches = np.array_split(np.arange(1, images + 1), POSTS)
    for fetch_s, at_s, numbers in zip(fetched_s, posts_s, batches, strict=True):
        served = [(number, IMAGE_BYTES) for number in numbers.tolist()]
        store.served.append(run, served, fetch_s)
        refused = Refused()
        if entry.team == WITH_REFUSED_ROWS and at_s == posts_s[3]:
            refused = REFUSED
        its_rows = rows[np.isin(rows[:, 0], numbers)]
        store.posts.append(
            run,
            (its_rows, refused),
            sha256=f"{run}-{at_s}",
            idempotency_key=None,
            elapsed_s=at_s,
            now=start + timedelta(seconds=at_s),
        )


def _readings(
    entry: Entry, start: datetime, rng: np.random.Generator
) -> Iterator[Reading]:
    """Yield one reading a second: first while the model is loaded, then while images are processed.

    The power varies with the content of the images.
    """
    times_s = np.arange(0.0, entry.lasts_s + 0.5)
    busy = np.where(times_s < entry.loads_s, LOADING, 1.0)
    powers_w = IDLE_W + busy * (entry.power_w - IDLE_W) * rng.normal(
        1, 0.08, len(times_s)
    )
    sums_wh = (
        np.concatenate([[0.0], np.cumsum((powers_w[1:] + powers_w[:-1]) / 2)]) / 3600
    )
    for at_s, power_w, energy_wh in zip(
        times_s.tolist(), powers_w.tolist(), sums_wh.tolist(), strict=True
    ):
        yield Reading(
            monotonic_s=at_s,
            utc=start + timedelta(seconds=at_s),
            voltage_v=VOLTAGE_V,
            current_a=power_w / VOLTAGE_V,
            apparent_va=power_w,
            power_w=power_w,
            power_factor=1.0,
            energy_wh=energy_wh,
            integrator_s=at_s,
            state=IntegratorState.START,
            over_range=False,
            voltage_peak_over=False,
            current_peak_over=False,
        )
