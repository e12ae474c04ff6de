"""Each moment of a replay, computed again from the rows of the database: power, energy, mAP, score, boxes, counts."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lpirc_score import Detections, evaluate
from lpirc_testsets import read_ground_truth
from referee.clock import Clock
from referee.judging.judge import judge
from referee.judging.replay import MOST_STEPS, replay_of
from referee.store.records import RunState
from tests.contest_day import shared
from tests.referee.factories import START, House, reading
from tests.referee.judging.sent_runs import closed_run, guesses

RECORDING = "wt310_readings_user_330.csv"


def rows_of(folder: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(folder / "contest.db")) as database:
        return database.execute(query).fetchall()


def played(hall: House, number: int) -> dict[str, Any]:
    run = hall.store.runs.change(
        number,
        (RunState.JUDGED,),
        opened_utc=START.isoformat(),
    )
    return replay_of(hall.contest, run, START)


def newest(times: list[float], values: list[Any], at_s: float) -> Any:
    """What the player shows at a moment: the value of the last time that is not later."""
    return values[np.searchsorted(times, at_s, side="right") - 1]


def test_boxes_and_counts_come_when_their_posts_came(
    build: Callable[..., House],
) -> None:
    hall = build()
    run = closed_run(hall.contest, guesses(hall.contest, 0.8))
    judge(hall.contest, run.id, Clock())
    found = played(hall, run.id)
    posts = rows_of(hall.folder, "SELECT elapsed_s, rows FROM posts ORDER BY id")
    expected = []
    for at_s, blob in posts:
        rows = np.frombuffer(blob, "<f8").reshape(-1, 7)
        expected += [(at_s, int(row[0]), int(row[1]), round(row[3])) for row in rows]
    boxes = found["boxes"]
    images = [found["frames"]["image"][frame] for frame in boxes["frame"]]
    columns = (boxes["at_s"], images, boxes["category"], boxes["x"])
    assert sorted(zip(*columns, strict=True)) == sorted(expected)

    steps = found["steps"]
    for at_s in (0.0, 0.9, 1.5, 7.0):
        by_then = sum(one[0] <= at_s for one in expected)
        shown = newest(steps["at_s"], steps["detections"], at_s)
        assert shown == by_then


def test_each_map_and_score_is_that_of_the_rows_and_the_energy_until_then(
    build: Callable[..., House],
) -> None:
    hall = build()
    run = closed_run(hall.contest, guesses(hall.contest, 0.8))
    judge(hall.contest, run.id, Clock())
    found = played(hall, run.id)
    truth = read_ground_truth(hall.contest.test_set.folder)
    posts = rows_of(hall.folder, "SELECT elapsed_s, rows FROM posts ORDER BY id")
    readings = rows_of(hall.folder, "SELECT elapsed_s, energy_wh FROM readings")
    reading_s, wh = np.array(readings).T
    moments = found["moments"]
    assert moments["at_s"] == [1.0, 2.0, 10.0]
    images = len(truth.image_ids)
    for place, at_s in enumerate(moments["at_s"]):
        parts = [
            np.frombuffer(blob, "<f8").reshape(-1, 7)
            for when_s, blob in posts
            if when_s <= at_s
        ]
        sent = np.concatenate(parts)
        sent[:, 0] = images + 1 - sent[:, 0]  # it was served in reverse
        sent = sent[np.argsort(sent[:, 0], kind="stable")]
        reached = evaluate(truth, Detections.from_rows(sent), "lpirc").map
        assert moments["map"][place] == pytest.approx(reached, rel=1e-5)
        if moments["score"][place] is not None:
            energy_wh = np.interp(at_s, reading_s, wh)
            score = reached / energy_wh
            assert moments["score"][place] == pytest.approx(score, rel=1e-5)
    assert moments["score"][-1] == pytest.approx(found["final"]["score"], rel=1e-5)


def test_power_and_energy_of_the_meter_of_2015_are_those_of_its_readings(
    build: Callable[..., House],
) -> None:
    with shared("lpirc2015", RECORDING).open(newline="") as lines:
        recorded = np.array([[float(one) for one in row] for row in csv.reader(lines)])
    volt, ampere, watt, watt_hours, second = recorded[1:].T
    second = second - second[0]
    watt_hours = watt_hours - watt_hours[0]
    end_s = float(second[-1])

    hall = build()
    run = closed_run(hall.contest, guesses(hall.contest, 0.8))
    columns = zip(second, volt, ampere, watt, watt_hours, strict=True)
    readings = [
        reading(
            at_s,
            voltage_v=its_volt,
            current_a=its_ampere,
            power_w=its_watt,
            energy_wh=its_wh,
        )
        for at_s, its_volt, its_ampere, its_watt, its_wh in columns
    ]
    with closing(sqlite3.connect(hall.folder / "contest.db")) as database, database:
        database.execute("DELETE FROM readings")
    hall.store.readings.append(run.id, 0.0, readings)
    hall.store.runs.change(
        run.id,
        (RunState.CLOSED,),
        elapsed_s=end_s,
        integrator_s=end_s,
        energy_wh=float(watt_hours[-1]),
    )
    judge(hall.contest, run.id, Clock())
    steps = played(hall, run.id)["steps"]

    for at_s, shown_wh in zip(steps["at_s"], steps["energy_wh"], strict=True):
        known_wh = float(np.interp(at_s, second, watt_hours))
        assert shown_wh == pytest.approx(known_wh, rel=1e-4, abs=1e-5)
    known = [one for one in steps["power_w"] if one is not None]
    part_s = run.window_s / MOST_STEPS
    times = steps["power_at_s"]
    for at_s, shown_w in zip(times, steps["power_w"], strict=True):
        if shown_w is None:
            continue
        is_near = np.abs(second - at_s) <= part_s + 0.05
        assert watt[is_near].min() - 1e-3 <= shown_w <= watt[is_near].max() + 1e-3
    assert np.mean(known) == pytest.approx(watt.mean(), rel=0.05)


def test_no_power_is_shown_while_the_meter_was_not_read(
    build: Callable[..., House],
) -> None:
    hall = build()
    run = closed_run(hall.contest, guesses(hall.contest, 0.8))
    with closing(sqlite3.connect(hall.folder / "contest.db")) as database, database:
        database.execute("DELETE FROM readings WHERE elapsed_s > 3 AND elapsed_s < 7")
    judge(hall.contest, run.id, Clock())
    found = played(hall, run.id)
    steps = found["steps"]
    shown = [newest(steps["power_at_s"], steps["power_w"], at) for at in (2, 5, 9)]
    assert shown[0] == shown[2] == pytest.approx(36.0, abs=0.01)
    assert shown[1] is None
    assert any("was not read for 4." in one for one in found["missing"])
