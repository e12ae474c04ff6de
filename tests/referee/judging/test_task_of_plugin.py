"""Runs of a task that is a plug-in: judged anew when its code has changed, and read when it is not installed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from lpirc_testsets import TestSet
from referee.clock import Clock
from referee.contest import Contest, create_contest, open_contest
from referee.errors import RefereeError
from referee.judging import time_limit
from referee.judging.contest_status import Known, StatusReader
from referee.judging.judge import Again
from referee.judging.judge_many import judge_with_interval
from referee.judging.provisional_scores import FollowedRuns
from referee.judging.rejudge import rejudge
from referee.web import judge_process
from referee.web.config_watch import note_settings
from referee.web.listener import Listen
from referee.web.server import serve
from tests.contest_day import called, until
from tests.plugins_installed import Installer, plugins_in
from tests.referee.factories import START, DrivenClock, config_text
from tests.referee.judging.tallied_runs import (
    PACKAGE,
    install,
    source_with,
    tallied_run,
)

CLOCK = DrivenClock()


@pytest.fixture
def installer(tmp_path: Path) -> Iterator[Installer]:
    (tmp_path / "plugins").mkdir()
    with plugins_in(tmp_path / "plugins") as installer:
        install(installer)
        yield installer


@pytest.fixture
def contest(
    tmp_path: Path, small_set: TestSet, installer: Installer
) -> Iterator[Contest]:
    create_contest(tmp_path / "contest", config_text(small_set, task="tally"))
    with open_contest(tmp_path / "contest") as opened:
        yield opened


def test_a_plug_in_whose_code_changed_scores_anew_at_the_same_version(
    contest: Contest, installer: Installer
) -> None:
    run = tallied_run(contest)
    assert 0 < judge_with_interval(contest, run.id, CLOCK).map < 1
    installer.change(PACKAGE, source_with(figures="return Figures(0.25)"))
    found = rejudge(contest, run.id, CLOCK, Again("ann"))
    assert found.changes[0].map[1] == 0.25
    installer.change(PACKAGE, source_with(figures="return Figures(0.75)"))
    assert judge_with_interval(contest, run.id, CLOCK).map == 0.75


MISSING = (
    "The task tally is part of lpirc_tally 1.0, which is not installed here: pip install lpirc_tally==1.0; stored "
    "results can be read without it."
)


def test_stored_results_are_read_without_the_plug_in(
    contest: Contest, installer: Installer
) -> None:
    run = tallied_run(contest)
    judged = judge_with_interval(contest, run.id, CLOCK)
    installer.uninstall(PACKAGE)
    where = ("--contest", str(contest.folder))
    listed = called("run", "list", "--json", *where)
    assert json.loads(listed.stdout)[0]["map"] == judged.map
    board = called("leaderboard", *where)
    assert f"{judged.map:.5f}" in board.stdout
    assert "mAP" not in board.stdout
    page = called("report", "1", *where)
    assert page.returncode == 0, page.stderr
    report = (contest.folder / "reports" / "run-1.html").read_text()
    assert f"{judged.map:.5f}" in report
    assert MISSING in report


def test_what_needs_a_missing_plug_in_names_its_package(
    contest: Contest, installer: Installer
) -> None:
    note_settings(contest, CLOCK)  # as a server does at its start
    run = tallied_run(contest)
    installer.uninstall(PACKAGE)
    where = ("--contest", str(contest.folder))
    assert called("judge", "1", *where).stderr == f"referee: {MISSING}\n"
    told = called("judge", "--all", *where)
    assert told.stderr == f"referee: Run {run.id} was not judged: {MISSING}\n"
    again = called("rejudge", "1", *where)
    assert again.stderr == f"referee: {MISSING}\n"
    assert MISSING in called("doctor", str(contest.folder)).stdout
    with pytest.raises(RefereeError, match=r"pip install lpirc_tally==1\.0"):
        serve(contest.folder, Listen(port=0), print)


def test_one_run_of_a_missing_plug_in_keeps_no_other_run_from_its_judgement(
    contest: Contest, installer: Installer
) -> None:
    tallied_run(contest)
    text = (contest.folder / "contest.toml").read_text()
    installer.uninstall(PACKAGE)
    (contest.folder / "contest.toml").write_text(text.replace("tally", "boxes"))
    with open_contest(contest.folder) as now:
        of_boxes = tallied_run(now, [], team="bee")
        assert of_boxes.task == "boxes"
        told = called("judge", "--all", "--json", "--contest", str(now.folder))
    assert [one["run"] for one in json.loads(told.stdout)] == [of_boxes.id]
    assert "Run 1 was not judged: There is no task 'tally'" in told.stderr


FAILS = "The plug-in lpirc.tasks tally = lpirc_tally:COUNTING of lpirc_tally 1.0 cannot be used: "


@pytest.mark.parametrize(
    ("show", "words"),
    [
        ("return 'text'", f"{FAILS}its show gave 'text', which is no Shown"),
        ("return Shown(7)", f"{FAILS}its show gave Shown(sentence=7, png=None)"),
        ("1 / 0", f"{FAILS}its show failed: ZeroDivisionError: division by zero"),
        ("return Shown('<b>bold</b>', b'none')", "<b>bold</b>"),
        ("return Shown('so long ' * 9999)", f"{'so long ' * 25}…"),
    ],
)
def test_whatever_a_plug_in_shows_the_report_is_written_and_says_so(
    contest: Contest, installer: Installer, show: str, words: str
) -> None:
    run = tallied_run(contest)
    judge_with_interval(contest, run.id, CLOCK)
    installer.change(PACKAGE, source_with(show=show))
    told = called("report", "1", "--contest", str(contest.folder))
    assert told.returncode == 0, told.stderr
    page = (contest.folder / "reports" / "run-1.html").read_text()
    assert words in unescape(page)
    assert "<b>bold" not in page
    assert "data:image/png" not in page


def test_a_run_that_the_plug_in_fails_on_keeps_no_other_from_its_judgement(
    contest: Contest, installer: Installer
) -> None:
    runs = [
        tallied_run(contest, [count] * len(contest.test_set.images), team=team)
        for team, count in (("ant", 3), ("bee", 7), ("cat", 4))
    ]
    body = "return np.array([1.0, 0.0, 1.0]) if given[1] != 7 else np.zeros(2)"
    installer.change(PACKAGE, source_with(statistics=body))
    told = called("judge", "--all", "--json", "--contest", str(contest.folder))
    assert [one["run"] for one in json.loads(told.stdout)] == [runs[0].id, runs[2].id]
    assert told.stderr.startswith(f"referee: Run {runs[1].id} was not judged: {FAILS}")
    assert "its statistics" in told.stderr or "its figures" in told.stderr
    events = [one["kind"] for one in contest.store.log.of_run(runs[1].id)]
    assert "judge-failed" in events


def test_what_keeps_a_live_figure_from_being_made_stands_in_the_attention_list(
    contest: Contest, installer: Installer
) -> None:
    run = tallied_run(contest)
    other = tallied_run(contest, [7] * len(contest.test_set.images), team="bee")
    body = "return np.array([1.0, 0.0, 1.0]) if given[1] != 7 else {}['seven']"
    installer.change(PACKAGE, source_with(statistics=body))
    contest.store.runs.change(run.id, ("closed",), state="open")
    contest.store.runs.change(other.id, ("closed",), state="open")
    for _ in range(2):  # as a process that was started again
        FollowedRuns(contest, CLOCK).tick()
    assert contest.store.provisional.of_run(run.id).map is not None
    found = [one for one in attention(contest) if one["code"] == "live-failed"]
    assert [one["run"] for one in found] == [other.id]
    assert f"{FAILS}its statistics failed: KeyError: 'seven'" in found[0]["sentence"]
    kinds = [one["kind"] for one in contest.store.log.of_run(other.id)]
    assert kinds.count("live-failed") == 1
    assert found[0]["sentence"].startswith(f"The figures of run {other.id} of bee")
    contest.store.runs.change(other.id, ("open",), state="closed")
    contest.store.log.append(START, other.id, "judge-failed", sentence="No test set.")
    codes = [one["code"] for one in attention(contest)]
    assert "judge-failed" in codes
    assert "live-failed" not in codes, "the judge's failure says enough"
    installer.change(PACKAGE, source_with())
    judge_with_interval(contest, other.id, CLOCK)
    assert "live-failed" not in [one["code"] for one in attention(contest)]


def attention(contest: Contest) -> list[dict[str, object]]:
    """What the console and `referee status` show."""
    status = StatusReader(contest).read(CLOCK.utc(), Known())
    return status["attention"]


def test_a_plug_in_that_hangs_keeps_no_other_run_from_its_live_figures(
    contest: Contest, installer: Installer, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = tallied_run(contest, [7] * len(contest.test_set.images))
    other = tallied_run(contest, team="bee")
    body = "\n    while given[1] == 7: pass\n    return np.array([1.0, 0.0, 1.0])"
    installer.change(PACKAGE, source_with(statistics=body))
    monkeypatch.setattr(time_limit, "LIMIT_S", 0.2)
    for run in (slow, other):
        contest.store.runs.change(run.id, ("closed",), state="open")
    FollowedRuns(contest, CLOCK).tick()
    assert contest.store.provisional.of_run(other.id) is not None
    found = [one for one in attention(contest) if one["code"] == "live-failed"]
    assert [one["run"] for one in found] == [slow.id]
    assert (
        "The plug-in lpirc_tally-1.0, which scores tally, did not end within 0.2 s. What"
        in found[0]["sentence"]
    )


def test_a_plug_in_that_hangs_keeps_no_other_run_from_its_judgement(
    contest: Contest, installer: Installer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tallied_run(contest)
    installer.change(PACKAGE, source_with(figures="\n    while True: pass"))
    monkeypatch.setenv("PYTHONPATH", str(installer.folder))
    monkeypatch.setattr(judge_process, "LIMIT_S", 3.0)
    judging = judge_process.Judging(contest.folder, contest.store, Clock())
    judging.ask([run.id])
    until(lambda: not judging.runs)
    (failed,) = [
        one for one in contest.store.log.of_run(run.id) if one["kind"] == "judge-failed"
    ]
    assert failed["sentence"].startswith(
        "The plug-in of its task did not end within 3 s; judge it by hand"
    )


def test_a_plug_in_that_hangs_while_it_shows_leaves_the_rest_of_the_report(
    contest: Contest, installer: Installer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tallied_run(contest)
    judged = judge_with_interval(contest, run.id, CLOCK)
    installer.change(PACKAGE, source_with(show="\n    while True: pass"))
    monkeypatch.setattr(time_limit, "LIMIT_S", 0.2)
    told = called("report", "1", "--contest", str(contest.folder))
    assert told.returncode == 0, told.stderr
    page = (contest.folder / "reports" / "run-1.html").read_text()
    assert "which scores tally, did not end within 0.2 s" in page
    assert f"{judged.map:.5f}" in page
