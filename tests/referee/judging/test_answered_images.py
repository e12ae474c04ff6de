"""The number of answered images: read bit by bit or at once, it is that of a replay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpirc_score.tasks.taken_answers import TakenAnswers
from lpirc_testsets import TestSet
from referee.contest import create_contest, open_contest
from referee.judging.answered_images import AnsweredImages
from referee.judging.replay_frames import sent_in
from referee.judging.run_dossier import dossier_of
from tests.referee.factories import START, House, config_text, stored_run
from tests.referee.judging.classified_runs import closed_run
from tests.referee.judging.judged_runs import opened_run

IMAGES = 6
POSTS = st.lists(st.lists(st.integers(1, IMAGES), max_size=4), max_size=6)


def post(house: House, run: int, images: list[int], at_s: float) -> None:
    found = np.array([[image, 1, 0.5, 0, 0, 5, 5] for image in images], np.float64)
    house.store.posts.append(
        run,
        found.reshape(-1, 7),
        sha256=f"{at_s}",
        idempotency_key=None,
        elapsed_s=at_s,
        now=START,
    )


def test_images_that_were_only_fetched_are_not_answered(
    build: Callable[..., House],
) -> None:
    house = build()
    run = stored_run(house.store, images=IMAGES).id
    answered = AnsweredImages(house.store)
    assert answered.count(run) == 0
    everything = [(image, 1000) for image in (3, 1, 2, 6, 5, 4)]
    house.store.served.append(run, everything, 0.7)
    house.store.served.flush()
    assert answered.count(run) == 0, "all are fetched at once, none is answered"
    post(house, run, [3], 4.0)
    assert answered.count(run) == 1
    post(house, run, [2, 2], 6.0)
    assert answered.count(run) == 3, "the third one served, and those before it"
    post(house, run, [], 7.0)
    post(house, run, [1], 8.0)
    assert answered.count(run) == 3
    seconds = [0.0, 4.0, 5.9, 6.0, 9.0]
    assert answered.by_time(run, seconds) == [0, 1, 1, 3, 3]
    assert AnsweredImages(house.store).by_time(run, seconds) == [0, 1, 1, 3, 3]


def test_any_posts_leave_as_many_answered_as_in_the_replay(
    build: Callable[..., House],
) -> None:
    house = build()
    numbers = iter(range(1000))

    @settings(max_examples=25, deadline=None)
    @given(st.permutations(range(1, IMAGES + 1)), st.integers(0, IMAGES), POSTS)
    def check(order: list[int], late: int, posts: list[list[int]]) -> None:
        run = stored_run(house.store, team=f"team {next(numbers)}", images=IMAGES).id
        images_served = [(one, 1000) for one in order]
        house.store.served.append(run, images_served[late:], 0.5)
        house.store.served.flush()
        step_by_step = AnsweredImages(house.store)
        for number, images in enumerate(posts):
            post(house, run, images, 1.0 + number)
            step_by_step.count(run)
        house.store.served.append(run, images_served[:late], 9.0)
        house.store.served.flush()
        replayed = int(np.isfinite(sent_in(house.store, run).answered_s).sum())
        assert step_by_step.count(run) == replayed
        assert AnsweredImages(house.store).count(run) == replayed

    check()


@pytest.mark.parametrize(
    ("table", "read"),
    [("served", "after"), ("posts", "detections_after"), ("posts", "arrivals")],
)
def test_a_post_that_comes_while_it_looks_is_counted_by_the_next_look(
    build: Callable[..., House], monkeypatch: pytest.MonkeyPatch, table: str, read: str
) -> None:
    """A client may fetch everything and post it at once, and no POST after that one mends the count."""
    house = build()
    run = stored_run(house.store, images=1).id
    answered = AnsweredImages(house.store)
    look = getattr(getattr(house.store, table), read)

    def look_and_meet_a_post(*given: int) -> Any:
        found = look(*given)
        monkeypatch.undo()
        house.store.served.append(run, [(1, 1000)], 0.5)
        post(house, run, [1], 1.0)
        return found

    monkeypatch.setattr(getattr(house.store, table), read, look_and_meet_a_post)
    answered.count(run)
    assert answered.count(run) == 1


def test_the_run_page_s_steps_follow_the_answers(build: Callable[..., House]) -> None:
    house = build()
    run = opened_run(house.contest, "ant")
    answered = AnsweredImages(house.store)
    course = dossier_of(house.contest, run, answered)["course"]
    before = [
        count
        for at_s, count in zip(course["elapsed_s"], course["answered"], strict=True)
        if at_s < 10.0
    ]
    assert set(before) == {0}, "nothing was posted before second 10"
    assert course["answered"][-1] == run.images


def test_a_task_with_one_answer_for_each_image_counts_its_answers(
    tmp_path: Path, small_set: TestSet
) -> None:
    text = config_text(small_set, task="classification")
    create_contest(tmp_path / "day", text)
    with open_contest(tmp_path / "day") as contest:
        run = closed_run(contest, []).id
        answered = AnsweredImages(contest.store)
        assert answered.count(run) == 0
        for at_s, images in ((4.0, [5]), (5.0, [2, 3])):
            contest.store.posts.append(
                run,
                TakenAnswers(images, is_once=True),
                sha256=f"{at_s}",
                idempotency_key=None,
                elapsed_s=at_s,
                now=START,
            )
        assert answered.count(run) == 3, "the fifth, second and third, not five"
        seconds = [3.9, 4.0, 4.9, 5.0]
        assert answered.by_time(run, seconds) == [0, 1, 1, 3]
        answered_s = sent_in(contest.store, run).answered_s
        assert answered_s.tolist() == [np.inf, 5.0, 5.0, np.inf, 4.0]
