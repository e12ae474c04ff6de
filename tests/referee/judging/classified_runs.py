"""Closed runs of teams that classified more or less of a test set's images rightly."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lpirc_score.tasks.taken_answers import TakenAnswers
from lpirc_testsets.task_truth import read_class_truth
from referee.contest import Contest
from referee.runs.arming import rules_now
from referee.store.records import Run, RunState
from tests.referee.factories import START, TEAM, run_record, steady_readings

Answered = list[tuple[int, list[int]]]
"""Test-set images and their classes."""


def classes(contest: Contest, right: int, five: int = 0) -> Answered:
    """The first `right` images at once, the next `five` in the second place, all others wrongly."""
    categories, labels = read_class_truth(contest.test_set)
    ids = [one.id for one in categories]
    answered = []
    for image, label in sorted(labels.items()):
        other = next(one for one in ids if one != label)
        named = [label] if image <= right else [other]
        if right < image <= right + five:
            named = [other, label]
        answered.append((image, named))
    return answered


def closed_run(
    contest: Contest,
    answered: Answered,
    *,
    team: str = TEAM,
    served: Sequence[int] | None = None,
    energy_wh: float = 0.1,
) -> Run:
    """A closed run that answered in two posts; `served` are the team's numbers of the served images, all by default."""
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
    rules = rules_now(contest.config, contest.test_set, record.setup, 0)
    run = store.runs.arm(replace(record, rules=rules), START, np.arange(images, 0, -1))
    shown = range(1, images + 1) if served is None else served
    store.served.append(run.id, [(image, 1000) for image in shown], 0.5)
    half = len(answered) // 2
    for elapsed_s, part in enumerate((answered[:half], answered[half:]), start=1):
        given = [[images + 1 - image, named] for image, named in part]
        body = json.dumps(given).encode()
        store.posts.append(
            run.id,
            TakenAnswers([images + 1 - image for image, _ in part], is_once=True),
            sha256=hashlib.sha256(body).hexdigest(),
            idempotency_key=None,
            elapsed_s=float(elapsed_s),
            now=START,
            content_type="application/json",
            body=body,
        )
    ranges = {"voltage_range_v": 150.0, "current_range_a": 0.5}
    readings = [
        replace(one, **ranges) for one in steady_readings(energy_wh, 10.0, each_s=0.1)
    ]
    store.readings.append(run.id, 0.0, readings)
    store.log.append(START, run.id, "opened", sentence="The window is open.")
    return store.runs.change(
        run.id,
        (RunState.ARMED,),
        state="closed",
        meter_changes=(),
        start_s=0.0,
        elapsed_s=10.0,
        energy_wh=energy_wh,
        integrator_s=10.0,
    )
