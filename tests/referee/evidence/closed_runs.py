"""Closed runs with the bodies that their teams sent, as the server leaves them in the store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpirc_power.meter import Reading
from lpirc_power.meter_standing import Standing
from lpirc_score.detections.parsed_rows import Taken
from lpirc_score.tasks.taken_answers import TakenAnswers
from lpirc_testsets import read_ground_truth
from referee.clock import Clock
from referee.contest import Contest
from referee.evidence.accepted_rows import rows_of
from referee.judging.judge import judge
from referee.store import NewPost
from referee.store.event_chain import Event
from referee.store.records import RUN_CLOSED, Run, RunState
from tests.referee.factories import START, reading, stored_run

WINDOW_S = 60.0


def closed_with_bodies(
    contest: Contest,
    bodies: Sequence[tuple[bytes, str]],
    *,
    unserved: int = 0,
    readings: Sequence[Reading] = (),
    **different: Any,
) -> Run:
    """A run of the whole test set, served in its order but for the last ones, with these bodies and their types.

    Its energy of record is that of its last reading.
    """
    store = contest.store
    test_set = contest.test_set
    images = len(test_set.images)
    ids = np.array([one.id for one in test_set.categories])
    about = {
        "testset_digest": test_set.digest,
        "images_digest": test_set.images_digest,
        "images": images,
    }
    fixed = {"nonce": "0123456789abcdef", "meter_standing": Standing.OFFICIAL}
    run = stored_run(store, **(about | fixed | different))
    store.log.append(START, run.id, "opened")
    store.served.append(
        run.id,
        [(image, 1000) for image in range(1, images - unserved + 1)],
        0.5,
    )
    for number, (body, content_type) in enumerate(bodies, start=1):
        taken = taken_of(body, content_type, images, ids)
        sha256 = hashlib.sha256(body).hexdigest()
        at_s = WINDOW_S * number / (len(bodies) + 1)
        store.posts.append_post(
            run.id,
            NewPost(
                taken,
                sha256,
                None,
                at_s,
                START + timedelta(seconds=at_s),
                content_type,
                body,
            ),
        )
    taken_by_meter = readings or [
        replace(reading(float(second)), energy_wh=second / 3600) for second in range(61)
    ]
    store.readings.append(run.id, 0.0, taken_by_meter)
    return _closed(contest, run, taken_by_meter[-1])


def taken_of(
    body: bytes,
    content_type: str,
    images: int,
    ids: NDArray[np.int64],
) -> Taken | TakenAnswers:
    """What a referee takes of a body: rows, or of objects like {"image": 1, "classes": [3]} their images."""
    if body.startswith(b"[{"):
        answered = [one["image"] for one in json.loads(body)]
        return TakenAnswers(answered, is_once=True)
    return rows_of(body, content_type, images, ids)


def _closed(contest: Contest, run: Run, last: Reading) -> Run:
    store = contest.store
    store.runs.change(
        run.id,
        (RunState.ARMED,),
        state=RunState.OPEN.value,
        start_s=0.0,
        opened_utc=START.isoformat(),
    )
    of_record: dict[str, Any] = {
        "elapsed_s": WINDOW_S,
        "energy_wh": last.energy_wh,
        "integrator_s": last.integrator_s,
    }
    of_record["meter_changes"] = ()
    detail = {
        "by": "logout",
        "start_stop_s": 0.1,
        **of_record,
        **store.closings.evidence(run.id),
    }
    closed_utc = (START + timedelta(seconds=WINDOW_S)).isoformat()
    changes = {
        "state": RunState.CLOSED.value,
        "closed_utc": closed_utc,
        "closed_by": "logout",
        **of_record,
    }
    return store.runs.change_all(
        {run.id: changes},
        (RunState.OPEN,),
        Event(closed_utc, run.id, RUN_CLOSED, detail),
    )[0]


def judged_run(contest: Contest, **different: Any) -> Run:
    """A run with two bodies, judged."""
    rows = found_boxes(contest)
    run = closed_with_bodies(
        contest,
        [as_json(rows[:5]), as_json(rows[5:])],
        **different,
    )
    judge(contest, run.id, Clock())
    return run


def found_boxes(contest: Contest, seed: int = 0) -> list[list[float]]:
    """Rows for most objects of the test set, about where they are; image numbers are those of the set."""
    truth = read_ground_truth(contest.test_set.folder)
    chance = np.random.default_rng(seed)
    boxes = truth.boxes + chance.integers(0, 3, (len(truth.image), 1))
    rows = np.column_stack(
        [truth.image, truth.category, chance.random(len(boxes)).round(3), boxes]
    )
    found: list[list[float]] = rows[chance.random(len(rows)) < 0.9].tolist()
    return found


def as_json(rows: Sequence[Sequence[float]]) -> tuple[bytes, str]:
    """A body of JSON, and its content type."""
    return json.dumps(rows).encode(), "application/json"
