from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lpirc_score.metrics.evaluation_result import signature_parts
from lpirc_testsets import TestSet, load_test_set, read_ground_truth, synthesize
from lpirc_testsets.writing import ObjectRecord, write_records
from referee.contest import Contest, create_contest, open_contest
from referee.errors import RefereeError
from referee.judging.judge import Again, judge
from referee.judging.rejudge import preview, rejudge
from referee.judging.standings import standings
from referee.runs.image_order import images_had
from referee.store.records import RunState, Score
from referee.web.sole_server import sole_server
from tests.contest_day import called
from tests.referee.factories import DrivenClock, config_text
from tests.referee.judging.sent_runs import closed_run, guesses

CLOCK = DrivenClock()
ANN = Again("ann")


@pytest.fixture(scope="module")
def first_set(tmp_path_factory: pytest.TempPathFactory) -> TestSet:
    return synthesize(
        tmp_path_factory.mktemp("sets") / "first",
        images=8,
        categories=3,
        seed=4,
        size=(96, 64),
    )


@pytest.fixture
def contest(tmp_path: Path, first_set: TestSet) -> Iterator[Contest]:
    """Two judged runs: ant found more than bee, which needed a little less energy."""
    folder = shutil.copytree(first_set.folder, tmp_path / "set")
    create_contest(tmp_path / "contest", config_text(replace(first_set, folder=folder)))
    with open_contest(tmp_path / "contest") as opened:
        for team, part, energy_wh in (("ant", 0.9, 0.1), ("bee", 0.5, 0.08)):
            run = closed_run(
                opened,
                guesses(opened, part, seed=1),
                team=team,
                energy_wh=energy_wh,
            )
            judge(opened, run.id, CLOCK)
        yield opened


def correct(
    test_set: TestSet,
    folder: Path,
    categories: Any = None,
) -> TestSet:
    """The same images in `folder`, of whose objects only those are left that bee found."""
    truth = read_ground_truth(test_set.folder)
    found = np.random.default_rng(1).random(len(truth.image)) < 0.5
    if folder != test_set.folder:
        shutil.copytree(test_set.folder, folder)
    objects = [
        ObjectRecord(int(image), int(category), tuple(box), float(box[2] * box[3]))
        for image, category, box in zip(
            truth.image[found],
            truth.category[found],
            truth.coco_boxes[found].tolist(),
            strict=True,
        )
    ]
    write_records(
        folder,
        "corrected",
        test_set.images,
        categories or test_set.categories,
        objects,
    )
    return load_test_set(folder)


def judgements(contest: Contest) -> list[Score | None]:
    return [contest.store.scores.latest(run.id) for run in contest.store.runs.find()]


def code_of(action: Any, *arguments: Any) -> str:
    with pytest.raises(RefereeError) as failure:
        action(*arguments)
    return failure.value.code


def test_a_dry_run_says_what_a_corrected_ground_truth_would_change_and_stores_nothing(
    contest: Contest,
    tmp_path: Path,
) -> None:
    stored = judgements(contest)
    corrected = correct(contest.test_set, tmp_path / "corrected")
    events = [contest.store.log.of_run(run) for run in (1, 2)]
    found = preview(contest, None, CLOCK, None, corrected.folder)
    assert [one.rank for one in found.changes] == [(1, 2), (2, 1)]
    ant, bee = found.changes
    assert stored[0] is not None
    assert ant.map[0] == stored[0].map
    assert ant.score[0] == stored[0].score
    assert bee.map[0] is not None
    assert bee.map[1] is not None
    assert bee.map[1] > bee.map[0]
    assert judgements(contest) == stored
    assert [contest.store.log.of_run(run) for run in (1, 2)] == events
    assert [place.standing.team for place in standings(contest).places] == [
        "ant",
        "bee",
    ]


def test_what_a_dry_run_says_is_what_judging_again_then_gives(
    contest: Contest,
    tmp_path: Path,
) -> None:
    corrected = correct(contest.test_set, tmp_path / "corrected")
    said = preview(contest, None, CLOCK, None, corrected.folder)
    assert rejudge(replace(contest, test_set=corrected), None, CLOCK, ANN) == said


def test_a_dry_run_leaves_out_runs_of_another_window_as_the_board_does(
    contest: Contest,
) -> None:
    other = replace(
        contest,
        config=replace(contest.config, window_s=contest.config.window_s + 1),
    )
    said = preview(other, None, CLOCK, None, None)
    assert [one.rank for one in said.changes] == [(None, None)] * 2
    assert standings(other).places == ()
    assert rejudge(other, None, CLOCK, ANN) == said


def test_a_corrected_ground_truth_is_on_record_and_the_board_is_by_it(
    contest: Contest,
    tmp_path: Path,
) -> None:
    was = contest.test_set.digest
    corrected = correct(contest.test_set, contest.test_set.folder)
    with open_contest(contest.folder) as again:  # the set was changed in its place
        assert again.test_set.digest == corrected.digest != was
        assert standings(again).places == ()
        assert code_of(judge, again, 1, CLOCK) == "testset-changed"
        rejudge(again, None, CLOCK, ANN)
        assert [place.standing.team for place in standings(again).places] == [
            "bee",
            "ant",
        ]
        new = again.store.scores.latest(1)
        assert new is not None
        assert signature_parts(new.signature)["gt"] == corrected.digest[:12]
        assert new.interval is not None
        last = again.store.log.of_run(1)[-1]
        assert last["kind"] == "judged"
        assert last["testset_digest"] == corrected.digest
        assert last["armed_with"] == was
        assert again.store.runs.get(1).testset_digest == was
        had = images_had(again.store, "ant", corrected.images_digest)
        # So the team gets none of them as a fresh one.
        assert had[1].tolist() == list(range(8, 0, -1))


def test_while_the_contest_is_served_a_changed_set_is_refused(contest: Contest) -> None:
    correct(contest.test_set, contest.test_set.folder)
    stored = judgements(contest)
    with sole_server(contest.folder), open_contest(contest.folder) as again:
        assert code_of(rejudge, again, None, CLOCK, ANN) == "contest-busy"
    assert judgements(contest) == stored


def test_a_run_that_is_not_changed_is_judged_again_while_the_contest_is_served(
    contest: Contest,
) -> None:
    with sole_server(contest.folder):
        found = rejudge(contest, 1, CLOCK, ANN)
    (one,) = found.changes
    assert len(set(one.map)) == 1
    assert len(set(one.score)) == 1
    assert one.rank == (1, 1)


def test_a_set_of_other_images_or_categories_is_refused(
    contest: Contest,
    tmp_path: Path,
) -> None:
    images = synthesize(
        tmp_path / "other",
        images=8,
        categories=3,
        seed=5,
        size=(96, 64),
    )
    code = code_of(preview, contest, None, CLOCK, None, images.folder)
    assert code == "testset-changed"
    fewer = [replace(one, id=one.id + 1) for one in contest.test_set.categories]
    renumbered = correct(contest.test_set, tmp_path / "renumbered", fewer)
    code = code_of(preview, contest, None, CLOCK, None, renumbered.folder)
    assert code == "testset-changed"
    other = replace(contest, test_set=images)
    assert code_of(rejudge, other, 1, CLOCK, ANN) == "testset-changed"
    found = rejudge(other, None, CLOCK, ANN)
    assert found.changes == ()
    assert found.skipped == (1, 2)


def test_a_set_that_is_not_as_its_manifest_says_is_refused(
    contest: Contest,
    tmp_path: Path,
) -> None:
    corrected = correct(contest.test_set, tmp_path / "corrected")
    with corrected.ground_truth_path.open("a") as file:
        file.write(" ")
    code = code_of(preview, contest, None, CLOCK, None, corrected.folder)
    assert code == "testset-changed"


def test_runs_of_an_earlier_form_learn_their_images_while_their_set_is_still_there(
    contest: Contest,
) -> None:
    contest.store.runs.change(1, [contest.store.runs.get(1).state], images_digest=None)
    with open_contest(contest.folder) as again:
        assert again.store.runs.get(1).images_digest == contest.test_set.images_digest
    contest.store.runs.change(1, [contest.store.runs.get(1).state], images_digest=None)
    correct(contest.test_set, contest.test_set.folder)
    with open_contest(contest.folder) as too_late:
        assert code_of(rejudge, too_late, 1, CLOCK, ANN) == "testset-changed"


def test_the_best_run_of_a_team_has_its_rank_and_a_closed_run_nothing_before(
    contest: Contest,
) -> None:
    worse = closed_run(contest, guesses(contest, 0.2, seed=1), team="ant").id
    found = preview(contest, worse, CLOCK, None, None)
    (one,) = found.changes
    assert one.run == worse
    assert one.map[0] is None
    assert one.rank == (None, None)
    judge(contest, worse, CLOCK)
    found = preview(contest, None, CLOCK, "coco", None)
    assert [change.rank[1] is None for change in found.changes] == [False, False, True]
    assert found.changes[2].map[0] is not None


def test_the_command_tells_each_change_and_who_changes_places(
    contest: Contest,
    tmp_path: Path,
) -> None:
    corrected = correct(contest.test_set, tmp_path / "corrected")
    where = ["--contest", str(contest.folder)]
    dry = ["rejudge", "--all", "--dry-run", "--testset", str(corrected.folder), *where]
    told = called(*dry)
    assert told.returncode == 0
    assert told.stderr == "No judgement was stored.\n"
    assert re.search(
        r" ant   0\.\d{5} -> 0\.\d{5}  \d\.\d{4} -> \d\.\d{4}  1 -> 2",
        told.stdout,
    )
    document = json.loads(called(*dry, "--json").stdout)
    assert document["stored"] is False
    assert [one["rank"] for one in document["changes"]] == [[1, 2], [2, 1]]
    same = called("rejudge", "1", *where)
    assert "->" not in same.stdout
    refused = called("rejudge", "1", "--testset", "x", *where)
    assert refused.returncode == 2
    assert "--testset needs --dry-run. And x is no test set" in refused.stderr
    assert called("rejudge", *where).returncode == 2


@pytest.mark.parametrize("state", [RunState.ARMED, RunState.OPEN, RunState.VOID])
def test_only_a_run_that_is_over_is_judged_again(
    contest: Contest,
    state: RunState,
) -> None:
    contest.store.runs.change(1, [RunState.JUDGED], state=state.value)
    assert code_of(preview, contest, 1, CLOCK, None, None) == "run-state"
    assert code_of(rejudge, contest, 1, CLOCK, ANN) == "run-state"
    assert [one.run for one in rejudge(contest, None, CLOCK, ANN).changes] == [2]
