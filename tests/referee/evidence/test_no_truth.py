"""A run on photographs without ground truth: energy and timing, no mAP, no score, and no way to claim one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from lpirc_testsets import TestSet, load_test_set, read_ground_truth, synthesize
from lpirc_testsets.coco_import import object_records
from lpirc_testsets.image_import import import_images
from lpirc_testsets.truth_marks import NO_TRUTH_SENTENCE
from lpirc_testsets.writing import write_records
from referee.auth.signing import ContestKey
from referee.clock import Clock
from referee.contest import Contest, create_contest, open_contest, require_truth
from referee.errors import RefereeError
from referee.evidence.bundle_parts import export_bundle
from referee.judging.judge import Again, judge
from referee.judging.judge_many import judge_with_interval
from referee.judging.provisional_scores import FollowedRuns
from referee.judging.public_documents import public_board
from referee.judging.ranking import NotRanked
from referee.judging.rejudge import rejudge
from referee.judging.run_figures import figures_of
from referee.judging.standings import standings
from referee.report.run_page import report_page
from referee.store.records import Run
from tests.contest_day import called
from tests.referee.evidence.closed_runs import (
    as_json,
    closed_with_bodies,
    found_boxes,
)
from tests.referee.evidence.proved import (
    Proved,
    another_key,
    by_main,
    by_second,
    failed,
    lines,
    opened,
    sentences,
)
from tests.referee.factories import START, TEAM, config_text

ROWS = [[image, 1, 0.5, 0, 0, 40, 30] for image in range(1, 6)]
CLAUSE = "the test set has no ground truth: energy and timing only"


@pytest.fixture
def photographs(tmp_path: Path, small_set: TestSet) -> TestSet:
    """The images of the small set, with its categories, but without its objects."""
    names = tmp_path / "names"
    names.write_text("\n".join(one.name for one in small_set.categories))
    return import_images(small_set.folder / "images", tmp_path / "photographs", names)


@pytest.fixture
def contest(tmp_path: Path, photographs: TestSet) -> Iterator[Contest]:
    create_contest(tmp_path / "contest", config_text(photographs))
    with open_contest(tmp_path / "contest") as opened_one:
        opened_one.store.teams.add(TEAM, "no hash", START)
        yield opened_one


@pytest.fixture
def run(contest: Contest) -> Run:
    return closed_with_bodies(contest, [as_json(ROWS)], unserved=1)


@pytest.fixture
def proved(contest: Contest, run: Run, tmp_path: Path, photographs: TestSet) -> Proved:
    judge(contest, run.id, Clock())
    out = tmp_path / "run.zip"
    export_bundle(contest, run.id, out, START)
    key = ContestKey(contest.folder / "signing-key", None)
    wrong = another_key(tmp_path)
    return Proved(out.read_bytes(), b"", key, wrong, photographs.folder)


def changed(proved: Proved, **values: Any) -> bytes:
    texts = opened(proved.data)
    result = json.loads(texts["result.json"]) | values
    return proved.sealed({**texts, "result.json": lines([result])})


def test_a_run_has_energy_and_no_map_and_no_score(contest: Contest, run: Run) -> None:
    judged = judge_with_interval(contest, run.id, Clock())
    assert judged.energy_wh == run.energy_wh is not None
    assert (judged.map, judged.score, judged.map_ilsvrc_det) == (None, None, None)
    assert judged.interval is None
    assert set(judged.ap.values()) == {None}
    (check,) = (one for one in judged.checks if one.code == "no-truth")
    assert check.sentence == NO_TRUTH_SENTENCE
    assert not check.ok
    assert check.severity == "warning"
    (fetched,) = (one for one in judged.checks if one.code == "images-not-fetched")
    assert fetched.sentence.endswith("these rows are not scored.")
    assert contest.store.scores.latest(run.id) == judged


def test_it_has_no_rank_and_the_reason_is_the_missing_ground_truth(
    contest: Contest,
    run: Run,
) -> None:
    judge(contest, run.id, Clock())
    stored = contest.store.runs.get(run.id)
    figures = figures_of(contest, stored, START)
    assert figures.not_ranked_code is NotRanked.NO_TRUTH
    assert figures.not_ranked == CLAUSE
    (left_out,) = standings(contest).left_out
    assert left_out.why == CLAUSE


def test_the_board_says_so_from_the_start(contest: Contest) -> None:
    board = json.loads(public_board(contest, START))
    assert board["no_truth"] == NO_TRUTH_SENTENCE
    assert board["ranking"] == []


def test_figures_of_a_run_before_its_judgement_have_no_map_either(
    contest: Contest,
    run: Run,
) -> None:
    FollowedRuns(contest, Clock()).tick()
    shown = contest.store.provisional.of_run(run.id)
    released = contest.store.provisional.released(run.id)
    assert shown is not None
    assert released is not None
    assert (shown.map, shown.score, shown.detections) == (None, None, len(ROWS))
    assert (released.map, released.score) == (None, None)


def test_report_run_and_leaderboard_say_so_and_show_no_zero(
    contest: Contest,
    run: Run,
) -> None:
    judge(contest, run.id, Clock())
    page = report_page(contest, contest.store.runs.get(run.id))
    text = unescape(re.sub(r"<[^>]+>", " ", page))
    assert f"{NO_TRUTH_SENTENCE} There is no mAP and no score." in text
    assert f"This run is not ranked: {CLAUSE}." in text
    folder = str(contest.folder)
    shown = called("run", "show", str(run.id), "--contest", folder)
    assert shown.returncode == 0, shown.stderr
    assert NO_TRUTH_SENTENCE in shown.stdout
    board = called("leaderboard", "--contest", folder)
    assert f"Run {run.id} of {TEAM} is left out: {CLAUSE}." in board.stderr
    for printed in (text, shown.stdout, board.stdout):
        assert re.search(r"\b0\.00000\b", printed) is None


def test_its_bundle_holds_in_both_verifiers_which_say_what_is_missing(
    proved: Proved,
) -> None:
    assert failed(by_main(proved.data)) == failed(by_second(proved.data)) == []
    said = sentences(proved.data)
    assert said["map"] == f"{NO_TRUTH_SENTENCE} There is no mAP."
    assert said["score"] == f"{NO_TRUTH_SENTENCE} There is no score."
    assert "no-truth" in said["checks"]


@pytest.mark.parametrize(
    "values",
    [
        {"map": 0.0},
        {"map": 0.5},
        {"map_ilsvrc_det": 0.0},
    ],
)
def test_a_judge_who_claims_an_accuracy_without_ground_truth_is_named(
    proved: Proved,
    values: dict[str, float],
) -> None:
    claimed = changed(proved, **values)
    item = "map" if "map" in values else "map-ilsvrc-det"
    assert item in failed(by_main(claimed))
    assert item in failed(by_second(claimed))


def test_a_judge_who_hides_an_accuracy_is_named(
    tmp_path: Path,
    small_set: TestSet,
) -> None:
    create_contest(tmp_path / "boxes", config_text(small_set))
    with open_contest(tmp_path / "boxes") as contest:
        contest.store.teams.add(TEAM, "no hash", START)
        run = closed_with_bodies(contest, [as_json(found_boxes(contest))])
        judge(contest, run.id, Clock())
        out = tmp_path / "run.zip"
        export_bundle(contest, run.id, out, START)
        key = ContestKey(contest.folder / "signing-key", None)
    proved = Proved(out.read_bytes(), b"", key, key, small_set.folder)
    hidden = changed(proved, map=None, score=None, map_ilsvrc_det=None)
    assert "map" in failed(by_main(hidden))
    assert "map" in failed(by_second(hidden))


def test_ground_truth_that_comes_later_gives_the_runs_their_scores(
    contest: Contest,
    run: Run,
    small_set: TestSet,
    photographs: TestSet,
) -> None:
    judge(contest, run.id, Clock())
    numbers = {one.sha256: one.number for one in photographs.images}
    records = [
        replace(one, image=numbers[small_set.images[one.image - 1].sha256])
        for one in object_records(read_ground_truth(small_set.folder))
    ]
    write_records(
        photographs.folder,
        photographs.name,
        photographs.images,
        photographs.categories,
        records,
    )
    load_test_set(photographs.folder)
    again = Again("chief", "the photographs are annotated now")
    with open_contest(contest.folder) as corrected:
        found = rejudge(corrected, None, Clock(), again)
        (change,) = found.changes
        assert change.map[0] is None
        assert isinstance(change.map[1], float)
        assert standings(corrected).left_out == ()


def test_doctor_advises_against_a_contest_with_it_and_a_season_says_why_none_is_ranked(
    contest: Contest,
    run: Run,
) -> None:
    judge(contest, run.id, Clock())
    looked = called("doctor", str(contest.folder))
    assert f"advice, no-truth: {NO_TRUTH_SENTENCE} No run has a score" in looked.stdout
    season = called("season", str(contest.folder))
    assert f"is not on the board: {CLAUSE}." in season.stderr + season.stdout


@pytest.mark.parametrize(
    ("task", "kind"), [("classification", "classes"), ("segmentation", "label maps")]
)
def test_a_contest_of_boxes_on_a_set_for_another_task_is_not_served(
    tmp_path: Path,
    task: str,
    kind: str,
) -> None:
    other = synthesize(
        tmp_path / "set",
        images=2,
        categories=2,
        seed=1,
        size=(96, 64),
        task=task,
    )
    with pytest.raises(RefereeError, match=f"has {kind} and no boxes") as failure:
        require_truth(other)
    assert failure.value.code == "testset-unfit"
