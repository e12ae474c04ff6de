"""Runs of another task than boxes: judged by the task's figure, with interval, checks and signature of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lpirc_testsets import TestSet, synthesize
from referee.contest import Contest, create_contest, open_contest
from referee.errors import RefereeError
from referee.judging.followed_answers import FollowedAnswers
from referee.judging.judge import task_truth_of
from referee.judging.judge_many import judge_with_interval, score_runs
from referee.judging.released_figures import half_of
from referee.judging.run_export import export_run
from referee.judging.standings import standings
from referee.workers.worker_processes import LocalWorkers
from tests.referee.factories import DrivenClock, config_text
from tests.referee.judging.classified_runs import classes, closed_run

IMAGES = 20


@pytest.fixture(scope="session")
def class_set(tmp_path_factory: pytest.TempPathFactory) -> TestSet:
    return synthesize(
        tmp_path_factory.mktemp("sets") / "classes",
        images=IMAGES,
        categories=4,
        size=(96, 64),
        task="classification",
    )


@pytest.fixture
def contest(tmp_path: Path, class_set: TestSet) -> Iterator[Contest]:
    folder = tmp_path / "contest"
    create_contest(folder, config_text(class_set, task="classification"))
    with open_contest(folder) as opened:
        yield opened


def test_a_run_is_judged_by_its_tasks_figure(contest: Contest) -> None:
    run = closed_run(contest, classes(contest, right=10, five=4))
    judged = judge_with_interval(contest, run.id, DrivenClock())
    assert judged.map == 0.5
    assert judged.score == pytest.approx(5.0)
    assert judged.others == {"top-5": 0.7}
    assert judged.map_ilsvrc_det is None
    assert judged.signature.startswith("classification|gt:")
    assert judged.detections == IMAGES
    assert judged.interval is not None
    assert judged.interval.map_low < 0.5 < judged.interval.map_high
    assert contest.store.scores.latest(run.id) == judged
    codes = {check.code for check in judged.checks}
    assert "implausible-boxes" not in codes
    assert not judged.needs_review, [one for one in judged.checks if not one.ok]
    assert judged.rules is not None
    assert judged.rules == run.rules


def test_answers_for_images_that_were_not_served_do_not_count(contest: Contest) -> None:
    served = range(IMAGES // 2 + 1, IMAGES + 1)  # the test set's first ten
    run = closed_run(contest, classes(contest, right=20), served=served)
    judged = judge_with_interval(contest, run.id, DrivenClock())
    assert judged.map == 0.5
    check = next(one for one in judged.checks if one.code == "images-not-fetched")
    assert check.sentence == (
        "10 classifications are for 10 images that the run was not served; these classifications are not scored; "
        "with them, the top-1 would be 1.00000."
    )


def test_runs_are_ranked_and_scored_by_workers_alike(contest: Contest) -> None:
    clock = DrivenClock()
    first = closed_run(contest, classes(contest, right=5), team="ant")
    second = closed_run(contest, classes(contest, right=15), team="bee")
    found = {}
    with closing(LocalWorkers(1)) as workers:
        score_runs(
            contest,
            [first, second],
            clock,
            workers,
            lambda run, scored: found.update({run.id: scored}),
            lambda run, reason: pytest.fail(reason),
        )
    for run in (first, second):
        judged = judge_with_interval(contest, run.id, clock)
        assert judged.map == found[run.id].maps["contest"]
    places = standings(contest).places
    assert [one.standing.team for one in places] == ["bee", "ant"]


def test_no_figure_of_boxes_is_made_of_answers(contest: Contest) -> None:
    run = closed_run(contest, classes(contest, right=5))
    with pytest.raises(RefereeError, match="answers the task classification"):
        contest.store.posts.detections(run.id)
    assert len(contest.store.posts.images(run.id)) == IMAGES
    with pytest.raises(RefereeError, match="judge it without a metric"):
        score_runs(contest, [run], DrivenClock(), None, print, print, "coco")


def test_the_accuracy_so_far_is_that_of_the_judge(contest: Contest) -> None:
    run = closed_run(
        contest, classes(contest, right=12, five=3), served=range(3, IMAGES + 1)
    )
    truth = task_truth_of(
        contest.test_set.folder, contest.test_set.digest, "classification"
    )
    half = half_of(contest.secret, run, contest.store.runs.image_order(run.id))
    followed = FollowedAnswers(contest, run, truth, half)
    accuracy, count = followed.evaluate()
    judged = judge_with_interval(contest, run.id, DrivenClock())
    assert (accuracy, count) == (judged.map, IMAGES)
    assert followed.evaluate() == (accuracy, count)
    right = {image for image, _ in classes(contest, right=12)[:12]}
    assert followed.evaluate_half() == len(right & {*half.tolist()}) / len(half)


def test_the_bodies_of_a_run_are_exported_as_received(
    contest: Contest, tmp_path: Path
) -> None:
    run = closed_run(contest, classes(contest, right=12))
    written = export_run(contest, run.id, tmp_path / "out", ("csv",))
    names = sorted(one.name for one in written)
    assert names[:3] == ["answers.csv", "events.jsonl", "post-000001.json"]
    lines = (tmp_path / "out" / "answers.csv").read_text().splitlines()
    assert lines[1] == "1,1.0,20,1,000001.jpg"
    assert len(lines) == 1 + IMAGES
