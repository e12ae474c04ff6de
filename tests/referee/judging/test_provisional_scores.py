from __future__ import annotations

import logging
import math
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from lpirc_score import METRICS, Evaluation
from lpirc_testsets import GroundTruth, TestSet, read_ground_truth
from referee.clock import Clock
from referee.contest import Contest, open_contest
from referee.errors import StorageFailed
from referee.judging import provisional_scores
from referee.judging.judge import evaluate_rows, judge
from referee.judging.provisional_scores import FollowedRuns, follow
from referee.store import DATABASE_NAME, database
from referee.store.records import Provisional, Run, RunState
from referee.store.run_table import RunTable
from referee.web.live_process import live_scores
from tests.contest_day import contest_day, is_running, processes_naming
from tests.contest_day import until as in_time
from tests.referee.factories import (
    START,
    House,
    StillClock,
    parse_rows,
    reading,
    run_record,
    stored_run,
)
from tests.timeouts import TIMEOUT_S

Build = Callable[..., House]


@pytest.fixture
def contest(build: Build) -> Contest:
    return build().contest


@pytest.fixture
def followed(contest: Contest) -> FollowedRuns:
    return FollowedRuns(contest, Clock())


def open_run(
    contest: Contest,
    served: Sequence[int] | None = None,
    **different: object,
) -> Run:
    """A run that is open in the store, without a meter; it was served every image, or these."""
    images = len(contest.test_set.images)
    values = {"images": images, "testset_digest": contest.test_set.digest} | different
    armed = stored_run(contest.store, **values)
    contest.store.served.append(
        armed.id,
        [(image, 1000) for image in served or range(1, images + 1)],
        0.5,
    )
    return contest.store.runs.change(
        armed.id,
        (RunState.ARMED,),
        state=RunState.OPEN.value,
    )


def close(
    contest: Contest,
    run: Run,
    energy_wh: float | None = 2.0,
) -> None:
    contest.store.runs.change(
        run.id,
        (RunState.OPEN,),
        state=RunState.CLOSED.value,
        energy_wh=energy_wh,
        elapsed_s=10.0,
    )


def found_boxes(
    test_set: TestSet,
    order: NDArray[np.int64],
    seed: int = 0,
) -> list[NDArray[np.float64]]:
    """Posts of a middling detector, with the numbers the team knows; several for each image, mixed."""
    truth = read_ground_truth(test_set.folder)
    chance = np.random.default_rng(seed)
    rows = np.column_stack(
        [
            np.argsort(order)[truth.image - 1] + 1,
            truth.category,
            chance.integers(1, 5, len(truth.image)) / 5,
            truth.boxes + chance.normal(0, 2, truth.boxes.shape).round(),
        ]
    )
    rows[:, 5:] = np.maximum(rows[:, 3:5], rows[:, 5:])
    again = rows[chance.permutation(np.repeat(np.arange(len(rows)), 3))]
    again[:, 2] = chance.integers(1, 5, len(again)) / 5
    return np.array_split(np.vstack([rows, again]), 7)


def posted(
    contest: Contest,
    run: Run,
    rows: NDArray[np.float64],
) -> None:
    contest.store.posts.append(
        run.id,
        rows,
        sha256="s",
        idempotency_key=None,
        elapsed_s=1.0,
        now=START,
    )


def shown(contest: Contest, run: Run) -> Provisional:
    provisional = contest.store.provisional.of_run(run.id)
    assert provisional is not None
    return provisional


@pytest.mark.parametrize("metric", METRICS)
def test_the_last_figures_are_the_judges(build: Build, metric: str) -> None:
    contest = build(metric=metric).contest
    followed = FollowedRuns(contest, Clock())
    run = open_run(contest)
    for rows in found_boxes(contest.test_set, contest.store.runs.image_order(run.id)):
        posted(contest, run, rows)
        followed.tick()
    close(contest, run)
    followed.tick()
    judged = judge(contest, run.id, Clock())
    last = shown(contest, run)
    assert 0 < last.map < 1
    assert last.map == judged.map
    assert last.score == judged.score
    assert last.energy_wh == judged.energy_wh
    assert last.detections == judged.detections


@pytest.mark.parametrize("keys", [{}, {"count_unserved": True}])
def test_the_last_figures_are_the_judges_where_images_were_not_served_or_late(
    build: Build,
    keys: dict[str, object],
) -> None:
    contest = build(**keys).contest
    followed = FollowedRuns(contest, Clock())
    run = open_run(contest, served=(2,))
    for rows in found_boxes(contest.test_set, contest.store.runs.image_order(run.id)):
        posted(contest, run, rows)
    followed.tick()
    before = shown(contest, run)
    contest.store.served.append(run.id, [(4, 1000)], 2.0)
    close(contest, run)
    followed.tick()
    judged = judge(contest, run.id, Clock())
    last = shown(contest, run)
    assert 0 < last.map < 1
    assert last.map == judged.map
    assert last.score == judged.score
    assert (last.map > before.map) == (not keys)


def test_the_last_figures_are_the_judges_on_a_part_of_the_images(build: Build) -> None:
    contest = build().contest
    armed = contest.store.runs.arm(
        run_record(images=2, testset_digest=contest.test_set.digest),
        START,
        np.array([4, 2]),
    )
    run = contest.store.runs.change(
        armed.id,
        (RunState.ARMED,),
        state=RunState.OPEN.value,
    )
    contest.store.served.append(run.id, [(1, 1000), (2, 1000)], 0.5)
    followed = FollowedRuns(contest, Clock())
    for rows in found_boxes(contest.test_set, np.array([4, 2, 1, 3, 5])):
        posted(contest, run, rows[rows[:, 0] <= 2])
    followed.tick()
    close(contest, run)
    followed.tick()
    judged = judge(contest, run.id, Clock())
    last = shown(contest, run)
    assert last.map > 0
    assert last.map == judged.map
    assert last.score == judged.score


def test_only_new_detections_are_evaluated(
    contest: Contest,
    followed: FollowedRuns,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evaluated: list[int] = []

    def counted(
        contest: Contest,
        truth: GroundTruth,
        rows: NDArray[np.float64],
    ) -> Evaluation:
        evaluated.append(len(rows))
        return evaluate_rows(contest, truth, rows)

    monkeypatch.setattr(provisional_scores, "evaluate_rows", counted)
    run = open_run(contest)
    posts = found_boxes(contest.test_set, contest.store.runs.image_order(run.id))
    for rows in posts[:2]:
        posted(contest, run, rows)
        followed.tick()
        contest.store.readings.append(
            run.id,
            0.0,
            [reading(1.0, energy_wh=float(len(rows)))],
        )
        followed.tick()
        assert shown(contest, run).energy_wh == len(rows)
    assert evaluated == [len(posts[0]), len(posts[0]) + len(posts[1])]


class CostlyClock(Clock):
    """Each look at the processor time finds `cost_s` more of it used; the test sets the other clocks."""

    def __init__(self, cost_s: float) -> None:
        self.cost_s = cost_s
        self.used_s = 0.0
        self.now_s = 0.0

    def process_s(self) -> float:
        self.used_s += self.cost_s
        return self.used_s

    def monotonic_s(self) -> float:
        return self.now_s

    def utc(self) -> datetime:
        return START + timedelta(seconds=self.now_s)


@pytest.mark.parametrize(
    ("cost_s", "published_s"),
    [
        (0.01, [0, 1, 2, 3, 4, 5, 6]),
        (0.25, [0, 3, 6]),
    ],
)
def test_a_run_is_evaluated_each_second_and_costs_at_most_a_tenth_of_a_core(
    contest: Contest,
    cost_s: float,
    published_s: list[int],
) -> None:
    clock = CostlyClock(cost_s)
    run = open_run(contest)
    followed = FollowedRuns(contest, clock)
    seen = set()
    for second in range(7):
        clock.now_s = float(second)
        followed.tick()
        seen.add(shown(contest, run).utc)
    assert seen == {
        (START + timedelta(seconds=second)).isoformat() for second in published_s
    }


def test_a_run_that_is_judged_before_the_next_look_is_published_once_more(
    contest: Contest,
) -> None:
    clock = CostlyClock(5.0)
    run = open_run(contest)
    followed = FollowedRuns(contest, clock)
    followed.tick()
    posts = found_boxes(contest.test_set, contest.store.runs.image_order(run.id))
    posted(contest, run, posts[0])
    close(contest, run)
    judged = judge(contest, run.id, clock)
    followed.tick()
    last = shown(contest, run)
    assert last.map == judged.map
    assert last.score == judged.score
    assert last.detections == len(posts[0])


def test_a_real_run_ends_with_the_judges_figures(build: Build) -> None:
    house = build()
    house.control.arm("otters", "one")
    opened = house.control.login("otters")
    opened.serve([(image, 1000) for image in range(1, len(opened.order) + 1)])
    followed = FollowedRuns(house.contest, house.clock)
    posts = found_boxes(house.contest.test_set, opened.order)
    for rows in posts[:4]:
        opened.accept(rows.tobytes(), None, parse_rows)
    followed.tick()
    half = shown(house.contest, opened.run)
    assert half.detections == sum(len(rows) for rows in posts[:4])
    for rows in posts[4:]:
        opened.accept(rows.tobytes(), None, parse_rows)
    house.control.close(opened.run.id, "logout")
    followed.tick()
    judged = judge(house.contest, opened.run.id, Clock())
    last = shown(house.contest, opened.run)
    assert last.map == judged.map
    assert last.score == judged.score
    assert last.energy_wh == judged.energy_wh
    assert last.map != half.map


def test_the_energy_is_that_of_the_newest_reading_that_has_one(
    contest: Contest,
) -> None:
    followed = FollowedRuns(contest, StillClock(3.0))
    run = open_run(contest)
    posted(
        contest,
        run,
        found_boxes(contest.test_set, contest.store.runs.image_order(run.id))[0],
    )
    followed.tick()
    first = shown(contest, run)
    assert first.energy_wh is None
    assert first.score is None
    assert first.map > 0
    contest.store.readings.append(run.id, 0.0, [reading(0.0, energy_wh=0.0)])
    followed.tick()
    assert shown(contest, run).energy_wh == 0.0
    assert shown(contest, run).score is None
    assert shown(contest, run).utc == START.isoformat()
    late = [
        reading(1.0, energy_wh=0.5),
        reading(2.0, energy_wh=0.75),
        reading(3.0, energy_wh=math.nan),
    ]
    contest.store.readings.append(run.id, 0.0, late)
    followed.tick()
    utc = (START + timedelta(seconds=2)).isoformat()
    expected = Provisional(
        run.id,
        utc,
        first.map,
        0.75,
        first.map / 0.75,
        first.detections,
    )
    assert replace(shown(contest, run), pause_s=None) == expected


def test_a_run_without_energy_ends_without_a_score(
    contest: Contest,
    followed: FollowedRuns,
) -> None:
    run = open_run(contest)
    contest.store.readings.append(run.id, 0.0, [reading(1.0, energy_wh=0.5)])
    followed.tick()
    close(contest, run, energy_wh=None)
    followed.tick()
    assert shown(contest, run).energy_wh is None
    assert shown(contest, run).score is None


def test_a_run_that_closed_while_nobody_looked_is_told_once(
    contest: Contest,
    followed: FollowedRuns,
) -> None:
    run = open_run(contest)
    posts = found_boxes(contest.test_set, contest.store.runs.image_order(run.id))
    posted(contest, run, posts[0])
    contest.store.readings.append(run.id, 0.0, [reading(1.0, energy_wh=0.5)])
    followed.tick()
    posted(contest, run, posts[1])
    close(contest, run)
    later = FollowedRuns(contest, Clock())
    later.tick()
    last = shown(contest, run)
    # Nor again by the next process.
    for process in (
        later,
        FollowedRuns(contest, Clock()),
    ):
        process.tick()
        assert shown(contest, run) == last
    judged = judge(contest, run.id, Clock())
    assert last.energy_wh == 2.0
    assert last.map == judged.map
    assert last.score == judged.score


def test_an_energy_that_is_read_after_the_end_is_told(
    contest: Contest,
    followed: FollowedRuns,
) -> None:
    runs = [
        open_run(contest, team=team, station=team) for team in ("otters", "badgers")
    ]
    followed.tick()
    for run in runs:
        close(contest, run, energy_wh=None)
    followed.tick()
    for run in runs:
        contest.store.runs.change(run.id, (RunState.CLOSED,), energy_wh=3.0)
    for _ in runs:  # one a second
        followed.tick()
    assert [shown(contest, run).energy_wh for run in runs] == [3.0, 3.0]


def test_runs_come_and_go_and_do_not_mix(
    contest: Contest,
    followed: FollowedRuns,
) -> None:
    followed.tick()
    runs = [
        open_run(contest, team=team, station=team) for team in ("otters", "badgers")
    ]
    posts = [
        found_boxes(
            contest.test_set,
            contest.store.runs.image_order(run.id),
            seed=run.id,
        )
        for run in runs
    ]
    for step in range(7):
        for run, rows in zip(runs, posts, strict=True):
            posted(contest, run, rows[step])
        followed.tick()
    for run in runs:
        close(contest, run)
        followed.tick()
    maps = [shown(contest, run).map for run in runs]
    assert maps == [judge(contest, run.id, Clock()).map for run in runs]
    assert maps[0] != maps[1]
    later = open_run(contest, team="voles", station="one")
    followed.tick()
    assert shown(contest, later).detections == 0


def test_a_run_that_is_void_keeps_what_was_shown(
    contest: Contest,
    followed: FollowedRuns,
) -> None:
    run = open_run(contest)
    followed.tick()
    before = shown(contest, run)
    contest.store.runs.change(
        run.id,
        (RunState.OPEN,),
        state=RunState.VOID.value,
        void_reason="test",
    )
    followed.tick()
    assert shown(contest, run) == before


def test_another_process_takes_up_where_the_first_was(
    contest: Contest,
    followed: FollowedRuns,
) -> None:
    run = open_run(contest)
    posts = found_boxes(contest.test_set, contest.store.runs.image_order(run.id))
    for rows in posts[:3]:
        posted(contest, run, rows)
    followed.tick()
    for rows in posts[3:]:
        posted(contest, run, rows)
    followed.tick()
    expected = shown(contest, run)
    FollowedRuns(contest, Clock()).tick()
    again = shown(contest, run)
    assert again.map == expected.map
    assert again.detections == expected.detections


@pytest.fixture
def own(contest: Contest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Contest]:
    """The contest with a connection of its own that soon gives up on a busy database."""
    monkeypatch.setattr(database, "LOCK_TIMEOUT_S", 0.05)
    with open_contest(contest.folder) as opened:
        opened.store.forgo_durability()
        yield opened


@pytest.fixture
def impatient(own: Contest) -> FollowedRuns:
    return FollowedRuns(own, Clock())


def test_a_busy_database_only_delays(
    contest: Contest,
    impatient: FollowedRuns,
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = open_run(contest)
    posts = found_boxes(contest.test_set, contest.store.runs.image_order(run.id))
    posted(contest, run, posts[0])
    with closing(
        sqlite3.connect(contest.folder / DATABASE_NAME, isolation_level=None)
    ) as other:
        other.execute("BEGIN IMMEDIATE")
        with caplog.at_level(logging.WARNING):
            impatient.tick()
            impatient.tick()
        other.execute("ROLLBACK")
    assert "locked" in caplog.text
    assert contest.store.provisional.of_run(run.id) is None
    posted(contest, run, posts[1])
    close(contest, run)
    impatient.tick()
    assert shown(contest, run).detections == len(posts[0]) + len(posts[1])
    assert shown(contest, run).map == judge(contest, run.id, Clock()).map


def test_what_fails_while_a_run_closes_is_made_up_for(
    contest: Contest,
    impatient: FollowedRuns,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = open_run(contest)
    impatient.tick()
    close(contest, run)

    def fail(*_: object) -> list[Run]:
        raise StorageFailed("The disk is gone.")

    with monkeypatch.context() as broken:
        broken.setattr(RunTable, "find", fail)
        impatient.tick()
    impatient.tick()
    assert shown(contest, run).energy_wh == 2.0


def test_reading_never_waits_for_a_writer(contest: Contest, own: Contest) -> None:
    run = open_run(contest)
    with closing(
        sqlite3.connect(contest.folder / DATABASE_NAME, isolation_level=None)
    ) as other:
        other.execute("BEGIN IMMEDIATE")
        assert own.store.posts.detections_after(run.id, 0)[0].shape == (0, 7)
        assert own.store.readings.newest(run.id) is None
        other.execute("ROLLBACK")


def test_a_run_on_another_test_set_is_left_out_and_the_others_go_on(
    contest: Contest,
    followed: FollowedRuns,
    caplog: pytest.LogCaptureFixture,
) -> None:
    strange = open_run(contest, testset_digest="f" * 64, team="otters")
    usual = open_run(contest, team="badgers", station="two")
    with caplog.at_level(logging.WARNING):
        followed.tick()
        followed.tick()
    assert contest.store.provisional.of_run(strange.id) is None
    assert shown(contest, usual).detections == 0
    assert caplog.text.count("put the run's test set back") == 1


def test_following_looks_each_second_until_it_is_stopped(
    build: Build,
    until: Callable[[Callable[[], object]], None],
) -> None:
    house = build()
    run = open_run(house.contest)
    stop = threading.Event()
    thread = threading.Thread(target=follow, args=(house.contest, house.clock, stop))
    thread.start()
    try:
        until(lambda: house.store.provisional.of_run(run.id))
        first = shown(house.contest, run)
        house.clock.advance(1.0)
        until(lambda: shown(house.contest, run).utc > first.utc)
    finally:
        stop.set()
        thread.join(TIMEOUT_S)
    assert not thread.is_alive()


def test_the_process_follows_and_ends_with_its_block(contest: Contest) -> None:
    run = open_run(contest)
    posted(
        contest,
        run,
        found_boxes(contest.test_set, contest.store.runs.image_order(run.id))[0],
    )
    with live_scores(contest.folder):
        in_time(lambda: contest.store.provisional.of_run(run.id))
        (process,) = processes_naming(str(contest.folder))
        assert is_running(process)
    assert not is_running(process)
    assert shown(contest, run).map > 0


def test_the_process_ends_with_its_parent(contest: Contest) -> None:
    script = (
        "import sys; from pathlib import Path; from referee.web.live_process import live_scores\n"
        "with live_scores(Path(sys.argv[1])): sys.stdin.read()"
    )
    command = [sys.executable, "-c", script, str(contest.folder)]
    run = open_run(contest)
    with subprocess.Popen(command, stdin=subprocess.PIPE) as parent:
        in_time(lambda: contest.store.provisional.of_run(run.id))
        (child,) = set(processes_naming(str(contest.folder))) - {parent.pid}
        assert is_running(child)
        parent.kill()
    in_time(lambda: not is_running(child))


def test_the_process_says_in_one_line_what_is_wrong(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "referee.web.live_process",
        str(tmp_path),
        str(os.getpid()),
    ]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("live score: ")


@pytest.mark.slow
def test_beside_a_real_server_it_ends_with_the_judges_figures(
    tmp_path: Path,
    small_set: TestSet,
) -> None:
    with contest_day(tmp_path / "contest", small_set.folder) as day:
        server = day.serve()
        with live_scores(day.folder), open_contest(day.folder) as contest:
            token = day.fetched(str(day.login()["token"]))
            posts = found_boxes(small_set, contest.store.runs.image_order(1))
            for rows in posts:
                assert day.post(token, rows.tolist()).status_code == 202
            total = sum(len(rows) for rows in posts)
            run = contest.store.runs.get(1)
            in_time(
                lambda: (
                    contest.store.provisional.of_run(1)
                    and shown(contest, run).detections == total
                )
            )
            in_time(lambda: shown(contest, run).score)
            assert server.ask("DELETE", "/v1/session", token).status_code == 200
            record = contest.store.runs.get(1)
            in_time(lambda: shown(contest, run).energy_wh == record.energy_wh)
            judged = judge(contest, 1, Clock())
            last = shown(contest, run)
            assert last.map == judged.map
            assert last.score == judged.score
