"""A rehearsed contest day for `referee demo`: the same figures each time, through the real store and the real judge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from power.meter import IntegratorState, Reading, Standing
from referee.auth.passwords import hash_password
from referee.clock import Clock
from referee.contest import Contest
from referee.detections.rows import Refused
from referee.judging.uncertainty import judge_with_interval
from referee.store.records import Run, RunState
from testsets import GroundTruth, read_ground_truth

PAUSE = timedelta(minutes=6)  # between the starts of two runs
POSTS = 10  # of a run
BLIND_ROWS = 100
METER = "YOKOGAWA WT310 C0DEMO016V F1.03"
VOLTAGE_V = 120.0


@dataclass(frozen=True)
class Entry:
    """A team, and how its run goes: the share of objects found, how exactly, the mean power in W and the time in s."""

    team: str
    affiliation: str
    found: float
    shake: float = 0.06  # of a box's sides
    power_w: float = 6.0
    lasts_s: float = 90.0


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
    Entry("Nimbus", "Nimbus Student Team", 0.0, power_w=2.2, lasts_s=4.0),
    Entry("Onyx", "Onyx Polytechnic", 0.76, 0.06, 5.8, 90.0),
    Entry("Puffin", "Island School of Engineering", 0.68, 0.07, 4.2, 101.0),
)
WAITING = ENTRIES[-2:]  # they have not run yet
VOIDED, AGAIN, IN_REVIEW, WITH_REFUSED_ROWS = "Cobalt", "Birchwood", "Heron", "Kestrel"


def record_day(contest: Contest, password: str, clock: Clock) -> None:
    """Fill a new contest: teams and an operator with this password, judged runs, a queue, an announcement."""
    store, hashed, now = contest.store, hash_password(password), clock.utc()
    store.add_operator("demo", hashed, now)
    for entry in ENTRIES:
        store.add_team(entry.team, hashed, now, entry.affiliation)
    over = [entry for entry in ENTRIES if entry not in WAITING]
    attempts = [*over, *(entry for entry in over if entry.team in (VOIDED, AGAIN))]
    truth = read_ground_truth(contest.test_set.folder)
    for place, entry in enumerate(attempts):
        _record_run(contest, entry, truth, now - PAUSE * (len(attempts) - place), place)
    for run in store.runs(RunState.CLOSED):
        judge_with_interval(contest, run.id, clock)
    voided = store.runs(team=VOIDED)[0].id
    store.change_run(
        voided, (RunState.JUDGED,), state=RunState.VOID.value, void_reason="the mains failed in the hall"
    )
    store.log_event(now, voided, "void", reason="the mains failed in the hall")
    store.change_queue(lambda _: [*(entry.team for entry in WAITING), "Eider", "Larch", "Garnet"])
    store.announce("demo", "This is a demo: a rehearsed contest day with invented teams.", now)


def guesses(entry: Entry, truth: GroundTruth, seed: int) -> NDArray[np.float64]:
    """What a team's detector finds: rows (n, 7) in test-set numbers, ordered by image."""
    rng = np.random.default_rng(seed)
    if not entry.found:
        return _blind(truth, rng)
    kept = rng.random(len(truth.image)) < entry.found
    boxes, categories = truth.boxes[kept], np.unique(truth.category)
    sides = np.tile(boxes[:, 2:] - boxes[:, :2] + 1, 2)
    shaken = boxes + rng.normal(0, entry.shake, boxes.shape) * sides
    shaken[:, 2:] = np.maximum(shaken[:, 2:], shaken[:, :2] + 1)
    is_right = rng.random(len(boxes)) < 0.5 + entry.found / 2
    category = np.where(is_right, truth.category[kept], rng.choice(categories, len(boxes)))
    confidence = np.clip(rng.normal(0.5 + 0.3 * is_right, 0.15), 0.01, 0.99)
    found = np.column_stack([truth.image[kept], category, confidence, np.maximum(shaken, 0)])
    rows = np.concatenate([found, _blind(truth, rng)[: len(found) // 3] * [1, 1, 0.4, 1, 1, 1, 1]])
    return rows[np.argsort(rows[:, 0], kind="stable")].round(4)


def _blind(truth: GroundTruth, rng: np.random.Generator) -> NDArray[np.float64]:
    size = truth.boxes.max(axis=0)[2:]
    corner = rng.uniform(0, 0.6, (BLIND_ROWS, 2)) * size
    image, category = rng.choice(truth.image_ids, BLIND_ROWS), rng.choice(truth.category, BLIND_ROWS)
    return np.column_stack([image, category, rng.random(BLIND_ROWS), corner, corner + 0.3 * size])


def _record_run(contest: Contest, entry: Entry, truth: GroundTruth, start: datetime, seed: int) -> None:
    store, station, images = contest.store, contest.config.stations[seed % 2].name, len(truth.image_ids)
    rng, config = np.random.default_rng([seed, 7]), contest.config
    order = rng.permutation(truth.image_ids)
    new = Run(
        id=0,
        team=entry.team,
        station=station,
        state=RunState.ARMED,
        armed_utc="",
        testset_digest=contest.test_set.digest,
        images=images,
        window_s=config.window_s,
        setup=config.setup(station, config.window_s),
        meter_identity=METER,
        meter_standing=Standing.OFFICIAL,
        nonce=f"{seed:016x}",
    )
    run = store.arm_run(new, start, lambda _: order)
    rows = guesses(entry, truth, seed)
    rows[:, 0] = np.argsort(order)[rows[:, 0].astype(int) - 1] + 1
    ends = np.linspace(1.0, entry.lasts_s - 1.0, POSTS)
    for at_s, numbers in zip(ends, np.array_split(np.arange(1, images + 1), POSTS), strict=True):
        store.log_served(run.id, [(int(number), 20_000) for number in numbers], at_s - 0.5)
        body = rows[np.isin(rows[:, 0], numbers)]
        is_odd = entry.team == WITH_REFUSED_ROWS and at_s == ends[3]
        refused = Refused(2, ((3, "xmin is not a number", "nan"), (7, "image 99 is unknown", "99")))
        taken = (body, refused) if is_odd else body
        when = start + timedelta(seconds=at_s)
        store.append_post(
            run.id, taken, sha256=f"{run.id}-{at_s}", idempotency_key=None, elapsed_s=at_s, now=when
        )
    readings = list(_readings(entry, start, rng))
    store.append_readings(run.id, 0.0, readings)
    wrong = 1.12 if entry.team == IN_REVIEW else 1.0
    for kind, at_s in (("open", 0.0), ("closed", entry.lasts_s)):
        store.log_event(start + timedelta(seconds=at_s), run.id, kind)
    store.change_run(
        run.id,
        (RunState.ARMED,),
        state=RunState.CLOSED.value,
        opened_utc=start.isoformat(),
        start_s=0.0,
        closed_utc=(start + timedelta(seconds=entry.lasts_s)).isoformat(),
        closed_by="logout",
        elapsed_s=entry.lasts_s,
        energy_wh=readings[-1].energy_wh * wrong,
        integrator_s=entry.lasts_s,
        meter_changes=(),
    )


def _readings(entry: Entry, start: datetime, rng: np.random.Generator) -> Iterator[Reading]:
    """Idle, busy with images that differ, and idle again; one a second."""
    times_s = np.arange(0.0, entry.lasts_s + 0.5)
    busy = np.clip(np.minimum(times_s, entry.lasts_s - times_s) / 2, 0, 1)
    powers_w = 1.9 + busy * (entry.power_w - 1.9) * rng.normal(1, 0.08, len(times_s))
    sums_wh = np.concatenate([[0.0], np.cumsum((powers_w[1:] + powers_w[:-1]) / 2)]) / 3600
    for at_s, power_w, energy_wh in zip(times_s.tolist(), powers_w.tolist(), sums_wh.tolist(), strict=True):
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


def write_recording(path: Path, entry: Entry, truth: GroundTruth, seed: int) -> None:
    """Write a team's guesses as a recording for `lpirc-client replay`."""
    rows = guesses(entry, truth, seed)
    lines = (f"{int(row[0])},{int(row[1])},{','.join(f'{value:g}' for value in row[2:])}" for row in rows)
    path.write_text("image,class,confidence,xmin,ymin,xmax,ymax\n" + "\n".join(lines) + "\n")
