"""What a crafted upload reads from a published result, and that rounding changes no rank, prize or exact record."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from lpirc_score.metrics.average_precision import area_under_envelope
from referee.clock import Clock
from referee.config import Prize
from referee.contest import Contest
from referee.judging.judge import judge
from referee.judging.prizes import awards
from referee.judging.public_documents import public_board
from referee.judging.ranking import rank
from referee.judging.released_figures import (
    PUBLISHED_MAP_DIGITS,
    published_awards,
    published_figures,
    published_score_digits,
)
from referee.judging.run_figures import current_judgement
from referee.judging.standings import place_document, standings
from referee.pages.figure_text import NONE, score_of
from tests.referee.factories import START, House
from tests.referee.judging.judged_runs import closed_run

ASKED = 10
"""Categories of an attacker's upload; in each, a row for every image, in an order of its own."""
IMAGES = 100
SAMPLES = 20_000
MOST_BITS = 12.5


def crafted_maps(categories: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The mAP of one upload that asks which of the images holds each category, by what the answers may be."""
    ap = np.array(
        [area_under_envelope(np.array([at]), 1) for at in range(1, IMAGES + 1)]
    )
    answers = np.random.default_rng(1).integers(0, IMAGES, (SAMPLES, ASKED))
    return np.asarray(ap[answers].sum(axis=1) / categories)


def bits(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """The entropy of values: what one of them tells."""
    _, counts = np.unique(values, return_counts=True)
    share = counts / counts.sum()
    return float(-(share * np.log2(share)).sum())


@pytest.mark.parametrize(("categories", "most"), [(20, MOST_BITS), (200, 9.5)])
def test_a_crafted_upload_reads_few_bits_from_a_published_map(
    categories: int,
    most: float,
) -> None:
    exact = crafted_maps(categories)
    published = [published_figures({"map": one})["map"] for one in exact.tolist()]
    assert bits(exact) > math.log2(SAMPLES) - 0.5, "each answer has a figure of its own"
    assert bits(np.array(published)) < most


@pytest.mark.parametrize("energy_wh", [1e-5, 3e-4, 0.02, 0.0999, 0.1, 2.082, 40.0])
def test_a_log_out_at_once_makes_a_score_that_tells_no_more_than_the_map(
    energy_wh: float,
) -> None:
    # An attempt of a second takes so little energy that four digits of its score were the mAP to eight.
    step = 10.0 ** -published_score_digits(energy_wh) * energy_wh
    assert step >= 0.99 * 10.0**-PUBLISHED_MAP_DIGITS
    document = {"score": 0.2483812345 / energy_wh, "energy_wh": energy_wh}
    told = published_figures(document)["score"] * energy_wh
    assert told == pytest.approx(0.2483812345, abs=0.51 * step)


def test_the_champion_of_2017_is_published_as_it_was_printed() -> None:
    exact = {"map": 0.248381, "energy_wh": 2.082, "score": 0.248381 / 2.082}
    assert published_figures(exact) == {
        "map": 0.24838,
        "energy_wh": 2.082,
        "score": 0.1193,
    }


@pytest.mark.parametrize(
    ("energy_wh", "shown"),
    [(2.082, "0.1193"), (0.1, "2.4838"), (0.02, "12.419"), (3e-4, "827.9")],
)
def test_a_page_shows_the_digits_of_a_score_that_were_published_and_no_zeros_in_their_place(
    energy_wh: float, shown: str
) -> None:
    exact = {"map": 0.24838125, "energy_wh": energy_wh, "score": 0.24838125 / energy_wh}
    document = json.loads(json.dumps(published_figures(exact)))
    assert score_of(document) == shown
    assert float(shown) == document["score"]


def test_the_ends_of_an_interval_are_shown_with_the_digits_of_their_score() -> None:
    figures = {"energy_wh": 0.02, "score": 12.4, "score_low": 11.0, "score_high": 14.2}
    document = published_figures(figures)
    assert score_of(document, "score_low") == "11.000"
    assert score_of(document, "score_high") == "14.200"
    assert score_of({"score": None}) == score_of({}) == NONE


def test_a_course_of_figures_that_were_released_stays_as_it_is() -> None:
    side = {"score": 0.111118, "energy_wh": 1.0, "course": {"energy_wh": [0.123456]}}
    assert published_figures([{"sides": [side]}]) == [
        {"sides": [side | {"score": 0.1111}]}
    ]


def test_teams_that_differ_behind_the_last_digit_keep_ranks_and_prize(
    build: Callable[..., House],
) -> None:
    contest = build().contest
    for number, team in enumerate(("otters", "badgers")):
        judge(contest, closed_run(contest, team, 1.0, number).id, Clock())
    one, other = [place.standing for place in standings(contest).places]
    better = replace(one, team="b", score=0.11930002, map=0.248380002, energy_wh=2.082)
    worse = replace(other, team="a", score=0.11930001, map=0.24838000, energy_wh=2.082)
    places = rank([worse, better], {})
    ranking = [published_figures(place_document(place)) for place in places]
    assert [(at["rank"], at["team"], at["score"]) for at in ranking] == [
        (1, "b", 0.1193),
        (2, "a", 0.1193),
    ]
    prizes = [Prize("Best", "best-score"), Prize("Seen", "highest-map")]
    shown = published_awards(
        [vars(award) for award in awards(prizes, [better, worse])], ranking
    )
    assert [award["value"] for award in shown] == [0.1193, 0.24838]
    assert {award["teams"][0] for award in shown} == {"b"}


def figures(contest: Contest) -> list[float]:
    """Every figure of the board that depends on the mAP."""
    board = json.loads(public_board(contest, START))
    found = []
    for place in (*board["ranking"], *board["unranked"]):
        found += [place["map"], place["map_ilsvrc_det"], place["score"]]
    for team in board["teams"].values():
        for attempt in team["attempts"]:
            found += [attempt["map"], attempt["score"]]
    return found


def test_the_board_is_rounded_and_the_record_is_exact(
    build: Callable[..., House],
) -> None:
    contest = build().contest
    run = closed_run(contest, "otters", 1.3)
    judge(contest, run.id, Clock())
    judged = current_judgement(contest, run)
    assert judged is not None
    assert judged.score == judged.map / 1.3
    (place,) = standings(contest).places
    assert (place.standing.map, place.standing.score) == (judged.map, judged.score)
    published = figures(contest)
    assert len(published) == 5
    for one in published:
        assert one == round(one, PUBLISHED_MAP_DIGITS)
    assert {*published} == {round(judged.map, 5), round(judged.score, 4)}
