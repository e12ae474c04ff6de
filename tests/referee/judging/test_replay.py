"""The replay of a run: what happened when, by the figures of others, bounded, and honest about what is not known."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lpirc_testsets import TestSet
from referee.clock import Clock
from referee.contest import Contest
from referee.judging import replay, replay_frames
from referee.judging.judge import judge
from referee.judging.replay import replay_of
from referee.judging.run_figures import figures_of
from referee.judging.score_explanation import regret_of
from referee.store.records import ENERGY_LOST, Run, RunState
from tests.referee.factories import START, House, stored_run
from tests.referee.judging.sent_runs import closed_run, guesses

NOW = START


def replayed(hall: House, run: Run) -> dict[str, Any]:
    """The replay of the run as it is stored now; JSON can say all of it."""
    found = replay_of(hall.contest, hall.store.runs.get(run.id), NOW)
    document: dict[str, Any] = json.loads(json.dumps(found, allow_nan=False))
    return document


def judged_run(hall: House, **more: Any) -> Run:
    run = closed_run(hall.contest, guesses(hall.contest, 0.8), **more)
    judge(hall.contest, run.id, Clock())
    opened = {"opened_utc": START.isoformat()}
    return hall.store.runs.change(run.id, (RunState.JUDGED,), **opened)


def test_a_replay_has_each_image_and_box_when_it_came_and_the_figures_of_the_judge(
    build: Callable[..., House],
) -> None:
    hall = build()
    run = judged_run(hall)
    found = replayed(hall, run)
    assert found["missing"] == []
    assert found["elapsed_s"] == 10.0
    assert found["frames"]["image"] == [1, 2, 3, 4, 5]
    assert found["frames"]["served_s"] == [0.5] * 5
    assert set(found["frames"]["answered_s"]) <= {1.0, 2.0}
    assert found["posts"]["at_s"] == [1.0, 2.0]

    sent = hall.store.posts.detections(run.id)
    assert sum(found["posts"]["rows"]) == len(sent) == len(found["boxes"]["frame"])
    arrived = sorted(zip(found["boxes"]["frame"], found["boxes"]["x"], strict=True))
    rows = sorted((int(row[0]) - 1, round(row[3])) for row in sent)
    assert arrived == rows
    assert found["boxes"]["at_s"] == sorted(found["boxes"]["at_s"])

    judged = hall.store.scores.latest(run.id)
    assert judged is not None
    assert found["final"]["score"] == judged.score
    regret = regret_of(hall.contest, run, judged)
    assert regret is not None
    assert found["moments"]["map"] == pytest.approx(regret.map, rel=1e-5)
    assert found["moments"]["map"][-1] == pytest.approx(judged.map, rel=1e-5)
    assert found["steps"]["answered"][-1] == found["steps"]["served"][-1] == 5
    assert found["steps"]["energy_wh"][-1] == pytest.approx(run.energy_wh, rel=1e-5)


def test_a_replay_shows_each_image_by_the_number_that_the_team_knows(
    build: Callable[..., House],
) -> None:
    hall = build()
    run = judged_run(hall)
    order = hall.store.runs.image_order(run.id)
    images = hall.contest.test_set.images
    found = replayed(hall, run)["frames"]
    widths = [images[order[number - 1] - 1].width for number in found["image"]]
    assert found["width"] == widths


def test_an_unknown_moment_has_no_score(build: Callable[..., House]) -> None:
    hall = build()
    run = judged_run(hall)
    judged = hall.store.scores.latest(run.id)
    assert judged is not None
    regret = regret_of(hall.contest, run, judged)
    assert regret is not None
    shown = [one is not None for one in replayed(hall, run)["moments"]["score"]]
    assert shown == regret.is_known.tolist()


def without_readings(hall: House) -> Run:
    record = {
        "images": 5,
        "testset_digest": hall.contest.test_set.digest,
        "opened_utc": START.isoformat(),
    }
    run = stored_run(hall.store, **record)
    hall.store.served.append(run.id, [(1, 10)], 0.5)
    over = {"state": "closed", "elapsed_s": 6.0}
    return hall.store.runs.change(run.id, (RunState.ARMED,), **over)


def test_a_run_without_readings_and_posts_is_played_and_says_what_is_missing(
    build: Callable[..., House],
) -> None:
    hall = build()
    found = replayed(hall, without_readings(hall))
    assert found["missing"] == [
        replay.NO_READINGS,
        replay.NO_POSTS,
        replay.NOT_JUDGED,
    ]
    assert found["elapsed_s"] == 6.0
    assert found["steps"]["energy_wh"] == found["steps"]["power_w"] == []
    assert found["frames"]["answered_s"] == [None]
    assert found["left_out"]["least_confidence"] is None


def test_a_run_that_never_opened_has_nothing_to_play(
    build: Callable[..., House],
) -> None:
    hall = build()
    found = replayed(hall, stored_run(hall.store))
    assert found["missing"] == [replay.NEVER_OPENED]
    assert found["elapsed_s"] == 0.0
    assert found["frames"]["image"] == []


def test_a_void_run_is_played_with_its_reason_and_an_open_one_up_to_its_last_record(
    build: Callable[..., House],
) -> None:
    hall = build()
    run = judged_run(hall)
    void = {"state": "void", "void_reason": "the board fell"}
    hall.store.runs.change(run.id, (RunState.JUDGED,), **void)
    found = replayed(hall, run)
    assert found["missing"][0] == "This run is void: the board fell"
    assert len(found["boxes"]["frame"])

    again = {"state": "open", "elapsed_s": None, "energy_wh": None}
    hall.store.runs.change(run.id, (RunState.VOID,), **again)
    found = replayed(hall, run)
    assert found["missing"] == [replay.STILL_OPEN]
    assert found["elapsed_s"] == 10.0, "the last reading"


def test_a_lost_energy_is_named(build: Callable[..., House]) -> None:
    hall = build()
    run = judged_run(hall)
    hall.store.log.append(START, run.id, ENERGY_LOST, code="meter-reset", elapsed_s=4.0)
    lost = hall.store.runs.change(run.id, (RunState.JUDGED,), energy_wh=None)
    missing = " ".join(replayed(hall, lost)["missing"])
    assert "seen 4 s into its window" in missing
    assert replay.NO_ENERGY_COURSE in missing
    assert replay.NOT_JUDGED in missing, "the judgement has another energy"


def test_with_another_test_set_no_image_is_taken_for_another(
    build: Callable[..., House],
) -> None:
    hall = build()
    run = judged_run(hall)
    other = {"testset_digest": "e" * 64, "images_digest": "f" * 64}
    hall.store.runs.change(run.id, (RunState.JUDGED,), **other)
    found = replayed(hall, run)
    assert replay.OTHER_TEST_SET in found["missing"]
    assert found["categories"] == {}
    assert found["frames"]["width"] == []
    assert len(found["boxes"]["frame"]), "the boxes came all the same"
    assert found["moments"]["map"] == []
    assert replay.NO_SCORE_COURSE in found["missing"]


def test_a_replay_is_bounded_and_says_how_much_it_leaves_out(
    build: Callable[..., House],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hall = build()
    run = judged_run(hall)
    whole = replayed(hall, run)
    monkeypatch.setattr(replay_frames, "MOST_FRAMES", 3)
    monkeypatch.setattr(replay_frames, "MOST_BOXES_EACH", 2)
    monkeypatch.setattr(replay_frames, "MOST_BOXES", 4)
    found = replayed(hall, run)
    assert found["frames"]["image"] == [1, 3, 5], "evenly spaced"
    assert found["left_out"]["images"] == 2
    assert len(found["boxes"]["frame"]) == 4
    of_these = [0, 2, 4]
    before = sum(one in of_these for one in whole["boxes"]["frame"])
    assert found["left_out"]["boxes"] == before - 4
    assert min(found["boxes"]["confidence"]) >= (
        found["left_out"]["least_confidence"] - 0.01
    )
    assert found["steps"]["served"][-1] == 5, "counts are those of the run"


def test_hostile_corners_stay_numbers_that_a_page_can_draw(
    build: Callable[..., House],
) -> None:
    hall = build()
    run = stored_run(hall.store, images=5)
    far = np.array([[1.0, 1.0, 0.5, -1e300, 0.0, 1e300, 5.0]])
    hall.store.served.append(run.id, [(1, 10)], 0.0)
    sent: dict[str, Any] = {"sha256": "", "idempotency_key": None}
    hall.store.posts.append(run.id, far, elapsed_s=1.0, now=START, **sent)
    found = replayed(hall, run)["boxes"]
    assert found["x"] == [-100_000]
    assert found["width"] == [200_001]


def test_the_final_figures_are_those_that_all_pages_show(
    build: Callable[..., House],
) -> None:
    hall = build()
    run = judged_run(hall)
    shown = figures_of(hall.contest, run, NOW)
    final = replayed(hall, run)["final"]
    assert final["map"] == shown.map
    assert final["needs_review"] == shown.needs_review


def test_a_metric_without_one_threshold_has_no_course_of_its_map(
    build: Callable[..., House],
    small_set: TestSet,
) -> None:
    hall = build(metric="coco")
    assert len(small_set.images) == 5
    run = judged_run(hall)
    contest: Contest = replace(hall.contest)
    assert replay.OTHER_METRIC in replay_of(contest, run, NOW)["missing"]
