"""A contest by another rule than accuracy over energy: ranks, prizes, meetings, limits, and who tries to gain by it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lpirc_testsets import TestSet
from referee.clock import Clock
from referee.config import read_config
from referee.contest_rules import Facts
from referee.errors import RefereeError
from referee.findings.rule_findings import rule_advice
from referee.judging.heat_results import heat_results
from referee.judging.judge import judge
from referee.judging.judge_many import judge_with_interval
from referee.judging.meetings import meeting
from referee.judging.ranking import NotRanked
from referee.judging.released_figures import published_figures
from referee.judging.replay_release import mark_of
from referee.judging.rule_checks import BELOW_IDLE, CONTEST_RULE, rule_checks
from referee.judging.run_figures import figures_of
from referee.judging.standings import standings
from referee.report import report_page
from referee.runs.arming import rules_now
from referee.season.season_board import season_board
from referee.season.season_runs import SeasonRun
from referee.store.records import Run, RunState, Score
from tests.referee.factories import START, House, house, reading
from tests.referee.judging.judged_runs import MEASURED_S, READ_EACH_S, closed_run

LEAST = {"name": "least-energy", "least_accuracy": 1e-9}
WITHIN = {"name": "accuracy-within-limit", "energy_limit_wh": 1.5}
EXCESS = {"name": "accuracy-per-excess-wh"}
Halls = Callable[..., House]


@pytest.fixture
def halls(tmp_path: Path, small_set: TestSet) -> Iterator[Halls]:
    """Opens a contest with a rule."""
    opened = []

    def hall(rule: dict[str, object], **keys: Any) -> House:
        made = house(
            tmp_path / "contest",
            small_set,
            rule=rule,
            **keys,
        )
        opened.append(made)
        return made.__enter__()

    yield hall
    for made in opened:
        made.__exit__(
            None,
            None,
            None,
        )


def over(hall: House, team: str, energy_wh: float, **different: Any) -> Run:
    contest = hall.contest
    rules = rules_now(
        contest.config,
        contest.test_set,
        READ_EACH_S,
        0,
    )
    return closed_run(contest, team, energy_wh, rules=rules, **different)


def judged(hall: House, run: Run) -> Score:
    return judge(hall.contest, run.id, Clock())


def test_the_least_energy_is_first_and_wins_the_prize_for_the_best_score(
    halls: Halls,
) -> None:
    hall = halls(LEAST)
    for team, energy_wh in (("ant", 2.0), ("bee", 1.0), ("cat", 3.0)):
        judge_with_interval(
            hall.contest,
            over(hall, team, energy_wh).id,
            Clock(),
        )
    found = standings(hall.contest)
    order = [(one.rank, one.standing.team) for one in found.places]
    assert order == [(1, "bee"), (2, "ant"), (3, "cat")]
    assert [one.standing.score for one in found.places] == [1.0, 2.0, 3.0]
    first = found.places[0].standing
    assert first.score_low is not None
    assert first.score_low < 1.0 < (first.score_high or 0.0)
    best = next(one for one in found.awards if one.rule == "best-score")
    assert best.teams == ("bee",)
    assert best.value == 1.0


def test_equal_energies_share_a_rank_and_a_meeting_is_won_by_the_lesser(
    halls: Halls,
) -> None:
    hall = halls(LEAST)
    runs = [
        over(
            hall,
            team,
            energy_wh,
            heat="final",
        )
        for team, energy_wh in (("ant", 1.0), ("bee", 0.5))
    ]
    for run in runs:
        judged(
            hall,
            run,
        )
    assert [side.points for side in meeting(hall.contest, 1, 2).sides] == [0, 2]
    (heat,) = heat_results(hall.contest)
    assert heat.winner == "bee"
    judged(
        hall,
        over(hall, "cat", 0.5),
    )
    ranks = {one.standing.team: one.rank for one in standings(hall.contest).places}
    assert ranks == {"bee": 1, "cat": 1, "ant": 3}


def test_a_run_outside_a_limit_is_below_the_ranked_ones_and_wins_nothing(
    halls: Halls,
) -> None:
    hall = halls(WITHIN)
    judged(
        hall,
        over(hall, "ant", 1.5),
    )
    judged(
        hall,
        over(hall, "bee", 1.500001),
    )
    found = standings(hall.contest)
    assert [one.standing.team for one in found.places] == ["ant"]
    assert found.places[0].standing.score == found.places[0].standing.map
    (beyond,) = found.unranked
    assert beyond.standing.not_ranked_code is NotRanked.OUTSIDE_RULE
    assert beyond.standing.not_ranked == (
        "the run used 1.500001 Wh, more than the limit of 1.5 Wh"
    )
    assert "bee" not in {team for one in found.awards for team in one.teams}
    assert [side.points for side in meeting(hall.contest, 1, 2).sides] == [2, 0]


def test_a_team_that_keeps_its_board_busy_while_it_should_be_idle_goes_into_review(
    halls: Halls,
) -> None:
    """It would have 30 W subtracted where 10 W are used: its score would be four times as high."""
    hall = halls(
        EXCESS,
        idle_baseline_s=10,
    )
    # 60 W for a minute; idle at 10 W, and said to be idle at 45 W.
    honest = judged(
        hall,
        over(hall, "ant", 1.0, idle_power_w=10.0),
    )
    assert honest.score == honest.map / (1.0 - 10.0 / 60)
    assert not honest.needs_review
    tricked = over(
        hall,
        "bee",
        1.0,
        idle_power_w=45.0,
    )
    powers_w = [10.0] * 20 + [85.0] * 41
    slept = [
        replace(reading(float(second)), power_w=power_w)
        for second, power_w in enumerate(powers_w)
    ]
    hall.store.readings.append(
        tricked.id,
        0.0,
        slept,
    )
    found = judged(
        hall,
        tricked,
    )
    (check,) = [one for one in found.checks if one.code == BELOW_IDLE]
    assert not check.ok
    assert check.severity == "error"
    assert "it slept in its run" in check.sentence
    assert [one.standing.team for one in standings(hall.contest).places] == ["ant"]


def test_a_board_that_draws_its_idle_power_now_and_then_is_not_in_review(
    halls: Halls,
) -> None:
    hall = halls(
        EXCESS,
        idle_baseline_s=10,
    )
    chance = np.random.default_rng(1)
    run = over(
        hall,
        "ant",
        1.0,
        idle_power_w=59.0,
    )
    noisy = [
        replace(
            reading(float(second)),
            power_w=60.0 + chance.normal(0, 1.0),
        )
        for second in range(int(MEASURED_S) + 1)
    ]
    hall.store.readings.append(
        run.id,
        0.0,
        noisy,
    )
    (check,) = [one for one in judged(hall, run).checks if one.code == BELOW_IDLE]
    assert check.ok


def test_a_run_without_readings_is_in_review_since_nothing_says_what_it_drew(
    halls: Halls,
) -> None:
    hall = halls(EXCESS, idle_baseline_s=10)
    run = over(hall, "ant", 1.0, idle_power_w=10.0)
    no_power = [replace(reading(0.0), power_w=math.nan)]
    facts = Facts(accuracy=0.5, energy_wh=1.0, duration_s=60.0, idle_power_w=10.0)
    rule = hall.contest.config.contest_rule
    for readings in ([], no_power):
        checks = rule_checks(run, rule, facts, rule.outcome(facts), readings)
        below = next(one for one in checks if one.code == BELOW_IDLE)
        assert not below.ok
        assert below.figures["below_idle_wh"] is None
        assert "No reading has a power" in below.sentence


@pytest.mark.parametrize(
    ("idle_power_w", "why"),
    [
        (None, "the power of its idle board was not measured when the run was armed"),
        (60.0, "no energy above idle is left"),
        (70.0, "no energy above idle is left"),
    ],
)
def test_a_run_without_energy_above_idle_has_no_score_and_the_board_says_why(
    halls: Halls, idle_power_w: float | None, why: str
) -> None:
    hall = halls(
        EXCESS,
        idle_baseline_s=10,
    )
    found = judged(
        hall,
        over(hall, "ant", 1.0, idle_power_w=idle_power_w),
    )
    assert found.score is None
    (left_out,) = standings(hall.contest).left_out
    assert why in left_out.why
    (check,) = [one for one in found.checks if one.code == CONTEST_RULE]
    assert not check.ok


def test_a_run_of_another_rule_is_not_on_the_board_and_meets_nobody(
    halls: Halls,
) -> None:
    hall = halls(LEAST)
    judged(
        hall,
        over(hall, "ant", 1.0),
    )
    other = replace(
        hall.contest.config,
        rule=read_config(hall.folder).rule,
    )
    assert other.contest_rule.name == "least-energy"
    path = hall.folder / "contest.toml"
    text = path.read_text()
    rule = next(line for line in text.splitlines() if line.startswith("rule = "))
    path.write_text(
        text.replace(f"{rule}\n", ""),
    )
    contest = replace(
        hall.contest,
        config=read_config(hall.folder),
    )
    found = standings(contest)
    assert [one.run for one in found.left_out] == [1]
    judged(
        hall,
        over(hall, "bee", 1.0),
    )
    with pytest.raises(RefereeError, match="armed with another"):
        meeting(
            contest,
            1,
            2,
        )


def test_an_open_run_has_no_score_so_far_and_doctor_says_so(halls: Halls) -> None:
    hall = halls(WITHIN)
    run = over(
        hall,
        "ant",
        1.0,
    )
    figures = figures_of(
        hall.contest,
        run,
        START,
    )
    assert figures.score is None
    found = {one.code: one.sentence for one in rule_advice(hall.contest.config, 1000)}
    assert "with at most 1.5 Wh." in found["ranked-by"]
    assert "no provisional score" in found["ranked-by"]
    assert "least-map-missing" not in found


def test_doctor_says_what_the_score_of_the_dac_contest_gives_away(halls: Halls) -> None:
    floors = {
        "name": "floors-then-energy",
        "least_accuracy": 0.5,
        "least_images_per_s": 2.0,
    }
    config = halls(floors, window_s=60).contest.config
    found = {one.code: one.sentence for one in rule_advice(config, 121)}
    assert "a run answers 120 of its 121 images" in found["window-below-speed"]
    assert "keeps a tenth of the score of its energy" in found["tenth-without-accuracy"]
    careful = replace(config, least_map=0.3)
    codes = {one.code for one in rule_advice(careful, 120)}
    assert not codes & {"window-below-speed", "tenth-without-accuracy"}


def test_a_score_with_an_accuracy_in_it_is_published_no_finer_than_the_accuracy(
    halls: Halls,
) -> None:
    """Below its floor 0.00001 of accuracy is 0.00005 x 100 / log2(energy)."""
    floors = {
        "name": "floors-then-energy",
        "least_accuracy": 0.7,
        "least_images_per_s": 1.0,
    }
    rule = halls(floors).contest.config.contest_rule
    for energy_j in (1.5, 4.0, 30.0, 400.0, 9000.0):
        exact = 100 / math.log2(energy_j) * 0.8765432
        figures = {"map": 0.67531, "energy_wh": energy_j / 3600, "score": exact}
        shown = published_figures(figures, rule)["score"]
        step = 0.00005 * 100 / math.log2(energy_j)
        assert abs(shown - exact) <= 0.5
        for digits in range(4):
            if shown == round(exact, digits):
                assert 10.0**-digits >= 0.99 * step
                break
        else:
            pytest.fail(f"{shown} has more than three decimals")


def test_a_replay_fits_its_place_on_the_board_however_the_score_is_rounded(
    halls: Halls,
) -> None:
    rule = halls(EXCESS, idle_baseline_s=10).contest.config.contest_rule
    exact = {"map": 0.4444444, "energy_wh": 1.0, "score": 0.4444444 / 0.0499}
    published = published_figures(exact, rule)
    assert published != exact
    assert mark_of(published, rule) == mark_of(exact, rule)


def test_a_season_counts_no_run_of_another_rule(halls: Halls) -> None:
    hall = halls(LEAST)
    run = over(
        hall,
        "ant",
        1.0,
    )
    found = judged(
        hall,
        run,
    )
    run = hall.store.runs.get(run.id)
    assert run.state is RunState.JUDGED
    board = season_board(
        [SeasonRun(hall.folder, run, found, None, None)],
    )
    assert board.places == []
    assert "a season ranks by accuracy over energy alone" in board.left_out[0]


def test_the_report_of_a_run_says_its_rule_and_gives_no_advice_that_is_not_known(
    halls: Halls,
) -> None:
    hall = halls(LEAST)
    for team, energy_wh in (("ant", 1.0), ("bee", 2.0)):
        judge_with_interval(
            hall.contest,
            over(hall, team, energy_wh).id,
            Clock(),
        )
    run = hall.store.runs.get(2)
    page = report_page(
        hall.contest,
        run,
    )
    assert "2.0000 Wh" in page
    assert "mAP/Wh" not in page
    assert "The score is the energy in Wh, less is better" in page
    assert "is computed only for a score that is accuracy over energy" in page
    assert "On the board: rank 2" in page
    assert "When to log out" not in page
