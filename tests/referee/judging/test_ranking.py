from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_score.analysis.halves import HALVES
from lpirc_score.analysis.interval import EnergySpread, Halved
from referee.judging.ranking import Level, Standing, rank

SIGNATURE = "lpirc|rules:1|v:0.1.0|images:all|counts:served|window:600s|mode:rms|meter:YOKOGAWA WT310 A F1"
SPREAD = np.random.default_rng(1).normal(0.3, 0.05, HALVES)
ONE_ATTEMPT = "same images; the energy spread is unknown"


def standing(
    team: str,
    score: float,
    run: int = 1,
    signature: str = SIGNATURE,
    **more: Any,
) -> Standing:
    figures = {
        "score_low": None,
        "score_high": None,
        "map": 0.2,
        "map_ilsvrc_det": 0.25,
        "energy_wh": 2.0,
    }
    return Standing(
        team,
        run,
        score,
        needs_review=False,
        signature=signature,
        **(figures | more),
    )


def halved(lead: float) -> Halved:
    """A run that leads that of 0 on every half by `lead`."""
    return Halved(0.3 + lead, SPREAD + lead, images="all")


def test_each_team_stands_once_with_its_best_run() -> None:
    places = rank(
        [
            standing("ant", 0.1, 1),
            standing("ant", 0.3, 2),
            standing("bee", 0.2, 3),
        ],
        {},
    )
    assert [
        (place.rank, place.standing.team, place.standing.run) for place in places
    ] == [
        (1, "ant", 2),
        (2, "bee", 3),
    ]


def test_equal_scores_share_a_rank_and_the_earlier_run_stands_first() -> None:
    places = rank(
        [
            standing("ant", 0.2, 5),
            standing("bee", 0.2, 4),
            standing("cat", 0.1, 1),
        ],
        {},
    )
    assert [(place.rank, place.standing.team) for place in places] == [
        (1, "bee"),
        (1, "ant"),
        (3, "cat"),
    ]


def test_an_order_that_chance_may_have_decided_is_named_on_both_sides() -> None:
    # The halves of a pair differ by +-0.02378, so the lead of 0.01 is 0.8416 deviations: a chance of 80 %.
    turned = Halved(0.31, SPREAD + 0.01189 * (-1.0) ** np.arange(HALVES), images="all")
    places = rank(
        [
            standing("ant", 0.31, 1),
            standing("bee", 0.30, 2),
            standing("cat", 0.20, 3),
        ],
        {1: turned, 2: halved(0.0), 3: halved(-0.1)},
    )
    ((bee,), (ant,), none) = (place.level_with for place in places)
    assert bee.team == "bee"
    assert ant.team == "ant"
    assert none == ()
    assert bee.chance == ant.chance == pytest.approx(0.8, abs=0.01)
    assert bee.covers == ant.covers == ONE_ATTEMPT


def test_an_order_covers_all_once_both_teams_have_several_attempts() -> None:
    spread = EnergySpread(0.01, 3)
    ones = [
        replace(halved(0.0), energy_wh=wh, energy_spread=its)
        for wh, its in ((2.0, spread), (2.01, spread))
    ]
    both = [
        standing(team, 0.3 / wh, run, energy_spread=0.01)
        for team, wh, run in (("ant", 2.0, 1), ("bee", 2.01, 2))
    ]
    places = rank(both, dict(enumerate(ones, start=1)))
    assert [[level.covers for level in place.level_with] for place in places] == [
        [None],
        [None],
    ]
    alone = rank(
        [both[0], replace(both[1], energy_spread=None)],
        {1: halved(0.0), 2: halved(0.0)},
    )
    assert [[level.covers for level in place.level_with] for place in alone] == [
        [ONE_ATTEMPT]
    ] * 2
    apart = replace(
        both[1],
        energy_spread=None,
        signature=SIGNATURE.replace("images:all", "images:3-of-9:5f"),
    )
    other = rank([both[0], apart], {1: halved(0.0), 2: halved(0.0)})
    assert other[0].level_with == (
        Level("bee", 0.5, "different images; the energy spread is unknown"),
    )


def test_a_lead_on_every_image_is_no_tie_though_the_intervals_overlap() -> None:
    ends = {"score_low": 0.2, "score_high": 0.4}
    places = rank(
        [
            standing("ant", 0.31, 1, **ends),
            standing("bee", 0.30, 2, **ends),
        ],
        {1: halved(0.01), 2: halved(0.0)},
    )
    assert [place.level_with for place in places] == [(), ()]


def test_nothing_is_said_of_a_run_whose_halves_are_not_known() -> None:
    places = rank(
        [
            standing("ant", 0.3, 1),
            standing("bee", 0.3, 2),
        ],
        {1: halved(0.0), 2: None},
    )
    assert [place.level_with for place in places] == [(), ()]


def test_a_run_that_was_measured_otherwise_is_ranked_with_a_mark() -> None:
    of_bee = (
        SIGNATURE.replace("rms", "dc")
        .replace("WT310 A", "WT333E B")
        .replace("v:0.1.0", "v:0.2.0")
    )
    places = rank(
        [
            standing("ant", 0.3, 1),
            standing("bee", 0.2, 2, of_bee),
            standing(
                "cat",
                0.1,
                3,
                SIGNATURE.replace("counts:served", "counts:unserved-too"),
                complete=False,
            ),
            standing(
                "dog",
                0.05,
                4,
                SIGNATURE.replace("images:all", "images:3-of-12:5f"),
            ),
        ],
        {},
    )
    assert [(place.rank, place.differs) for place in places] == [
        (1, ()),
        (2, ("mode dc instead of rms",)),
        (3, ("counts unserved-too instead of served",)),
        (4, ("images 3-of-12:5f instead of all",)),
    ]


def test_images_drawn_for_each_run_are_no_other_way_of_measuring() -> None:
    drawn = [
        SIGNATURE.replace("images:all", f"images:{images}")
        for images in ("3-of-12:5f", "3-of-12:6a", "4-of-12:77")
    ]
    places = rank(
        [
            standing("ant", 0.3, 1, drawn[0]),
            standing("bee", 0.2, 2, drawn[1]),
            standing("cat", 0.1, 3, drawn[2]),
        ],
        {},
    )
    fewer = ("images 4-of-12:77 instead of 3-of-12:5f",)
    assert [place.differs for place in places] == [(), (), fewer]


def test_a_signature_of_an_earlier_form_is_not_compared() -> None:
    old = standing(
        "bee",
        0.2,
        2,
        "lpirc|iou:0.5|v:0.1.0|window:600s|meter:YOKOGAWA WT310 A F1",
        complete=False,
    )
    for leader in (
        standing("ant", 0.3),
        standing("ant", 0.1),
    ):
        assert [place.differs for place in rank([leader, old], {})] == [(), ()]


scores = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from([0.1, 0.2, 0.3])),
    max_size=12,
)


@given(scores)
def test_ranks_count_how_many_teams_are_better(
    given_scores: list[tuple[str, float]],
) -> None:
    places = rank(
        [standing(team, score, run) for run, (team, score) in enumerate(given_scores)],
        {},
    )
    best = {
        team: max(s for t, s in given_scores if t == team) for team, _ in given_scores
    }
    assert {place.standing.team: place.standing.score for place in places} == best
    for place in places:
        assert place.rank == 1 + sum(
            score > place.standing.score for score in best.values()
        )
