from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_tracks import Aim, Entry, track_named
from lpirc_tracks.rules.lpirc2018_track1 import accuracy_by_time
from tests.tracks.runs import entry, measured

TRACK = track_named("lpirc2018-track1")
IMAGES = 12
# What a submission does to each image: its time in ms, and whether the answer is right.
SUBMISSION = st.lists(
    st.tuples(st.floats(1, 120), st.booleans()),
    min_size=IMAGES,
    max_size=IMAGES,
)


def contest_run(
    name: str,
    submitted: int,
    images: list[tuple[float, bool]],
) -> Entry:
    """Run a submission until its budget of 30 ms an image is used up; what comes after counts as wrong."""
    spent = 0.0
    processed = 0
    correct = 0
    for time_ms, is_right in images:
        if spent + time_ms > 30 * IMAGES:
            break
        spent += time_ms
        processed += 1
        correct += is_right
    run = measured(
        100 * correct / IMAGES,
        spent / processed,
        images=IMAGES,
        processed=processed,
        total_s=spent / 1000,
    )
    return Entry(name, submitted, run)


@given(st.lists(SUBMISSION, min_size=1, max_size=8))
def test_both_forms_rank_alike_on_random_submissions(
    submissions: list[list[tuple[float, bool]]],
) -> None:
    field = [contest_run(str(i), i, images) for i, images in enumerate(submissions)]
    by_accuracy = [(place.rank, place.entry.name) for place in TRACK.rank(field)]

    def by_time(one: Entry) -> tuple[float, float]:
        accuracy = one.result.accuracy_percent / 100
        return -accuracy_by_time(
            accuracy,
            IMAGES,
            one.result.total_s * 1000,
        ), one.submitted

    second = [
        (rank, one.name) for rank, one in enumerate(sorted(field, key=by_time), start=1)
    ]
    assert by_accuracy == second


def test_the_forms_differ_only_past_the_budget() -> None:
    good_but_late = accuracy_by_time(0.8, 10, 900)
    fair = accuracy_by_time(0.5, 10, 300)
    assert good_but_late < fair
    assert accuracy_by_time(0.8, 10, 300) > fair
    assert accuracy_by_time(0.8, 10, 0) == accuracy_by_time(0.8, 10, 300) == 0.8 / 300


def test_ties_go_to_the_earlier_submission() -> None:
    places = TRACK.rank(
        [
            entry("late", 30.0, 40.0),
            entry("best", 40.0, 41.0),
            entry("early", 20.0, 40.0),
        ]
    )
    assert [(place.rank, place.entry.name) for place in places] == [
        (1, "best"),
        (2, "early"),
        (3, "late"),
    ]


def test_images_that_the_budget_does_not_reach_count_as_wrong() -> None:
    # 60 ms an image: five of ten within 300 ms, all of them right.
    run = contest_run("slow", 1, [(60.0, True)] * IMAGES)
    verdict = TRACK.measure(run.result)
    assert run.result.processed == 6
    assert verdict.value == 50.0
    assert verdict.figures["accuracy_per_ms"] == pytest.approx(0.5 / 360)
    assert (
        "50.000 % of 12 images, 6 of which were processed in 0.36 s" in verdict.sentence
    )


def test_a_run_without_the_budget_is_not_valid() -> None:
    verdict = TRACK.measure(measured(80.0, 60.0))
    assert not verdict.is_valid
    assert "The run took 0.6 s, its budget for 10 images is 0.3 s" in verdict.sentence


def test_the_budget_is_configuration() -> None:
    track = TRACK.with_settings({"budget_ms": 60})
    assert track.budget_s(10) == 0.6
    assert track.aim() == Aim("budget", 60.0)
    assert track.measure(measured(80.0, 60.0)).figures[
        "accuracy_per_ms"
    ] == pytest.approx(0.8 / 600)
