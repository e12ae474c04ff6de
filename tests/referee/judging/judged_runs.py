"""Runs with detections and an energy, as a contest leaves them in the store."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from lpirc_power.meter import Setup
from lpirc_testsets import read_ground_truth
from referee.contest import Contest
from referee.store.records import Run, RunState
from tests.referee.factories import START, steady_readings, stored_run

MEASURED_S = 60.0
METER = "YOKOGAWA WT310 C2PH13047V F1.03"
READ_EACH_S = Setup(150.0, 0.5, update_interval_s=1.0, integrator_timer_s=600)
"""A run with this setup has no warning that readings are missed."""


def armed_run(contest: Contest, team: str, **different: Any) -> Run:
    values = {
        "images": len(contest.test_set.images),
        "testset_digest": contest.test_set.digest,
    }
    return stored_run(
        contest.store,
        team=team,
        meter_identity=METER,
        **(values | different),
    )


def opened_run(
    contest: Contest,
    team: str,
    seed: int = 0,
    energy_wh: float = 0.6,
    **different: Any,
) -> Run:
    """An open run with some detections of every image and a minute of readings, in which it took `energy_wh`."""
    run = armed_run(contest, team, **different)
    store = contest.store
    images = range(1, run.images + 1)
    store.served.append(run.id, [(image, 1000) for image in images], 0.5)
    posted(contest, run, seed)
    store.readings.append(run.id, 0.0, steady_readings(energy_wh, MEASURED_S))
    changes = {"start_s": 0.0, "opened_utc": START.isoformat()}
    return store.runs.change(
        run.id,
        (RunState.ARMED,),
        state=RunState.OPEN.value,
        **changes,
    )


def posted(contest: Contest, run: Run, seed: int = 0) -> None:
    """Most objects of the set, found about where they are."""
    truth = read_ground_truth(contest.test_set.folder)
    chance = np.random.default_rng(seed)
    boxes = truth.boxes + chance.integers(0, 2, (len(truth.image), 1))
    found = np.column_stack(
        [truth.image, truth.category, chance.random(len(boxes)), boxes]
    )
    found = found[chance.random(len(found)) < 0.9]
    contest.store.posts.append(
        run.id,
        found,
        sha256=hashlib.sha256(found.tobytes()).hexdigest(),
        idempotency_key=None,
        elapsed_s=10.0,
        now=START,
    )


def closed_run(
    contest: Contest,
    team: str,
    energy_wh: float = 1.0,
    seed: int = 0,
    *,
    odd: bool = False,
    **different: Any,
) -> Run:
    """A closed run of which every check holds; `odd` ones need review: their meter was not asked at the end."""
    run = opened_run(contest, team, seed, energy_wh, **different)
    closed = {"closed_utc": START.isoformat(), "closed_by": "logout"}
    measured = {
        "elapsed_s": MEASURED_S,
        "integrator_s": MEASURED_S,
        "energy_wh": energy_wh,
    }
    if not odd:
        measured["meter_changes"] = ()
    state = RunState.CLOSED.value
    return contest.store.runs.change(
        run.id,
        (RunState.OPEN,),
        state=state,
        **closed,
        **measured,
    )
