"""A contest with a rule of its own: the team is told it, and judge, board, bundle and both verifiers go by it."""

from __future__ import annotations

import html
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lpirc_testsets import TestSet
from referee.contest import open_contest
from referee.evidence.bundle_container import MANIFEST
from referee.judging.standings import standings
from referee.store.run_rules import rules_of
from tests.contest_day import TEAM, Day, contest_day, until
from tests.referee.evidence.proved import (
    SECOND,
    by_main,
    by_second,
    failed,
    opened,
    sentences,
)
from tests.referee.evidence.test_bound_rules import board, bundle, whole

RULES = {
    "floors": 'name = "floors-then-energy"\nleast_accuracy = 1e-9\nleast_images_per_s = 1e-3',
    "limit": 'name = "accuracy-within-limit"\nenergy_limit_wh = 1e-9\nimage_limit_s = 1e5',
}
Ruled = Callable[[str], Day]


@pytest.fixture
def ruled(tmp_path: Path, small_set: TestSet) -> Iterator[Ruled]:
    """A served contest with one of RULES."""
    folder = shutil.copytree(
        small_set.folder,
        tmp_path / "set",
    )
    with contest_day(tmp_path / "day", folder, teams=(TEAM, "bees")) as made:

        def with_rule(name: str) -> Day:
            path = made.folder / "contest.toml"
            path.write_text(f"{path.read_text()}\n[rule]\n{RULES[name]}\n")
            made.serve()
            return made

        yield with_rule


def page_of(day: Day, address: str) -> str:
    assert day.server is not None
    headers = {"Accept": "text/html"}
    return html.unescape(day.server.ask("GET", address, headers=headers).text)


def judged(day: Day, *runs: int) -> None:
    for run in runs:
        assert day.refers("judge", str(run)).returncode == 0


def result(data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(opened(data)["result.json"])
    return found


def test_the_score_of_the_dac_contest_ranks_and_both_verifiers_agree(
    ruled: Ruled,
) -> None:
    day = ruled("floors")
    # Of a shorter run the energy is not known well enough for a logarithm.
    session = whole(day, readings=20)
    assert session["rules"]["rule"] == {
        "name": "floors-then-energy",
        "least_accuracy": 1e-9,
        "least_images_per_s": 1e-3,
    }
    assert rules_of(session["rules"]).sha256 == session["rules_sha256"]
    whole(day, "bees", readings=20)
    judged(day, 1, 2)
    shown = board(day)
    scores = [one["score"] for one in shown["ranking"]]
    assert len(scores) == 2
    assert scores == sorted(scores, reverse=True)
    assert scores == [round(one, 3) for one in scores]
    assert shown["ranked_by"]["unit"] == "DAC-SDC"
    until(lambda: "<small>DAC-SDC</small>" in page_of(day, "/"))
    for address in ("/", f"/teams/{TEAM}"):
        page = page_of(day, address)
        assert "mAP/Wh" not in page, address
        assert "<small>DAC-SDC</small>" in page, address
    page = page_of(day, "/")
    assert "Score: 100 / log2(energy in J), less below the floors of accuracy" in page
    assert "more is better. The score is 100 / log2(energy in J for all" in page
    assert "ranked by floors-then-energy, window" in page
    best = next(one for one in shown["prizes"] if one["rule"] == "best-score")
    assert best["value"] == scores[0]

    data = bundle(day)
    stated = result(data)
    assert "|rule:floors-then-energy,least_accuracy=1e-09,least_images_" in str(
        stated["signature"]
    )
    assert failed(by_main(data)) == failed(by_second(data)) == []
    assert (
        "by the rule of the run. The score is 100 / log2(" in sentences(data)["score"]
    )
    predicate = json.loads(opened(data)[MANIFEST])["predicate"]
    assert predicate["format"] == 6


def test_a_run_outside_a_limit_is_shown_with_its_reason_and_has_no_rank(
    ruled: Ruled,
) -> None:
    day = ruled("limit")
    whole(day)
    judged(
        day,
        1,
    )
    (place,) = board(day)["unranked"]
    assert place["not_ranked_code"] == "outside-rule"
    assert "Wh, more than the limit of 1e-09 Wh" in place["not_ranked"]
    assert place["score"] == place["map"]
    data = bundle(day)
    assert failed(by_main(data)) == failed(by_second(data)) == []
    assert "It is not ranked: the run used" in sentences(data)["score"]
    assert SECOND.LIMITS_NOT_COMPUTED in SECOND.verify(data).notes


def test_a_rule_changed_after_a_run_takes_it_off_the_board_and_does_not_judge_it(
    ruled: Ruled,
) -> None:
    """The organiser who would rather rank by something else, now that the runs are known."""
    day = ruled("floors")
    whole(day)
    judged(
        day,
        1,
    )
    before = result(bundle(day))
    path = day.folder / "contest.toml"
    path.write_text(path.read_text().partition("[rule]")[0])
    assert day.refers("rejudge", "--all").returncode == 0
    after = result(bundle(day))
    assert {**after, "judged_utc": None} == {**before, "judged_utc": None}
    with open_contest(day.folder) as contest:
        found = standings(contest)
    assert [one.run for one in found.left_out] == [1]
    assert found.places == found.unranked == ()


def test_a_log_out_at_once_has_no_score_by_the_dac_contest_and_is_told_why(
    ruled: Ruled,
) -> None:
    """A board of 36 W for half a second: by how much it is above 1 J, only the meter's error would say."""
    day = ruled("floors")
    whole(day)
    judged(day, 1)
    (left_out,) = board(day)["left_out"]
    assert left_out["why"].startswith("its images take ")
    assert "it may be 1 J or less" in left_out["why"]
    data = bundle(day)
    assert result(data)["score"] is None
    assert failed(by_main(data)) == failed(by_second(data)) == []


def test_a_log_out_at_once_has_no_score_above_idle_and_is_told_why(
    tmp_path: Path, small_set: TestSet
) -> None:
    """Guessed rows, and an energy above idle that the meter's start and stop alone could be."""
    folder = shutil.copytree(small_set.folder, tmp_path / "set")
    with contest_day(tmp_path / "day", folder, auto_arm=False) as day:
        path = day.folder / "contest.toml"
        rule = '[rule]\nname = "accuracy-per-excess-wh"\n'
        path.write_text(f"idle_baseline_s = 1\n{path.read_text()}\n{rule}")
        day.serve()
        assert day.server is not None
        key = (day.folder / "operator-key").read_text().strip()
        armed = day.server.ask("POST", "/operator/runs", key, json={"team": TEAM})
        assert armed.json()["idle_power_w"] > 0
        whole(day)
        judged(day, 1)
        (left_out,) = board(day)["left_out"]
        assert left_out["why"].startswith("it used ")
        data = bundle(day)
        assert result(data)["score"] is None
        assert failed(by_main(data)) == failed(by_second(data)) == []
