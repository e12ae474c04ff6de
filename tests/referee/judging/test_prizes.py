"""Prizes against numbers computed by hand."""

from __future__ import annotations

import pytest

from referee.config import PRIZE_RULES, Prize
from referee.judging.leaderboard import Standing
from referee.judging.prizes import Award, awards

ALL = [Prize(rule, rule) for rule in PRIZE_RULES]


def team(name: str, reached: float, energy_wh: float) -> Standing:
    return Standing(
        name, 1, reached / energy_wh, None, None, reached, None, energy_wh, needs_review=False, signature=""
    )


def won(*participants: Standing) -> dict[str, tuple[str, ...]]:
    return {one.rule: one.teams for one in awards(ALL, participants)}


def test_the_bars_lie_one_deviation_of_the_population_from_the_mean() -> None:
    # mAP: mean 0.25, deviations -0.15 -0.05 -0.05 0.25, squares 0.0225 0.0025 0.0025 0.0625, mean 0.0225: SD 0.15.
    # Energy: mean 5, deviations -4 2 -1 3, squares 16 4 1 9, mean 7.5: SD 2.7386.
    # A sample's SD (division by 3) would be 0.1732 and 3.1623.
    participants = [team("ant", 0.1, 1), team("bee", 0.2, 7), team("cat", 0.2, 4), team("dog", 0.5, 8)]
    best, least, highest = awards(ALL, participants)
    assert best == Award("best-score", "best-score", ("ant",), 0.1, None)
    assert (least.teams, least.value, least.bar) == (("dog",), 8, pytest.approx(0.4))
    assert (highest.teams, highest.value, highest.bar) == (("ant",), 0.1, pytest.approx(5 - 7.5**0.5))


def test_the_least_energy_and_the_highest_map_are_taken_among_those_beyond_the_bar() -> None:
    # mAP: mean 0.3, SD 0.2: two reach 0.5. Energy: mean 5, SD 3: three need at most 2.
    few = [team("ant", 0.5, 8), team("bee", 0.5, 2), team("cat", 0.1, 2), team("dog", 0.1, 8)]
    assert won(*few) == {"best-score": ("bee",), "least-energy": ("bee",), "highest-map": ("bee",)}


def test_equal_figures_share_a_prize() -> None:
    twins = [team("ant", 0.5, 2), team("bee", 0.5, 2), team("cat", 0.1, 8), team("dog", 0.1, 8)]
    shared = ("ant", "bee")
    assert won(*twins) == {"best-score": shared, "least-energy": shared, "highest-map": shared}


def test_of_two_teams_the_better_one_lies_exactly_one_deviation_from_the_mean() -> None:
    # In floats 0.2 + 0.1 is above 0.3: the comparison is exact.
    assert won(team("ant", 0.3, 0.1), team("bee", 0.1, 0.3))["least-energy"] == ("ant",)
    assert won(team("ant", 0.3, 0.3), team("bee", 0.1, 0.1))["highest-map"] == ("bee",)


def test_no_team_gets_a_prize_whose_condition_none_fulfils() -> None:
    # mAP 0.4 0.4 0.4 0: mean 0.3, SD 0.1732, so 0.4732 would be needed.
    low = [team("ant", 0.4, 1), team("bee", 0.4, 2), team("cat", 0.4, 3), team("dog", 0.0, 4)]
    (least,) = awards([Prize("Thrift", "least-energy")], low)
    assert (least.name, least.teams, least.value) == ("Thrift", (), None)
    assert least.bar == pytest.approx(0.3 + 0.03**0.5)


def test_an_energy_bar_below_0_is_told_as_it_is() -> None:
    # Energy 1 1 1 1 100: mean 20.8, SD 39.6: no energy lies a deviation below the mean.
    spread = [team(name, 0.1, 1) for name in ("ant", "bee", "cat", "dog")] + [team("elk", 0.1, 100)]
    (highest,) = awards([Prize("Accuracy", "highest-map")], spread)
    assert (highest.teams, highest.bar) == ((), pytest.approx(20.8 - 39.6))


def test_without_participants_there_is_no_winner_and_alone_a_team_wins_all() -> None:
    assert won() == dict.fromkeys(PRIZE_RULES, ())
    assert won(team("ant", 0.2, 3)) == dict.fromkeys(PRIZE_RULES, ("ant",))
