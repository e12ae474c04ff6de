"""The course of a run: its phases share out its time and its energy."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.judging.run_course import (
    PHASES,
    course_of,
    first_served,
    phase_uses,
    phases_of,
)
from referee.store.records import RunState
from tests.referee.factories import START, House, reading, rows, stored_run

TIMES = st.lists(st.floats(0.0, 100.0), max_size=8).map(sorted)


def test_each_moment_of_a_run_belongs_to_one_phase() -> None:
    served_s = np.array([2.0, 2.0, 8.0])
    posts_s = np.array([5.0, 6.0, 9.0])
    begins_s, phases = phases_of(served_s, posts_s, np.array([1, 2, 3]))
    assert list(
        zip(begins_s.tolist(), [PHASES[one] for one in phases], strict=True)
    ) == [
        (0.0, "waiting"),
        (2.0, "detecting"),
        (5.0, "detecting"),
        (6.0, "posting"),  # both images are posted, the third is not served yet
        (8.0, "detecting"),
        (9.0, "idle"),
    ]


@given(TIMES, TIMES, st.data())
def test_the_phases_add_up_to_the_run(
    served: list[float],
    posts: list[float],
    data: st.DataObject,
) -> None:
    covered = data.draw(
        st.lists(st.integers(0, len(served)), min_size=len(posts), max_size=len(posts))
    )
    begins_s, phases = phases_of(
        np.array(served),
        np.array(posts),
        np.array(covered, np.int64),
    )
    edges_s = np.append(begins_s, 100.0)
    uses = phase_uses(phases, edges_s, edges_s / 20)
    assert [one.phase for one in uses] == [*PHASES]
    assert sum(one.elapsed_s for one in uses) == pytest.approx(100.0)
    assert sum(one.energy_wh or 0.0 for one in uses) == pytest.approx(5.0)
    assert sum(one.share or 0.0 for one in uses) == pytest.approx(1.0)
    assert all(one.elapsed_s >= 0 for one in uses)


def test_where_the_energy_is_not_known_the_phases_have_times() -> None:
    uses = phase_uses(np.array([0]), np.array([0.0, 7.0]), None)
    assert [(one.elapsed_s, one.energy_wh, one.share) for one in uses][:2] == [
        (7.0, None, None),
        (0.0, None, None),
    ]


def test_an_image_counts_from_when_it_was_first_served() -> None:
    images, served_s = first_served([(3, 1.0), (1, 2.0), (3, 4.0)])
    assert images.tolist() == [3, 1]
    assert served_s.tolist() == [1.0, 2.0]


def test_a_run_is_told_from_its_records(build: Callable[..., House]) -> None:
    hall = build()
    store = hall.store
    run = stored_run(store)
    store.served.append(run.id, [(1, 10), (2, 10)], 1.0)
    for at_s, image in ((3.0, 1), (4.0, 2)):
        sent = {
            "sha256": "",
            "idempotency_key": None,
            "elapsed_s": at_s,
        }
        store.posts.append(
            run.id,
            rows(2, image),
            now=START + timedelta(seconds=at_s),
            **sent,
        )
    store.readings.append(run.id, 0.0, [reading(float(at_s)) for at_s in range(1, 7)])
    over = {
        "state": RunState.CLOSED.value,
        "elapsed_s": 6.0,
        "energy_wh": 0.06,
    }
    course = course_of(
        hall.contest,
        store.runs.change(run.id, (RunState.ARMED,), **over),
    )
    assert [(one.phase, one.elapsed_s) for one in course.phases] == [
        ("waiting", 1.0),
        ("detecting", 3.0),
        ("posting", 0.0),
        ("idle", 2.0),
    ]
    assert sum(one.energy_wh or 0.0 for one in course.phases) == pytest.approx(0.06)
    assert course.served_s.tolist() == [1.0, 1.0]
    assert course.posts_s.tolist() == [3.0, 4.0]
    assert course.images_per_s == 2 / 6
    assert course.detections_per_s == 4 / 6
    assert course.mj_per_image == pytest.approx(108_000)


def test_a_run_without_records_has_no_rates(build: Callable[..., House]) -> None:
    hall = build()
    course = course_of(hall.contest, stored_run(hall.store))
    assert course.elapsed_s == 0.0
    assert course.images_per_s is None
    assert course.mj_per_image is None
