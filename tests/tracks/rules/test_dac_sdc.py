from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_tracks import track_named
from tests.tracks.runs import entry, measured

TRACK = track_named("dac-sdc")


def test_a_field_by_hand() -> None:
    # Energies 1, 2 and 9 Wh, mean 4: log2(4) = 2, log2(2) = 1, log2(4/9) = -1.16993.
    field = [
        entry("ant", 1, 50.0, energy_wh=1.0),
        entry("bee", 2, 60.0, energy_wh=2.0),
        entry("cat", 3, 60.0, energy_wh=9.0),
        entry("dog", 4, 99.0),
    ]
    places = TRACK.rank(field)
    assert [(place.rank, place.entry.name) for place in places] == [
        (1, "bee"),
        (2, "ant"),
        (3, "cat"),
        (None, "dog"),
    ]
    values = [place.verdict.value for place in places]
    assert values[:3] == pytest.approx(
        [0.6 * 2.2, 0.5 * 2.4, 0.6 * (2 - 0.2 * 1.169925)]
    )
    assert "no energy" in places[3].verdict.sentence
    assert places[0].verdict.figures["mean_energy_wh"] == 4.0


def test_an_energy_score_is_never_below_0() -> None:
    # Of 1 Wh and 99 times next to nothing the mean is 0.01 Wh: 1 + 0.2 log2(0.01) = -0.33.
    thrifty = [entry(f"bee{i}", 2, 50.0, energy_wh=1e-9) for i in range(99)]
    worst = TRACK.rank([entry("ant", 1, 50.0, energy_wh=1.0), *thrifty])[-1]
    assert worst.entry.name == "ant"
    assert worst.verdict.value == 0.5
    assert worst.verdict.figures["energy_score"] == 0.0


# Place one to three of the FPGA track and of the GPU track in 2019: IoU, images/s, W, published total score.
PODIUMS = {
    2: (
        (0.716, 25.05, 7.26, 1.526),
        (0.615, 50.91, 9.25, 1.394),
        (0.553, 55.13, 6.69, 1.318),
    ),
    10: (
        (0.731, 67.33, 13.50, 1.504),
        (0.713, 28.79, 8.55, 1.442),
        (0.723, 26.37, 15.12, 1.422),
    ),
}


@pytest.mark.parametrize("base", [2, 10])
def test_the_published_scores_of_2019_follow_from_one_mean_energy(base: int) -> None:
    """The mean over all entries is not published: that of the winner's score gives the other two scores."""
    track = track_named("dac-sdc", {"base": base})
    iou, fps, watts, total = PODIUMS[base][0]
    mean_j = watts / fps * base ** ((total / iou - 2) / 0.2)
    for iou, fps, watts, total in PODIUMS[base]:
        score = track.energy_score(watts / fps, mean_j)  # type: ignore[attr-defined]
        assert iou * (1 + score) == pytest.approx(total, abs=0.002)


def test_too_few_frames_per_second_cut_the_overlap() -> None:
    # 2.5 images/s where 5 are needed.
    slow = TRACK.measure(measured(60.0, 400.0, energy_wh=1.0))
    assert slow.value == pytest.approx(0.3 * 2)
    assert "cut to 0.500 of it for 2.500 images/s" in slow.sentence
    assert TRACK.measure(measured(60.0, 200.0, energy_wh=1.0)).value == pytest.approx(
        0.6 * 2
    )
    free = TRACK.with_settings({"needed_fps": 0})
    assert free.measure(measured(60.0, 400.0, energy_wh=1.0)).value == pytest.approx(
        0.6 * 2
    )
    value = TRACK.measure(measured(60.0, processed=0, total_s=1.0, energy_wh=1.0)).value
    assert value == 0.0


def test_one_run_is_judged_in_a_field_of_its_own() -> None:
    run = measured(60.0, energy_wh=3.0)
    value = TRACK.measure(run).value
    assert value == TRACK.rank([entry("ant", 1, 60.0, energy_wh=3.0)])[0].verdict.value
    assert not TRACK.measure(measured(60.0)).is_valid


@given(
    st.lists(
        st.tuples(st.floats(0, 100), st.floats(1e-9, 1e12)),
        min_size=1,
        max_size=6,
    )
)
def test_every_score_is_finite_and_less_energy_is_never_worse(
    field: list[tuple[float, float]],
) -> None:
    entries = [entry(str(i), i, iou, energy_wh=wh) for i, (iou, wh) in enumerate(field)]
    places = TRACK.rank(entries)
    assert all(
        place.verdict.value is not None and math.isfinite(place.verdict.value)
        for place in places
    )
    scores = {
        place.entry.name: place.verdict.figures["energy_score"] for place in places
    }
    by_energy = sorted(range(len(field)), key=lambda i: field[i][1])
    in_order = [scores[str(i)] for i in by_energy]
    assert in_order == sorted(in_order, reverse=True)
