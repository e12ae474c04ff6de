from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from referee.store.records import RunState, Score, ScoreInterval
from tests.contest_day import called
from tests.referee.factories import START, House, house, stored_run
from testsets import TestSet


@pytest.fixture
def judged(tmp_path: Path, small_set: TestSet) -> Iterator[House]:
    """Three judged teams, the first two within each other's interval, and a void run that was the best of all."""
    with house(tmp_path / "contest", small_set) as made:
        for team, value in (("ant", 0.30), ("bee", 0.29), ("cat", 0.10), ("dog", 0.90)):
            run = stored_run(made.store, team=team, testset_digest=small_set.digest).id
            made.store.change_run(run, (RunState.ARMED,), state="judged")
            made.store.add_score(
                Score(run, START.isoformat(), value, 1.0, value, 3.6, 5, 7, {1: value}, "lpirc|iou:0.5", ())
            )
            low, high = value - 0.05, value + 0.05
            made.store.add_interval(run, ScoreInterval(0.95, 1000, 0, low, high, low, high, 0.01))
        made.store.change_run(4, (RunState.JUDGED,), state="void", void_reason="wrong board")
        yield made


def test_the_leaderboard_ranks_judged_runs_and_leaves_void_ones_out(judged: House) -> None:
    told = called("leaderboard", "--contest", str(judged.folder), "--json")
    rows = json.loads(told.stdout)
    assert [(row["rank"], row["team"], row["level_with"]) for row in rows] == [
        (1, "ant", ["bee"]),
        (2, "bee", ["ant"]),
        (3, "cat", []),
    ]
    assert (rows[0]["score"], rows[0]["score_low"], rows[0]["energy_wh"]) == (0.30, 0.25, 1.0)


def test_the_table_and_the_csv_say_the_same(judged: House) -> None:
    where = ("--contest", str(judged.folder))
    rows = list(csv.DictReader(io.StringIO(called("leaderboard", *where, "--csv").stdout)))
    assert [row["team"] for row in rows] == ["ant", "bee", "cat"]
    assert rows[0]["level_with"] == "bee"
    table = called("leaderboard", *where).stdout
    assert table.index("ant") < table.index("cat")
    assert "overlaps bee" in " ".join(table.split())


def test_two_forms_at_once_are_a_usage_error(judged: House) -> None:
    assert called("leaderboard", "--contest", str(judged.folder), "--csv", "--json").returncode == 2


def test_runs_by_other_rules_are_left_out_and_named(judged: House) -> None:
    config = judged.folder / "contest.toml"
    config.write_text(config.read_text().replace("window_s = 600", "window_s = 60"))
    told = called("leaderboard", "--contest", str(judged.folder), "--json")
    assert json.loads(told.stdout) == []
    named = [line.partition(" is ")[0] for line in told.stderr.splitlines()]
    assert named == ["Run 1 of ant", "Run 2 of bee", "Run 3 of cat"]
