"""What each image took: by the client's timeline by kind, else by the POSTs; it adds up to the run either way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from referee.judging.client_timeline import read_timeline
from referee.judging.image_costs import (
    KINDS,
    WITHOUT,
    by_image,
    image_costs,
    kind_uses,
    most_costly,
)
from referee.judging.run_course import course_of
from referee.judging.timeline_sections import hidden_s, sections_of
from referee.store.records import Run
from tests.referee.factories import START, House, reading, rows, stored_run
from tests.referee.judging.test_client_timeline import event, written

WATT = 36.0


def timeline_of(*events: dict[str, object]) -> bytes:
    return written(*events)


def batch_of_two() -> bytes:
    """Two images fetched at once, detected one after the other, the second while the first is sent; then the rest."""
    return timeline_of(
        event(
            "fetch",
            1.0,
            3.0,
            image=1,
            images=2,
        ),
        event(
            "waiting",
            0.5,
            3.0,
            image=1,
        ),
        event(
            "detecting",
            3.0,
            4.0,
            image=1,
        ),
        event(
            "posting",
            4.0,
            4.5,
            image=1,
        ),
        event(
            "detecting",
            4.5,
            7.5,
            image=2,
        ),
        event(
            "send",
            4.5,
            5.0,
            images=1,
            sha256="a" * 64,
        ),
        event(
            "posting",
            7.5,
            7.5,
            image=2,
        ),
        event("posting", 7.5, 8.5),
        event(
            "send",
            7.6,
            8.4,
            images=1,
            sha256="b" * 64,
        ),
    )


def test_each_moment_is_of_one_kind_and_batches_are_shared_by_their_images() -> None:
    timeline = read_timeline(batch_of_two())
    images = np.array([1, 2])
    sections = sections_of(
        timeline,
        1.0,
        images,
        10.0,
    )
    seconds = by_image(
        sections,
        np.diff(sections.edges_s),
        2,
        len(KINDS),
    )
    # waiting 0 to 2 less nothing, fetching 2 to 4, detecting 1 and 3, posting 0.5 and 1, idle the last half.
    total = dict(zip(KINDS, seconds.sum(axis=0).tolist(), strict=True))
    assert total == pytest.approx(
        {
            "waiting": 2.0,
            "fetching": 2.0,
            "detecting": 4.0,
            "posting": 1.5,
            "idle": 0.5,
        }
    )
    assert seconds.sum() == pytest.approx(10.0)
    by_kind = dict(zip(KINDS, seconds.T.tolist(), strict=True))
    assert by_kind["fetching"] == pytest.approx([1.0, 1.0])
    assert by_kind["detecting"] == pytest.approx([1.0, 3.0])
    # The first handed over for half a second; the flush belongs to the second, but its ends to all.
    assert by_kind["posting"] == pytest.approx([0.5 + 0.1, 0.8 + 0.1])
    assert hidden_s(timeline, 1.0, 10.0) == pytest.approx(0.5)


def test_spans_outside_of_the_run_and_images_that_were_not_served_count_nothing() -> (
    None
):
    timeline = read_timeline(
        timeline_of(
            event(
                "detecting",
                -5.0,
                -1.0,
                image=1,
            ),
            event(
                "detecting",
                2.0,
                3.0,
                image=77,
            ),
            event(
                "fetch",
                50.0,
                60.0,
                image=1,
                images=2**31 - 1,
            ),
            event(
                "send",
                1.0,
                1.5,
                images=2**31 - 1,
                sha256="a" * 64,
            ),
        )
    )
    sections = sections_of(
        timeline,
        0.0,
        np.array([1, 2]),
        10.0,
    )
    seconds = by_image(
        sections,
        np.diff(sections.edges_s),
        2,
        len(KINDS),
    )
    assert seconds.sum() == pytest.approx(10.0)
    assert seconds[:, KINDS.index("detecting")].tolist() == [0.5, 0.5]


def run_of(hall: House, *, energy: bool = True) -> Run:
    """Ten seconds at one power: four images served at 2 s, two of them answered at 4 s and two at 8 s."""
    store = hall.store
    run = stored_run(store, testset_digest=hall.contest.test_set.digest)
    store.served.append(run.id, [(image, 10) for image in (3, 1, 2, 4)], 2.0)
    for when, first, digest in ((4.0, (3, 1), "a"), (8.0, (2, 4), "b")):
        sent = np.vstack([rows(2, image) for image in first])
        store.posts.append(
            run.id,
            sent,
            sha256=digest * 64,
            idempotency_key=None,
            elapsed_s=when,
            now=START,
        )
    if energy:
        store.readings.append(
            run.id,
            0.0,
            [reading(at / 10, energy_wh=WATT * at / 36000) for at in range(100)],
        )
    return store.runs.change(
        run.id,
        ("armed",),  # type: ignore[arg-type]
        state="closed",
        elapsed_s=10.0,
        energy_wh=0.1 if energy else None,
    )


def test_without_a_timeline_the_time_between_posts_is_that_of_the_images_answered(
    build: Callable[..., House],
) -> None:
    hall = build()
    run = run_of(hall)
    costs = image_costs(hall.contest, run, 10.0)
    assert costs is not None
    assert costs.kinds == WITHOUT
    assert costs.images.tolist() == [3, 1, 2, 4]
    assert costs.seconds[:, 1] == pytest.approx([1.0, 1.0, 2.0, 2.0])
    assert costs.seconds[:, 0] == pytest.approx([0.5] * 4)
    assert costs.energy_wh is not None
    assert costs.energy_wh.sum() == pytest.approx(0.1)
    assert costs.energy_wh[:, 1] == pytest.approx([0.01, 0.01, 0.02, 0.02])
    assert costs.joined is None
    course = course_of(hall.contest, run)
    uses = {one.kind: one for one in kind_uses(costs)}
    waiting = next(one for one in course.phases if one.phase == "waiting")
    assert uses["waiting"].energy_wh == pytest.approx(waiting.energy_wh)
    assert uses["all"].energy_wh == pytest.approx(0.1)
    assert uses["all"].each_mj == pytest.approx(course.mj_per_image)
    assert [image for image, _ in most_costly(costs, 2)] == [2, 4]


def test_with_a_timeline_the_kinds_add_up_to_the_run_on_the_referee_s_clock(
    build: Callable[..., House],
) -> None:
    hall = build()
    run = run_of(hall)
    content = timeline_of(
        event(
            "fetch",
            0.2,
            1.0,
            image=3,
            images=4,
        ),
        event(
            "detecting",
            1.0,
            2.8,
            image=3,
        ),
        event(
            "send",
            2.8,
            3.0,
            images=1,
            sha256="a" * 64,
        ),
        event(
            "send",
            6.8,
            7.0,
            images=1,
            sha256="b" * 64,
        ),
    )
    costs = image_costs(
        hall.contest,
        run,
        10.0,
        read_timeline(content),
    )
    assert costs is not None
    assert costs.joined is not None
    assert costs.joined.offset_s == pytest.approx(1.1)
    assert costs.joined.error_s == pytest.approx(0.1)
    uses = {one.kind: one for one in kind_uses(costs)}
    assert [*uses] == [*KINDS, "all"]
    assert uses["all"].elapsed_s == pytest.approx(10.0)
    assert uses["all"].energy_wh == pytest.approx(0.1)
    assert uses["detecting"].energy_wh == pytest.approx(WATT * 1.8 / 3600)


def test_without_energy_there_are_seconds_only(build: Callable[..., House]) -> None:
    hall = build()
    costs = image_costs(hall.contest, run_of(hall, energy=False), 10.0)
    assert costs is not None
    assert costs.energy_wh is None
    assert {one.energy_wh for one in kind_uses(costs)} == {None}
    assert most_costly(costs) == ()


def test_a_run_without_a_served_image_has_no_costs(build: Callable[..., House]) -> None:
    hall = build()
    assert image_costs(hall.contest, stored_run(hall.store), 10.0) is None
