"""Closed runs of teams that found more or less of a test set, for what is told of them."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lpirc_testsets import read_ground_truth
from referee.contest import Contest
from referee.store.records import Run, RunState
from tests.referee.factories import START, TEAM, run_record, steady_readings


def guesses(
    contest: Contest,
    found: float,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Rows (n, 7) by the test set's numbers: this part of the objects, a little beside, and some false ones."""
    truth = read_ground_truth(contest.test_set.folder)
    rng = np.random.default_rng(seed)
    right = np.where(
        rng.random(len(truth.image)) < found,
        truth.category,
        truth.category % 3 + 1,
    )
    boxes = truth.boxes + rng.uniform(0, 1.5, (len(truth.image), 1))
    return np.column_stack(
        [truth.image, right, rng.uniform(0.1, 1, len(truth.image)), boxes]
    )


def closed_run(
    contest: Contest,
    rows: NDArray[np.float64],
    *,
    team: str = TEAM,
    served: int | None = None,
    energy_wh: float = 0.1,
) -> Run:
    """A closed run whose team sent `rows` in two posts, its images in reverse order, the first `served` of them served.

    It is measured for ten seconds.
    """
    store = contest.store
    images = len(contest.test_set.images)
    if team not in store.teams.all():
        store.teams.add(team, "no hash", START)
    record = run_record(
        team=team,
        images=images,
        testset_digest=contest.test_set.digest,
        images_digest=contest.test_set.images_digest,
    )
    run = store.runs.arm(record, START, np.arange(images, 0, -1))
    store.served.append(
        run.id,
        [(image, 1000) for image in range(1, (served or images) + 1)],
        0.5,
    )
    teams = rows.copy()
    teams[:, 0] = images + 1 - teams[:, 0]
    for elapsed_s, part in enumerate(np.array_split(teams, 2), start=1):
        store.posts.append(
            run.id,
            part,
            sha256=hashlib.sha256(part.tobytes()).hexdigest(),
            idempotency_key=None,
            elapsed_s=float(elapsed_s),
            now=START,
        )
    ranges = {"voltage_range_v": 150.0, "current_range_a": 0.5}
    readings = [
        replace(one, **ranges) for one in steady_readings(energy_wh, 10.0, each_s=0.1)
    ]
    store.readings.append(run.id, 0.0, readings)
    store.log.append(START, run.id, "opened", sentence="The window is open.")
    figures = {
        "start_s": 0.0,
        "elapsed_s": 10.0,
        "energy_wh": energy_wh,
        "integrator_s": 10.0,
    }
    return store.runs.change(
        run.id,
        (RunState.ARMED,),
        state="closed",
        meter_changes=(),
        **figures,
    )
