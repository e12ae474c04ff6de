from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from referee.judging.leaderboard import Standing, rank


def standing(
    team: str, score: float, run: int = 1, low: float | None = None, high: float | None = None
) -> Standing:
    return Standing(team, run, score, low, high, map=0.2, energy_wh=2.0, needs_review=False)


def test_each_team_stands_once_with_its_best_run() -> None:
    places = rank([standing("ant", 0.1, 1), standing("ant", 0.3, 2), standing("bee", 0.2, 3)])
    assert [(place.rank, place.standing.team, place.standing.run) for place in places] == [
        (1, "ant", 2),
        (2, "bee", 3),
    ]


def test_equal_scores_share_a_rank_and_the_earlier_run_stands_first() -> None:
    places = rank([standing("ant", 0.2, 5), standing("bee", 0.2, 4), standing("cat", 0.1, 1)])
    assert [(place.rank, place.standing.team) for place in places] == [(1, "bee"), (1, "ant"), (3, "cat")]


def test_overlapping_intervals_are_named_on_both_sides() -> None:
    places = rank(
        [
            standing("ant", 0.30, 1, 0.25, 0.35),
            standing("bee", 0.24, 2, 0.20, 0.26),
            standing("cat", 0.10, 3, 0.05, 0.15),
        ]
    )
    assert [place.level_with for place in places] == [("bee",), ("ant",), ()]


def test_a_score_without_interval_overlaps_nothing() -> None:
    places = rank([standing("ant", 0.3, 1, 0.1, 0.5), standing("bee", 0.2, 2)])
    assert [place.level_with for place in places] == [(), ()]


scores = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from([0.1, 0.2, 0.3])), max_size=12)


@given(scores)
def test_ranks_count_how_many_teams_are_better(given_scores: list[tuple[str, float]]) -> None:
    places = rank([standing(team, score, run) for run, (team, score) in enumerate(given_scores)])
    best = {team: max(s for t, s in given_scores if t == team) for team, _ in given_scores}
    assert {place.standing.team: place.standing.score for place in places} == best
    for place in places:
        assert place.rank == 1 + sum(score > place.standing.score for score in best.values())
