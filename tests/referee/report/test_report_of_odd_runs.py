"""What a report says when something is wrong: each sentence holds for the run that it is about."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from referee.clock import Clock
from referee.contest import Contest
from referee.judging.judge import judge
from referee.report import report_page
from referee.report.worst_images import MOST_URI, bounded_uri
from referee.store.records import Run, RunState
from tests.referee.factories import House, reading
from tests.referee.report.test_run_page import closed_run, judged_run


def words(contest: Contest, run: Run) -> str:
    """The text of a report on one line."""
    page = report_page(contest, run)
    body = page[page.index("<main") :]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_neighbours_of_a_run_that_found_nothing_have_a_report_and_so_has_it(
    build: Callable[..., House],
) -> None:
    hall = build()
    best = judged_run(hall, team="best")
    last = judged_run(hall, team="last", share=0.0)
    of_best = words(hall.contest, best)
    assert "last is behind, with a score of 0." in of_best
    assert "No team is ahead." in of_best
    of_last = words(hall.contest, last)
    assert "The score of this run is 0, and best has one above 0" in of_last
    assert "best has 0" not in of_last
    both = judged_run(hall, team="also", share=0.0)
    assert "last has the same score." in words(hall.contest, both)


def test_a_tie_is_said_to_be_one_and_nothing_reaches_the_rank_that_is_reached(
    build: Callable[..., House],
) -> None:
    hall = build()
    judged_run(hall, team="first", share=0.5)
    second = judged_run(hall, team="second", share=0.5)
    shown = words(hall.contest, second)
    assert "rank 1" in shown
    assert "first has the same score. It has" in shown
    assert "0.50000 mAP, the same, and took 0.060000 Wh, the same." in shown
    assert "reaches rank" not in shown
    assert "The interval contains 1" not in shown


def test_a_gap_has_the_difference_in_map_and_in_energy(
    build: Callable[..., House],
) -> None:
    hall = build()
    best = judged_run(hall, team="best")
    own = judged_run(hall, team="own", share=0.5)
    own_map = hall.store.scores.latest(own.id)
    best_map = hall.store.scores.latest(best.id)
    assert own_map is not None
    assert best_map is not None
    apart = f"{best_map.map - own_map.map:.5f} more, and took 0.060000 Wh, the same."
    assert apart in words(hall.contest, own)


def test_a_meter_lost_in_mid_run_has_no_level_while_it_was_lost(
    build: Callable[..., House],
) -> None:
    hall = build()
    run = closed_run(hall, energy_wh=None)
    hall.store.readings.append(
        run.id, 0.0, [reading(20.0 + at / 10) for at in range(21)]
    )
    run = hall.store.runs.change(run.id, (RunState.CLOSED,), elapsed_s=30.0)
    judge(hall.contest, run.id, Clock())
    shown = words(hall.contest, hall.store.runs.get(run.id))
    assert (
        "The meter was not read for 22.0 s of the run (from 6.0 to 20.0 s, the first of 2 times), so the power of "
        "that time is not known."
    ) in shown
    assert "36.000 8.0 " in shown  # 36 W for 6 s and for 2 s, not for 30 s


def test_an_idle_board_that_took_more_than_the_run_is_no_floor(
    build: Callable[..., House],
) -> None:
    hall = build()
    run = judged_run(hall, idle_power_w=50.0)
    shown = words(hall.contest, run)
    assert "measured to take 50.000 W before the run: more than the mean power" in shown
    assert "are spent by time alone" not in shown


def test_where_no_row_found_anything_no_threshold_is_advised(
    build: Callable[..., House],
) -> None:
    hall = build()
    shown = words(hall.contest, judged_run(hall, scale=9.0))
    assert "No row brought any mAP, at any threshold." in shown
    assert "need not be sent" not in shown


def test_the_page_states_the_size_of_its_file(build: Callable[..., House]) -> None:
    hall = build()
    page = report_page(hall.contest, judged_run(hall))
    assert f"This file has {len(page.encode()) / 1e6:.1f} MB." in page


@pytest.mark.parametrize("size", [(3000, 200), (420, 1680)])
def test_a_picture_of_noise_is_bounded(tmp_path: Path, size: tuple[int, int]) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (*size[::-1], 3), np.uint8)
    Image.fromarray(noise).save(tmp_path / "noise.png")
    uri = bounded_uri(tmp_path / "noise.png")
    assert uri is not None
    assert len(uri) <= MOST_URI


def test_no_advice_rests_on_an_energy_that_failed_a_check(
    build: Callable[..., House],
) -> None:
    """It may be off by much more than the intervals of the advice cover."""
    hall = build()
    sound = words(hall.contest, judged_run(hall, team="sound"))
    assert "Do this first: log out about 4.0 s after the start." in sound
    assert "may be off" not in sound
    doubtful = words(hall.contest, judged_run(hall, team="doubtful", odd=True))
    assert "This run is in review" in doubtful
    assert "Do this first" not in doubtful
    assert "its energies may be off by more than the band covers" in doubtful
