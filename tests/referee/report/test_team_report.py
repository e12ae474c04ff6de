"""What a report for a team that may run again tells: of the ground truth nothing but the published mAP."""

from __future__ import annotations

import html
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lpirc_score import Detections, evaluate
from lpirc_testsets import GroundTruth, TestSet, load_test_set, read_ground_truth
from referee.clock import Clock
from referee.judging.judge import judge
from referee.judging.released_figures import published_figures
from referee.report import report_page
from referee.report.judged_section import OF_TEAM
from referee.store.records import Review, Run
from tests.contest_day import called
from tests.referee.factories import HALF_SAMPLED, START, House, house, stored_run
from tests.referee.judging.oracle_attacks import Belief, Ints, belief_of, scene
from tests.referee.report.test_run_page import judged_run

Rows = NDArray[np.float64]
OF_TRUTH = (
    "What it cost you",
    "Average precision by category",
    "The images that cost most",
    "What would win",
    "When to log out",
    "threshold of confidence",
    'class="missed"',
    "data:image",
    '"ap"',
    '"interval"',
    "map_ilsvrc_det",
    "map_with_them",
    "the mAP would be",
)
MISSED = re.compile(
    r'<rect class="missed" x="([-\d.]+)" y="([-\d.]+)" width="([-\d.]+)" height="([-\d.]+)"/>\s*'
    r"<text[^>]*>missed: ([^<]+)</text>"
)
FIGURE = re.compile(r"<figure>\s*<svg(.*?)</svg>.*?<figcaption>Image (\d+) ", re.DOTALL)


def figures_in(report: str) -> dict[str, Any]:
    (whole,) = re.findall(r"<pre>(.*?)</pre>", report, re.DOTALL)
    found: dict[str, Any] = json.loads(html.unescape(whole))
    return found


def test_it_has_the_result_the_energy_and_what_the_referee_has_received(
    build: Callable[..., House],
) -> None:
    hall = build()
    run = judged_run(hall)
    report = report_page(hall.contest, run, for_team=True)
    whole = report_page(hall.contest, run)
    for part in (
        "Where the energy went",
        "Phases by the referee's record",
        "Receipts of the POSTs",
        "<h2>Checks</h2>",
    ):
        assert part in whole
        assert part in report
    for part in OF_TRUTH:
        assert part not in report
    assert [one for one in OF_TRUTH if one in whole], "the whole one has them"
    remarks = {"reviewed", "not_ranked", "not_ranked_code", "images_seen"}
    remarks |= {"score_digits"}  # its energy is small
    assert figures_in(report).keys() == {*OF_TEAM} | remarks
    known = published_figures(figures_in(whole))
    assert all(known[name] == value for name, value in figures_in(report).items())


def other_truth(hall: House, run: Run) -> None:
    """Judge the run by a ground truth of which all is different but the mAP."""
    judged = hall.store.scores.latest(run.id)
    assert judged is not None
    interval = replace(HALF_SAMPLED, map_low=0.1, score_high=0.9, map_spread=0.3)
    checks = []
    for one in judged.checks:
        if one.code == "images-not-fetched":
            one = replace(one, figures=one.figures | {"map_with_them": 0.9})
        checks.append(one)
    hall.store.scores.add(
        replace(
            judged,
            ap={category: 1.0 - (ap or 0.0) for category, ap in judged.ap.items()},
            interval=interval,
            map_ilsvrc_det=0.123,
            checks=tuple(checks),
        )
    )


def test_with_another_ground_truth_of_the_same_map_it_is_the_same_to_a_byte(
    tmp_path: Path,
    small_set: TestSet,
) -> None:
    folder = shutil.copytree(small_set.folder, tmp_path / "set")
    with house(tmp_path / "contest", load_test_set(folder), ()) as hall:
        run = judged_run(hall, share=0.5)
        before = report_page(hall.contest, run, for_team=True)
        whole_before = report_page(hall.contest, run)
        other_truth(hall, run)
        assert report_page(hall.contest, run, for_team=True) == before
        assert report_page(hall.contest, run) != whole_before
        for file in folder.rglob("*"):
            if file.is_file():
                file.unlink()
        assert report_page(hall.contest, run, for_team=True) == before


def test_rows_for_images_never_fetched_ask_for_no_second_map(
    build: Callable[..., House],
) -> None:
    """A team fetches one image and posts rows for the others: the check's mAP would be an answer about those."""
    hall = build()
    truth = read_ground_truth(hall.contest.test_set.folder)
    maps = {}
    for right in (True, False):
        run = fetches_one(hall, truth, others_are_right=right)
        whole = report_page(hall.contest, run)
        found = re.search(r"with them, the mAP would be (\d\.\d+)", whole)
        assert found is not None
        maps[right] = float(found[1])
        report = report_page(hall.contest, run, for_team=True)
        assert "rows are for" in report
        assert "that the run was not served; these rows are not scored." in report
        assert "would be" not in report
    assert maps[True] > maps[False] + 0.2, "worth the attack"


def fetches_one(hall: House, truth: GroundTruth, *, others_are_right: bool) -> Run:
    test_set = hall.contest.test_set
    images = len(test_set.images)
    digest = test_set.digest
    run = stored_run(hall.store, images=images, testset_digest=digest)

    boxes = truth.boxes
    if not others_are_right:
        is_other = truth.image != 1
        boxes = boxes + 1000.0 * is_other[:, None]
    confidence = np.full(len(boxes), 0.5)
    rows = np.column_stack(
        [
            truth.image,
            truth.category,
            confidence,
            boxes,
        ]
    )
    hall.store.served.append(run.id, [(1, 10)], 1.0)
    hall.store.posts.append(
        run.id,
        rows,
        sha256="",
        idempotency_key=None,
        elapsed_s=4.0,
        now=START,
    )

    over = {
        "elapsed_s": 6.0,
        "integrator_s": 6.0,
        "closed_by": "logout",
        "opened_utc": START.isoformat(),
        "energy_wh": 0.06,
        "meter_changes": (),
    }
    hall.store.runs.change(
        run.id,
        (run.state,),
        state="closed",
        **over,
    )
    judge(hall.contest, run.id, Clock())
    return hall.store.runs.get(run.id)


def missed_in(report: str, names: dict[str, int]) -> Rows:
    """What a team reads off the pictures: each object that it has missed, as a row for its next attempt."""
    rows = []
    for drawing, image in FIGURE.findall(report):
        for x, y, width, height, name in MISSED.findall(drawing):
            left = float(x)
            top = float(y)
            right = left + float(width) - 1
            bottom = top + float(height) - 1
            category = names[html.unescape(name)]
            rows.append(
                [
                    float(image),
                    category,
                    1.0,
                    left,
                    top,
                    right,
                    bottom,
                ]
            )
    return np.array(rows).reshape(-1, 7)


def test_what_a_team_reads_off_the_pictures_would_win_its_next_attempt(
    build: Callable[..., House],
) -> None:
    """The attack: a run that finds little, its report, then a run with all that the report has drawn."""
    hall = build(shuffle=False)
    run = judged_run(hall, share=0.3)
    names = {one.name: one.id for one in hall.contest.test_set.categories}
    truth = read_ground_truth(hall.contest.test_set.folder)
    sent = hall.store.posts.detections(run.id)

    def gain(report: str) -> float:
        rows = np.vstack([sent, missed_in(report, names)])
        return map_of(truth, rows) - map_of(truth, sent)

    assert gain(report_page(hall.contest, run)) > 0.2, "worth the attack"
    assert gain(report_page(hall.contest, run, for_team=True)) == 0.0


def map_of(truth: GroundTruth, rows: Rows) -> float:
    return evaluate(truth, Detections.from_rows(rows), "lpirc").map


def test_ap_by_category_would_choose_a_detector_for_each_category() -> None:
    """The attack with three attempts: two whole detectors, then the better one of each category.

    By the published mAP alone a team learns which of the two is better on the whole, and no more.
    """
    gains = []
    for seed in range(3):
        truth = scene(images=100, categories=20, seed=seed)
        belief = belief_of(truth, seed, is_mixed=True)
        first = whole_detector(belief, belief.first)
        second = whole_detector(belief, belief.second)
        ap = ap_of(truth, first)
        ap_of_second = ap_of(truth, second)
        is_first = np.array(
            [ap[category] >= ap_of_second[category] for category in sorted(ap)]
        )
        known = np.array(sorted(ap))[is_first]
        chosen = np.vstack(
            [
                first[np.isin(first[:, 1], known)],
                second[~np.isin(second[:, 1], known)],
            ]
        )
        best_whole = max(map_of(truth, first), map_of(truth, second))
        gains.append(map_of(truth, chosen) - best_whole)
    assert min(gains) > 0.02, "worth the attack"


def whole_detector(belief: Belief, category: Ints) -> Rows:
    every = np.arange(len(belief.image))
    return belief.rows(every, category, belief.by_first)


def ap_of(truth: GroundTruth, rows: Rows) -> dict[int, float]:
    found = evaluate(truth, Detections.from_rows(rows), "lpirc").ap
    return {category: ap or 0.0 for category, ap in found.items()}


def test_the_command_writes_it_beside_the_whole_one_and_never_with_a_replay(
    build: Callable[..., House],
) -> None:
    hall = build()
    judged_run(hall)
    folder = str(hall.contest.folder)
    whole = called("report", "1", "--contest", folder).stdout.strip()
    reduced = called("report", "1", "--for-team", "--contest", folder).stdout.strip()
    assert whole.endswith("run-1.html")
    assert reduced.endswith("run-1-team.html")
    both = called("report", "1", "--for-team", "--replay", "--contest", folder)
    assert both.returncode == 2
    assert "--for-team" in both.stderr


@pytest.mark.parametrize("for_team", [True, False])
def test_a_report_has_no_word_of_the_operator_who_reviewed_the_run(
    build: Callable[..., House],
    for_team: bool,
) -> None:
    hall = build()
    run = judged_run(hall, odd=True)
    judged = hall.store.scores.latest(run.id)
    assert judged is not None
    codes = tuple(one.code for one in judged.checks if not one.ok)
    review = Review("jo", "They bribed me.", START.isoformat(), codes)
    hall.store.reviews.add(run.id, review)
    report = report_page(hall.contest, run, for_team=for_team)
    assert "an operator has reviewed and accepted this run" in report
    assert "bribed" not in report
    assert figures_in(report)["reviewed"] is True
