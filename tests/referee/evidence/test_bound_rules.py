"""The rules that a run was armed with stay its rules: for the judge, the team, the board and whoever verifies."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from lpirc_testsets import TestSet
from referee.contest import open_contest
from referee.judging.public_documents import public_board
from referee.judging.run_figures import current_judgement
from referee.judging.standings import standings
from referee.store.run_rules import rules_of
from tests.contest_day import TEAM, Day, contest_day, until
from tests.referee.evidence.proved import by_main, failed, guesses, opened, sentences
from tests.referee.factories import START
from tests.referee.judging.test_rejudge import correct


@pytest.fixture
def day(tmp_path: Path, small_set: TestSet) -> Iterator[Day]:
    """A served contest on a test set of its own, whose ground truth may be corrected."""
    folder = shutil.copytree(small_set.folder, tmp_path / "set")
    with contest_day(tmp_path / "day", folder, teams=(TEAM, "bees")) as made:
        made.serve()
        yield made


def closed(day: Day, token: str) -> None:
    assert day.server is not None
    assert day.server.ask("DELETE", "/v1/session", token).status_code == 200


def whole(day: Day, team: str = TEAM, readings: int = 2) -> dict[str, Any]:
    """A run over HTTP that lasts for so many readings: its log-in."""
    session = day.login(team)
    token = day.fetched(session["token"])
    run = session["run"]
    with day.store() as store:
        rows = guesses(store, run, day.testset, seed=run)
        until(lambda: len(store.readings.of_run(run, 0.0)) >= readings)
    assert day.post(token, rows).status_code == 202
    closed(day, token)
    return session


def rewritten(day: Day, **changes: str) -> None:
    """Edit contest.toml: other values of keys, or new keys before all others."""
    path = day.folder / "contest.toml"
    lines = path.read_text().splitlines()
    for key, value in changes.items():
        lines = [
            f"{key} = {value}",
            *(line for line in lines if line.partition(" =")[0] != key),
        ]
    path.write_text("\n".join(lines))


def bundle(day: Day, run: int = 1) -> bytes:
    out = day.folder / f"{run}.zip"
    done = day.refers("bundle", "export", str(run), "-o", str(out))
    assert done.returncode == 0, done.stderr
    return out.read_bytes()


def board(day: Day) -> dict[str, Any]:
    with open_contest(day.folder) as contest:
        found: dict[str, Any] = json.loads(public_board(contest, START))
        return found


def test_a_rule_edited_after_a_run_changes_neither_its_figures_nor_its_rank_and_a_run_armed_later_has_it(
    day: Day,
) -> None:
    session = whole(day)
    assert session["rules"]["metric"] == "lpirc"
    assert rules_of(session["rules"]).sha256 == session["rules_sha256"]
    assert day.refers("judge", "1").returncode == 0
    before = json.loads(opened(bundle(day))["result.json"])
    rewritten(
        day,
        metric='"voc-area"',
        least_map="1.0",
        count_unserved="true",
    )
    assert day.refers("rejudge", "--all").returncode == 0
    data = bundle(day)
    after = json.loads(opened(data)["result.json"])
    assert {**after, "judged_utc": None} == {**before, "judged_utc": None}
    assert failed(by_main(data)) == []
    assert sentences(data)["judgements"].count("by the run's rules") == 2
    assert day.server is not None
    assert day.server.end() == 0
    day.serve()
    later = whole(day, "bees")
    assert later["rules"]["metric"] == "voc-area"
    assert later["rules"]["least_map"] == 1.0
    assert day.refers("judge", "2").returncode == 0
    with open_contest(day.folder) as contest:
        found = standings(contest)
        assert [one.run for one in found.left_out] == [1]  # like is compared with like
        assert [place.standing.run for place in found.unranked] == [2]


def test_a_rule_edited_while_a_run_is_open_is_not_its_rule(day: Day) -> None:
    session = day.login()
    token = day.fetched(session["token"])
    rewritten(day, metric='"voc-area"')
    assert day.server is not None
    assert day.server.end() == 0
    day.serve()  # the run goes on, and the contest has another metric
    rules = day.server.ask("GET", "/v1/session", token).json()["rules"]
    assert rules == session["rules"]
    with day.store() as store:
        status_code = day.post(
            token,
            guesses(store, 1, day.testset, seed=1),
        ).status_code
        assert status_code == 202
    closed(day, token)
    assert day.refers("judge", "1").returncode == 0
    with open_contest(day.folder) as contest:
        judged = current_judgement(contest, contest.store.runs.get(1))
        assert judged is not None
        assert judged.signature.startswith("lpirc|")
    assert failed(by_main(bundle(day))) == []


def test_a_run_judged_by_another_metric_says_so_everywhere(day: Day) -> None:
    whole(day)
    assert day.refers("judge", "1").returncode == 0
    assert day.server is not None
    assert day.server.end() == 0
    rewritten(day, metric='"voc-area"')
    done = day.refers(
        "rejudge", "1", "--metric", "voc-area", "--reason", "the old one was wrong"
    )
    assert done.returncode == 0, done.stderr
    told = sentences(bundle(day))
    words = "metric voc-area instead of the run's lpirc"
    assert failed(by_main(bundle(day))) == ["rules"]
    assert (
        f"judged by rules other than those recorded in its chain: {words}"
        in told["rules"]
    )
    assert words in told["judgements"]
    assert "by the run's rules" in told["judgements"]
    (place,) = board(day)["ranking"]
    assert words in place["differs"]
    assert place["other_rules"] == [words]
    assert words in day.refers("leaderboard").stdout
    with day.store() as store:
        (act,) = [one for one in store.log.of_run(1) if one.get("action") == "rejudge"]
    assert act["metric"] == "voc-area"
    assert act["reason"] == "the old one was wrong"
    rewritten(day, metric='"lpirc"')
    again = json.loads(day.refers("rejudge", "1", "--metric", "coco", "--json").stdout)
    (change,) = again["changes"]
    assert change["rank"][1] is None, "the board is by another metric"


def test_a_truth_corrected_twice_shows_both_corrections_each_signed(day: Day) -> None:
    whole(day)
    assert day.refers("judge", "1").returncode == 0
    assert day.server is not None
    assert day.server.end() == 0
    with open_contest(day.folder) as contest:
        first = contest.test_set
    digests = [first.digest]
    newest = first
    for number in (1, 2):
        newest = correct(newest, day.testset)
        digests.append(newest.digest)
        returncode = day.refers(
            "rejudge", "--all", "--reason", f"box {number}"
        ).returncode
        assert returncode == 0
    assert len({*digests}) == 3
    data = bundle(day)
    assert failed(by_main(data)) == []
    told = sentences(data)
    for old, new in pairwise(digests):
        assert f"from {old[:12]} to {new[:12]} by " in told["testset"]
    assert "except that the ground truth was corrected" in told["rules"]
    shown = board(day)["corrections"]
    assert [(one["old"], one["new"], one["runs"], one["reason"]) for one in shown] == [
        (digests[0], digests[1], [1], "box 1"),
        (digests[1], digests[2], [1], "box 2"),
    ]
    assert all(one["by"] and one["utc"] for one in shown)


def test_a_truth_that_is_put_back_is_a_correction_too(day: Day) -> None:
    whole(day)
    assert day.refers("judge", "1").returncode == 0
    assert day.server is not None
    assert day.server.end() == 0
    kept = shutil.copytree(day.testset, day.folder / "kept")
    with open_contest(day.folder) as contest:
        correct(contest.test_set, day.testset)
    assert day.refers("rejudge", "--all").returncode == 0
    shutil.rmtree(day.testset)
    shutil.copytree(kept, day.testset)
    refused = day.refers("judge", "1")
    assert refused.returncode == 1
    assert "judge it again with: referee rejudge 1" in refused.stdout + refused.stderr
    assert day.refers("rejudge", "1").returncode == 0
    data = bundle(day)
    assert failed(by_main(data)) == []
    assert sentences(data)["testset"].count(" by ") == 2
    assert sentences(data)["rules"].endswith("and the run was judged by them.")


def test_the_rules_of_a_restored_contest_of_an_older_form_are_not_bound_and_that_is_said(
    day: Day,
) -> None:
    whole(day)
    assert day.refers("judge", "1").returncode == 0
    assert day.server is not None
    assert day.server.end() == 0
    with closing(sqlite3.connect(day.folder / "contest.db")) as database, database:
        database.execute("UPDATE runs SET rules = NULL")
        database.execute("UPDATE posts SET readings = NULL, meter = NULL")
        database.execute("UPDATE scores SET rules = NULL")
        for table, columns in (
            ("runs", ["rules"]),
            ("posts", ["readings", "meter"]),
            ("scores", ["rules"]),
        ):
            for column in columns:
                database.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        database.execute("PRAGMA user_version = 15")
    out = day.folder / "old.zip"
    assert day.refers("bundle", "export", "1", "-o", str(out)).returncode == 0
    told = sentences(out.read_bytes())
    for name in ("rules", "judgements", "meter-chain"):
        assert (
            told[name]
            == "An earlier version armed the run and did not record its rules in its chain."
        )
    (place,) = board(day)["ranking"]
    assert place["rules_sha256"] is None
    assert place["other_rules"] == []
    stdout = day.refers("run", "show", "1").stdout
    assert "rules none recorded (armed by an earlier version)" in stdout
