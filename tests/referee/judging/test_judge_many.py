"""Many runs judged by workers: the same as one after the other, each scoring made once."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lpirc_testsets import TestSet, synthesize
from referee.contest import Contest, create_contest, open_contest
from referee.judging import block_scoring, judge_many
from referee.judging.judge_many import job_of, judge_with_interval
from referee.store.model_records import JobKind, JobState
from referee.store.records import Run, RunState
from referee.workers import worker_processes
from tests.contest_day import called
from tests.referee.factories import DrivenClock, config_text
from tests.referee.judging.sent_runs import closed_run, guesses

CLOCK = DrivenClock()


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> TestSet:
    return synthesize(
        tmp_path_factory.mktemp("sets") / "set",
        images=8,
        categories=3,
        seed=4,
        size=(96, 64),
    )


@pytest.fixture
def folder(tmp_path: Path, images: TestSet) -> Path:
    """Five closed runs, of which the last two sent the same."""
    test_set = shutil.copytree(images.folder, tmp_path / "set")
    create_contest(tmp_path / "contest", config_text(replace(images, folder=test_set)))
    with open_contest(tmp_path / "contest") as contest:
        for number in range(5):
            rows = guesses(contest, 0.9 - 0.2 * min(number, 3), seed=1)
            closed_run(
                contest,
                rows,
                team=f"team {number}",
                energy_wh=0.1 + number / 100,
            )
    return tmp_path / "contest"


@pytest.fixture
def contest(folder: Path) -> Iterator[Contest]:
    with open_contest(folder) as opened:
        yield opened


def judged(folder: Path, *options: str) -> list[Any]:
    done = called("judge", "--all", "--json", *options, "--contest", str(folder))
    assert done.returncode == 0
    assert done.stderr == ""
    documents: list[Any] = json.loads(done.stdout)
    return documents


def test_workers_judge_as_one_process_does(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "alone")
    alone = judged(tmp_path / "alone")
    assert len(alone) == 5
    assert alone[0]["interval"] is not None
    assert judged(folder, "--workers", "2") == alone
    with open_contest(folder) as contest:
        assert [(one.about, one.state) for one in contest.store.jobs.all()] == [
            ("run 1", JobState.DONE),
            ("run 2", JobState.DONE),
            ("run 3", JobState.DONE),
            ("run 4, 5", JobState.DONE),
        ]
        assert {run.state for run in contest.store.runs.find()} == {RunState.JUDGED}


def test_large_runs_are_scored_by_blocks_to_the_same_bits(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for copy in ("alone", "by blocks"):
        shutil.copytree(folder, tmp_path / copy)
    alone = judged(tmp_path / "alone")
    for module in (worker_processes, judge_many):
        monkeypatch.setattr(module, "MEMORY_BYTES", 5 * block_scoring.BYTES_A_ROW)
    monkeypatch.setattr(block_scoring, "BLOCK_ROWS", 6)
    monkeypatch.setattr(judge_many, "score_whole", None)
    assert judged(folder, "--workers", "1") == alone
    assert judged(tmp_path / "by blocks") == alone


def test_what_is_known_is_not_scored_again(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judged(folder)
    with open_contest(folder) as contest:
        monkeypatch.setattr(judge_many, "score_whole", None)
        seen: list[int] = []
        judge_many.score_runs(
            contest,
            contest.store.runs.find(),
            CLOCK,
            None,
            lambda run, _: seen.append(run.id),
            judge_many.not_scored,
        )
        assert seen == [1, 2, 3, 4, 5]


def test_what_another_referee_judges_meanwhile_is_not_judged_twice_and_what_it_voids_not_at_all(
    folder: Path,
    contest: Contest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def after_another(its: Contest, *others: Any) -> None:
        judge_with_interval(contest, 1, CLOCK)
        contest.store.runs.change(2, [RunState.CLOSED], state=RunState.VOID.value)
        judge_many.score_runs(its, *others)

    monkeypatch.setattr("referee.cli.judge_command.score_runs", after_another)
    told = called(
        "judge", "--all", "--workers", "1", "--json", "--contest", str(folder)
    )
    assert told.stderr == (
        "referee: Run 2 was not judged: Run 2 is void; only a closed run can be judged.\n"
    )
    assert [one["run"] for one in json.loads(told.stdout)] == [1, 3, 4, 5]
    every = [contest.store.log.of_run(run) for run in range(1, 6)]
    judged = [
        run
        for run, its in enumerate(every, 1)
        for one in its
        if one["kind"] == "judged"
    ]
    assert sorted(judged) == [1, 3, 4, 5]


def test_a_scoring_is_stored_before_its_runs_are_judged(contest: Contest) -> None:
    seen: list[int] = []

    def done(run: Run, _: object) -> None:
        assert contest.store.jobs.scoring(job_of(contest, run).name) is not None
        seen.append(run.id)

    judge_many.score_runs(
        contest,
        contest.store.runs.find()[:1],
        CLOCK,
        None,
        done,
        judge_many.not_scored,
    )
    assert seen == [1]


@pytest.mark.parametrize("how", [["--workers", "1"], []])
def test_a_run_whose_scoring_fails_is_named_with_the_reason_and_the_others_are_judged(
    folder: Path,
    contest: Contest,
    how: list[str],
) -> None:
    # As a damaged disk would.
    with (
        closing(sqlite3.connect(folder / "contest.db")) as connection,
        connection,
    ):
        connection.execute("UPDATE posts SET rows = zeroblob(56) WHERE run = 2")
        connection.execute("UPDATE posts SET rows = x'ff' || rows WHERE run = 3")
    done = called("judge", "--all", *how, "--json", "--contest", str(folder))
    assert done.returncode == 1
    assert "referee: Run 2 was not judged: " in done.stderr
    assert "Run 3 was not judged: " in done.stderr
    assert [one["run"] for one in json.loads(done.stdout)] == [1, 4, 5]
    assert any(event["kind"] == "judge-failed" for event in contest.store.log.of_run(2))
    if not how:
        return
    listed = json.loads(called("jobs", "--json", "--contest", str(folder)).stdout)
    assert [(one["about"], one["state"], one["failures"]) for one in listed] == [
        ("run 2", "failed", 3),
        ("run 3", "failed", 3),
    ]
    assert all(one["reason"] for one in listed)


def test_jobs_are_listed_and_cancelled(contest: Contest, folder: Path) -> None:
    where = ("--contest", str(folder))
    assert called("jobs", *where).stderr == "No job is open, and none has failed.\n"
    names = [job_of(contest, run).name for run in contest.store.runs.find()[:3]]
    contest.store.jobs.add(
        JobKind.SCORING,
        {name: f"run {n}" for n, name in enumerate(names, 1)},
        CLOCK.utc(),
    )
    contest.store.jobs.lease(JobKind.SCORING, "hall 7", CLOCK.utc(), 3600)
    shown = called("jobs", *where).stdout
    assert "hall 7" in shown
    assert "leased" in shown
    unknown = called("jobs", "--cancel", "zz", *where)
    assert unknown.returncode == 1
    advice = f"see: referee jobs --all --contest {where[1]}"
    assert unknown.stderr == f"referee: There is no job 'zz'; {advice}\n"
    assert called("jobs", "--cancel", names[1][:12], *where).stderr.startswith(
        "1 cancelled."
    )
    assert called("jobs", "--cancel", "all", *where).stderr.startswith("2 cancelled.")
    states = [
        one["state"]
        for one in json.loads(called("jobs", "--all", "--json", *where).stdout)
    ]
    assert states == ["cancelled"] * 3
    assert judged(folder, "--workers", "1")  # they are taken up again
