"""Prizes against numbers computed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from lpirc_score.analysis.interval import EnergySpread, Halved
from referee.config import PRIZE_RULES, Prize
from referee.contest_rules import rule_named
from referee.judging.prizes import Award, awards
from referee.judging.ranking import Standing

ALL = [Prize(rule, rule) for rule in PRIZE_RULES]


def team(name: str, reached: float, energy_wh: float) -> Standing:
    return Standing(
        name,
        1,
        reached / energy_wh,
        None,
        None,
        reached,
        None,
        energy_wh,
        needs_review=False,
        signature="",
    )


def won(*participants: Standing) -> dict[str, tuple[str, ...]]:
    return {one.rule: one.teams for one in awards(ALL, participants)}


def test_the_bars_lie_one_deviation_of_the_population_from_the_mean() -> None:
    # mAP: mean 0.25, deviations -0.15 -0.05 -0.05 0.25, squares 0.0225 0.0025 0.0025 0.0625, mean 0.0225: SD 0.15.
    # Energy: mean 5, deviations -4 2 -1 3, squares 16 4 1 9, mean 7.5: SD 2.7386.
    # A sample's SD (division by 3) would be 0.1732 and 3.1623.
    participants = [
        team("ant", 0.1, 1),
        team("bee", 0.2, 7),
        team("cat", 0.2, 4),
        team("dog", 0.5, 8),
    ]
    best, least, highest = awards(ALL, participants)
    others = ("bee", "cat", "dog")
    assert best == Award(
        "best-score",
        "best-score",
        ("ant",),
        0.1,
        None,
        not_known=others,
    )
    assert least.teams == ("dog",)
    assert least.value == 8
    assert least.bar == pytest.approx(0.4)
    assert highest.teams == ("ant",)
    assert highest.value == 0.1
    assert highest.bar == pytest.approx(5 - 7.5**0.5)


def test_the_least_energy_and_the_highest_map_are_taken_among_those_beyond_the_bar() -> (
    None
):
    # mAP: mean 0.3, SD 0.2: two reach 0.5. Energy: mean 5, SD 3: three need at most 2.
    few = [
        team("ant", 0.5, 8),
        team("bee", 0.5, 2),
        team("cat", 0.1, 2),
        team("dog", 0.1, 8),
    ]
    assert won(*few) == {
        "best-score": ("bee",),
        "least-energy": ("bee",),
        "highest-map": ("bee",),
    }


def test_equal_figures_share_a_prize() -> None:
    twins = [
        team("ant", 0.5, 2),
        team("bee", 0.5, 2),
        team("cat", 0.1, 8),
        team("dog", 0.1, 8),
    ]
    shared = ("ant", "bee")
    assert won(*twins) == {
        "best-score": shared,
        "least-energy": shared,
        "highest-map": shared,
    }


def test_of_two_teams_the_better_one_lies_exactly_one_deviation_from_the_mean() -> None:
    # In floats 0.2 + 0.1 is above 0.3: the comparison is exact.
    assert won(team("ant", 0.3, 0.1), team("bee", 0.1, 0.3))["least-energy"] == ("ant",)
    assert won(team("ant", 0.3, 0.3), team("bee", 0.1, 0.1))["highest-map"] == ("bee",)


def test_no_team_gets_a_prize_whose_condition_none_fulfils() -> None:
    # mAP 0.4 0.4 0.4 0: mean 0.3, SD 0.1732, so 0.4732 would be needed.
    low = [
        team("ant", 0.4, 1),
        team("bee", 0.4, 2),
        team("cat", 0.4, 3),
        team("dog", 0.0, 4),
    ]
    (least,) = awards([Prize("Thrift", "least-energy")], low)
    assert least.name == "Thrift"
    assert least.teams == ()
    assert least.value is None
    assert least.bar == pytest.approx(0.3 + 0.03**0.5)


def test_an_energy_bar_below_0_is_told_as_it_is() -> None:
    # Energy 1 1 1 1 100: mean 20.8, SD 39.6: no energy lies a deviation below the mean.
    spread = [team(name, 0.1, 1) for name in ("ant", "bee", "cat", "dog")] + [
        team("elk", 0.1, 100)
    ]
    (highest,) = awards([Prize("Accuracy", "highest-map")], spread)
    assert highest.teams == ()
    assert highest.bar == pytest.approx(20.8 - 39.6)


def test_without_participants_there_is_no_winner_and_alone_a_team_wins_all() -> None:
    assert won() == dict.fromkeys(PRIZE_RULES, ())
    assert won(team("ant", 0.2, 3)) == dict.fromkeys(PRIZE_RULES, ("ant",))


def test_by_a_rule_whose_orders_are_never_known_no_one_is_told_to_judge_again() -> None:
    few = [team("ant", 0.5, 8), team("bee", 0.4, 8)]
    rule = rule_named("accuracy-per-excess-wh", {})
    (best,) = awards([Prize("Best", "best-score")], few, rule=rule)
    assert best.teams == ("ant",)
    assert best.not_known == ()
    (usual,) = awards([Prize("Best", "best-score")], few)
    assert usual.not_known == ("bee",)


BEST = [Prize("Best", "best-score")]
FLAT = np.full(300, 0.3)


def shares(
    energies_wh: Sequence[float],
    spreads: Sequence[float | None],
    halves: np.ndarray = FLAT,
) -> Award:
    """Who wins with an mAP of 0.3 each, these energies, and these spreads of three attempts each."""
    teams = [
        replace(team(name, 0.3, wh), run=run)
        for run, (name, wh) in enumerate(zip("abc", energies_wh, strict=False))
    ]
    known = {
        run: Halved(
            0.3,
            halves,
            wh,
            images="all",
            energy_spread=None if spread is None else EnergySpread(spread, 3),
        )
        for run, (wh, spread) in enumerate(zip(energies_wh, spreads, strict=True))
    }
    (award,) = awards(BEST, teams, known)
    return award


def test_with_one_attempt_each_a_prize_is_shared_within_what_energies_vary() -> None:
    """2 % each: the order is sure from 1.645 x sqrt(2) x 2 % = 4.7 % on."""
    award = shares([1.0, 1.03, 1.06], [None, None, None])
    assert award.teams == ("a", "b")
    assert award.unsure == ("b",)
    assert award.value == 0.3
    assert shares([1.0, 1.000015], [None, None]).teams == ("a", "b")
    assert shares([1.0, 1.06], [None, None]).teams == ("a",)


def test_attempts_that_agree_win_a_prize_by_less() -> None:
    assert shares([1.0, 1.03], [0.002, None]).teams == ("a",)
    assert shares([1.0, 1.001], [0.002, None]).teams == ("a", "b")


def test_a_wasteful_attempt_wins_no_share() -> None:
    """The second team burns twice the energy in its next attempt, so its order with the first is not sure."""
    assert shares([1.0, 1.06], [0.002, 0.4]).teams == ("a",)
    assert shares([1.0, 1.06], [None, 0.4]).teams == ("a",)


def test_a_team_that_got_much_better_between_its_attempts_does_not_lose_its_prize() -> (
    None
):
    assert shares([1.0, 1.06], [0.25, 0.002]).teams == ("a",)


def test_a_prize_is_shared_where_other_images_may_turn_the_order() -> None:
    halves = 0.3 + 0.03 * (-1.0) ** np.arange(300)
    known = {
        0: Halved(0.3, FLAT, images="all"),
        1: Halved(0.28, halves - 0.02, images="all"),
    }
    teams = [
        replace(team("a", 0.3, 1.0), run=0),
        replace(team("b", 0.28, 1.0), run=1),
    ]
    assert awards(BEST, teams, known)[0].teams == ("a", "b")
    assert awards([Prize("Accurate", "highest-map")], teams[:1], known)[0].teams == (
        "a",
    )


def test_where_nothing_is_known_of_an_order_only_equal_figures_share() -> None:
    teams = [
        replace(team("a", 0.3, 1.0), run=0),
        replace(team("b", 0.3, 1.000015), run=1),
    ]
    assert awards(BEST, teams)[0].teams == ("a",)
    assert awards(BEST, teams, {0: Halved(0.3, FLAT), 1: None})[0].teams == ("a",)
