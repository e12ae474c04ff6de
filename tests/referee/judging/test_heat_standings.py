"""Knock-out and round robin from the results of heats: who is out, what is next, what is left to play."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lpirc_testsets import TestSet
from referee.config import read_config
from referee.errors import RefereeError
from referee.judging.heat_results import heat_results
from referee.judging.heat_standings import KnockOut, knock_out, round_robin
from tests.contest_day import HASH, called
from tests.referee.factories import START, House, config_text, house
from tests.referee.judging.heat_runs import FAILED, judged_side, made, won

Pairs = list[tuple[str, str]]


@pytest.fixture
def hall(tmp_path: Path, small_set: TestSet) -> Iterator[House]:
    with house(tmp_path / "contest", small_set, heats="knock-out") as built:
        yield built


def bracket(hall: House) -> KnockOut:
    return knock_out(heat_results(hall.contest))


def first_round(hall: House) -> None:
    won(hall.store, "a", "ant", "bee", round_=1)
    won(hall.store, "b", "cat", "dog", round_=1)


def test_winners_go_on_in_the_order_of_their_heats_until_one_is_left(
    hall: House,
) -> None:
    first_round(hall)
    found = bracket(hall)
    assert found.out == {"bee": 1, "dog": 1}
    assert found.next == (("ant", "cat"),)
    assert found.winner is None
    won(hall.store, "final", "cat", "ant", round_=2)
    found = bracket(hall)
    assert found.winner == "cat"
    assert found.out == {"bee": 1, "dog": 1, "ant": 2}
    assert found.next == ()
    assert found.doubts == ()


def test_nobody_is_out_and_nothing_is_next_while_a_heat_has_no_winner(
    hall: House,
) -> None:
    won(hall.store, "a", "ant", "bee", round_=1)
    made(hall.store, "b", round_=1)
    judged_side(hall.store, "cat", "b")
    judged_side(hall.store, "dog", "b", 2.0, FAILED)
    found = bracket(hall)
    assert found.out == {"bee": 1}
    assert set(found.still_in) == {"ant", "cat", "dog"}
    assert found.next == ()
    assert [one.name for one in found.rounds[0].undecided] == ["b"]


def test_a_tied_heat_that_is_run_again_is_replaced_by_the_new_one(hall: House) -> None:
    made(hall.store, "a", round_=1)
    judged_side(hall.store, "ant", "a")
    judged_side(hall.store, "bee", "a")
    assert bracket(hall).winner is None
    won(hall.store, "a again", "bee", "ant", round_=1)
    assert bracket(hall).winner == "bee"


def test_the_odd_one_has_no_opponent(hall: House) -> None:
    first_round(hall)
    won(hall.store, "c", "elk", "fox", round_=1)
    assert bracket(hall).next == (("ant", "cat"), ("elk",))


def test_what_does_not_fit_a_knock_out_is_said(hall: House) -> None:
    first_round(hall)
    won(hall.store, "c", "bee", "ant", round_=2)
    won(hall.store, "d", "cat", "ant", round_=2)
    assert bracket(hall).doubts == (
        "bee is out since round 1 and runs in round 2",
        "ant is in 2 heats of round 2",
    )


def test_heats_without_a_round_are_in_no_standings(hall: House) -> None:
    won(hall.store, "show", "ant", "bee")
    assert bracket(hall).rounds == ()
    assert bracket(hall).winner is None


def test_a_round_robin_counts_points_and_says_what_is_left_to_play(
    hall: House,
) -> None:
    first_round(hall)
    made(hall.store, "c", round_=2)
    judged_side(hall.store, "ant", "c")
    judged_side(hall.store, "cat", "c")
    found = round_robin(heat_results(hall.contest), ["ant", "bee", "cat", "dog"])
    table = [(row.rank, row.team, row.points, row.played) for row in found.table]
    assert table == [
        (1, "ant", 3, 2),
        (1, "cat", 3, 2),
        (3, "bee", 0, 1),
        (3, "dog", 0, 1),
    ]
    left: Pairs = [("ant", "dog"), ("bee", "cat"), ("bee", "dog")]
    assert [*found.to_play] == left
    assert found.played == 3
    assert (found.table[0].won, found.table[0].tied, found.table[0].lost) == (1, 1, 0)


def test_a_meeting_without_any_score_is_lost_by_both(hall: House) -> None:
    made(hall.store, "a", round_=1)
    judged_side(hall.store, "ant", "a", 0.0)
    judged_side(hall.store, "bee", "a", 0.0)
    found = round_robin(heat_results(hall.contest), [])
    assert [(row.points, row.lost) for row in found.table] == [(0, 1), (0, 1)]


def printed(hall: House, *options: str) -> Any:
    return called("heat", "standings", *options, "--contest", str(hall.folder))


def test_the_command_prints_heats_and_standings(hall: House) -> None:
    assert "No heat has been made yet" in printed(hall).stderr
    first_round(hall)
    made(hall.store, "c", round_=2)
    judged_side(hall.store, "ant", "c")
    judged_side(hall.store, "cat", "c", 1.0, FAILED)
    lines = printed(hall).stdout.splitlines()
    assert lines == [
        "Heat a, round 1: ant 2 : bee 0. It is won by ant.",
        "Heat b, round 1: cat 2 : dog 0. It is won by cat.",
        "Heat c, round 2: ant - : cat -. It is not decided: cat: its run is in review.",
        "",
        "out in round 1: bee",
        "out in round 1: dog",
        "still in: ant",
        "still in: cat",
    ]
    found = json.loads(printed(hall, "--json").stdout)
    assert found["standings"]["still_in"] == ["ant", "cat"]
    assert found["heats"][0]["sides"][0]["points"] == 2


def test_the_command_prints_the_table_of_a_round_robin(
    tmp_path: Path,
    small_set: TestSet,
) -> None:
    with house(tmp_path / "other", small_set, heats="round-robin") as built:
        built.store.teams.add("voles", HASH, START)
        won(built.store, "a", "badgers", "voles", round_=1)
        lines = printed(built).stdout.splitlines()
    assert lines[2] == "  1    2  badgers  (1 won, 0 tied, 0 lost)"
    assert "1 of 3 meetings are played." in lines


def test_another_kind_of_standings_is_refused(
    tmp_path: Path,
    small_set: TestSet,
) -> None:
    (tmp_path / "contest.toml").write_text(config_text(small_set, heats="ladder"))
    with pytest.raises(RefereeError, match="heats = 'ladder' must be one of"):
        read_config(tmp_path)


def test_a_heat_that_is_run_again_takes_its_place_after_those_before_it(
    hall: House,
) -> None:
    made(hall.store, "a", round_=1)
    judged_side(hall.store, "ant", "a")
    judged_side(hall.store, "bee", "a")
    won(hall.store, "b", "cat", "dog", round_=1)
    won(hall.store, "a again", "bee", "ant", round_=1)
    (first,) = bracket(hall).rounds
    assert first.names == ("b", "a again")
