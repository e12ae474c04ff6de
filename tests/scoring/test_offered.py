"""Metrics by entry point: the built-in ones, those of another distribution, and those that cannot be used."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from lpirc_score import (
    METRICS,
    Detections,
    ap_by_size,
    best_f1,
    calibration,
    confusion_matrix,
    evaluate,
    evaluate_slices,
    metric_names,
    signature_of,
)
from lpirc_score.analysis.error_types import analyse_errors
from lpirc_score.analysis.halves import HALVES, half_maps, halves_of
from lpirc_score.cli.program import main
from lpirc_score.errors import CodedError
from lpirc_score.metrics.offered import metric_named, not_installed, rule_named
from lpirc_testsets import GroundTruth, read_ground_truth
from tests.plugins_installed import Installer, plugins_in

GROUP = "lpirc.metrics"
SAMPLE = Path(__file__).parents[1] / "plugin_sample" / "lpirc_sample" / "metrics.py"
ENTRIES = """lpirc-75 = sample_metrics:STRICTER
found = sample_metrics:FOUND"""
TRUTH = (
    "image,class,xmin,ymin,xmax,ymax\n1,1,10,10,29,29\n2,1,10,10,29,29\n2,4,0,0,9,9\n"
)
ROWS = [
    [1, 1, 0.9, 10, 10, 29, 29],
    [2, 1, 0.8, 10, 14, 29, 33],  # overlaps by two thirds
    [2, 4, 0.7, 50, 0, 59, 9],
]


@pytest.fixture
def installer(tmp_path: Path) -> Iterator[Installer]:
    folder = tmp_path / "site"
    folder.mkdir()
    with plugins_in(folder) as installer:
        yield installer


@pytest.fixture
def sample(installer: Installer) -> None:
    installer.install("sample_metrics", GROUP, ENTRIES, SAMPLE.read_text())


@pytest.fixture
def truth(tmp_path: Path) -> GroundTruth:
    file = tmp_path / "truth.csv"
    file.write_text(TRUTH)
    return read_ground_truth(file)


@pytest.fixture
def found() -> Detections:
    return Detections.from_rows(np.array(ROWS))


def refused(name: str) -> CodedError:
    with pytest.raises(CodedError) as caught:
        metric_named(name)
    return caught.value


def test_the_built_in_metrics_are_entry_points() -> None:
    assert metric_names() == METRICS
    for name in METRICS:
        assert metric_named(name).name == name


@pytest.mark.usefixtures("sample")
def test_metrics_of_another_distribution_score_and_sign_with_its_name(
    truth: GroundTruth,
    found: Detections,
) -> None:
    assert metric_names() == (*METRICS, "found", "lpirc-75")
    by_rule = evaluate(truth, found, "lpirc-75", ground_truth_digest="12345678")
    assert by_rule.ap == {1: 0.5, 4: 0.0}
    assert by_rule.signature == signature_of("lpirc-75", "12345678")
    assert "|engine:sample_metrics-1.0|" in by_rule.signature

    by_function = evaluate(truth, found, "found")
    assert by_function.ap == {1: 1.0, 4: 0.0}
    assert by_function.map == 0.5
    assert by_function.signature.startswith("found|iou:0.5|blacklist:none|engine:")
    assert evaluate(truth, found, "found", blacklist=[(2, 1)]).counts[1].objects == 1
    assert "engine" not in evaluate(truth, found, "lpirc").signature


@pytest.mark.usefixtures("sample")
@pytest.mark.parametrize("metric", ["lpirc-75", "found"])
def test_halves_by_a_metric_of_another_distribution_are_scored_as_sets_of_their_own(
    truth: GroundTruth,
    found: Detections,
    metric: str,
) -> None:
    maps = half_maps(truth, found, metric)
    drawn = halves_of(2)
    for half in range(0, HALVES, 37):
        images = truth.image_ids[drawn[:, half]]
        part = truth.of_objects(np.isin(truth.image, images))
        its = found.of_rows(np.isin(found.image, images))
        assert maps[half] == evaluate(part, its, metric).map


@pytest.mark.usefixtures("sample")
def test_errors_are_shown_by_a_rule_of_its_own_or_by_that_of_lpirc(
    truth: GroundTruth,
    found: Detections,
) -> None:
    own = analyse_errors(truth, found, "lpirc-75")
    assert own.map == evaluate(truth, found, "lpirc-75").map
    assert analyse_errors(truth, found, "found").map == evaluate(truth, found).map


FAILING = """
import sys
from lpirc_score.metrics.metric_kinds import OwnMetric, Rule

def exits(*given, **named):
    sys.exit(0)

EXITS = OwnMetric("exits", exits)
NOTHING = OwnMetric("nothing", lambda *given: None)
RULE = Rule("rule", average=lambda *given: 1 / 0)
"""


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("exits", "cannot be used: it failed: SystemExit: 0"),
        ("nothing", "cannot be used: it made None, which is not an Evaluation"),
        ("rule", "cannot be used: it failed: ZeroDivisionError: division by zero"),
    ],
)
def test_a_metric_of_another_distribution_that_fails_is_one_sentence(
    tmp_path: Path,
    truth: GroundTruth,
    found: Detections,
    metric: str,
    said: str,
) -> None:
    entries = "exits = failing:EXITS\nnothing = failing:NOTHING\nrule = failing:RULE"
    with plugins_in(tmp_path) as installer:
        installer.install("failing", GROUP, entries, FAILING)
        with pytest.raises(CodedError) as caught:
            evaluate(truth, found, metric)
    assert caught.value.code == "bad-metric"
    assert "of failing 1.0" in caught.value.sentence
    assert said in caught.value.sentence


@pytest.mark.usefixtures("sample")
def test_a_threshold_is_refused_by_a_metric_without_a_single_one(
    truth: GroundTruth,
    found: Detections,
) -> None:
    assert evaluate(truth, found, "lpirc-75", iou=0.5).ap[1] == 1.0
    with pytest.raises(CodedError, match="found has no single IoU threshold"):
        evaluate(truth, found, "found", iou=0.5)
    with pytest.raises(CodedError, match="choose a metric that has one"):
        rule_named("found")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.mark.usefixtures("sample")
def test_the_command_scores_by_it(tmp_path: Path) -> None:
    truth = tmp_path / "truth.csv"
    truth.write_text(TRUTH)
    rows = tmp_path / "found.txt"
    rows.write_text("\n".join(" ".join(map(str, row)) for row in ROWS))
    result = run(truth, rows, "--metric", "found", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["map"] == 0.5
    both = run(truth, rows, "--metric", "lpirc", "--metric", "lpirc-75")
    assert both.exit_code == 0, both.output
    assert "lpirc-75" in both.stdout

    for option, value in (
        ("--iou", "0.5"),
        ("--curves", "x.csv"),
    ):
        wrong = run(truth, rows, "--metric", "found", option, value)
        assert wrong.exit_code == 2
        assert "The metric found has no single IoU threshold" in wrong.stderr
    unknown = run(truth, rows, "--metric", "lost")
    assert unknown.exit_code == 2
    assert (
        "There is no metric 'lost'; choose one of lpirc, ilsvrc-det," in unknown.stderr
    )


def test_a_metric_that_cannot_be_used_names_entry_point_and_distribution(
    installer: Installer,
) -> None:
    source = "from lpirc_score.metrics.lpirc import METRIC\nNUMBER = 5"
    entries = (
        "odd = odd:NUMBER\nmine = odd:METRIC\nabsent = odd:ABSENT\nboth = odd:METRIC"
    )
    installer.install("odd", GROUP, entries, source)
    installer.install("other", GROUP, "both = other:METRIC\ncoco = other:METRIC", "")
    start = "The plug-in lpirc.metrics"
    assert refused("odd").sentence == (
        f"{start} odd = odd:NUMBER of odd 1.0 cannot be used: "
        "it is of the type int, not a Rule or OwnMetric"
    )
    assert refused("mine").sentence == (
        f"{start} mine = odd:METRIC of odd 1.0 cannot be used: its metric is named 'lpirc'"
    )
    assert refused("absent").sentence.startswith(
        f"{start} absent = odd:ABSENT of odd 1.0 cannot be used: AttributeError"
    )
    twice = refused("both").sentence
    assert twice.startswith(
        "Two distributions offer the metric 'both': lpirc.metrics both"
    )
    assert "both = odd:METRIC of odd 1.0" in twice
    assert metric_named("coco").name == "coco"  # what is built in keeps its name
    assert {refused(name).code for name in ("odd", "mine", "absent", "both")} == {
        "bad-metric"
    }
    assert metric_named("lpirc").name == "lpirc"


def test_a_metric_that_is_missing_is_said_with_what_computed_it(
    installer: Installer,
) -> None:
    engine = "sample_metrics-1.0"
    assert not_installed("found", engine) == (
        "The metric found was computed by sample_metrics-1.0, which is not installed here; "
        "install sample_metrics-1.0 and verify again."
    )
    assert not_installed("found", None) == ""
    installer.install("sample_metrics", GROUP, ENTRIES, SAMPLE.read_text())
    assert not_installed("found", engine) == ""
    assert not_installed("found", "sample_metrics-0.9") == (
        "The metric found was computed by sample_metrics-0.9, but here sample_metrics-1.0 "
        "is installed; install sample_metrics-0.9 and verify again."
    )


@pytest.mark.usefixtures("sample")
@pytest.mark.parametrize("metric", ["found", "lpirc-75"])
def test_every_analysis_names_the_rule_that_matched(
    truth: GroundTruth,
    found: Detections,
    metric: str,
) -> None:
    rule = "lpirc" if metric == "found" else metric
    threshold = 0.5 if metric == "found" else 0.75
    of = (truth, found, metric)
    results = [
        analyse_errors(*of),
        best_f1(*of),
        calibration(*of),
        confusion_matrix(*of),
    ]
    assert {(one.rule, one.iou) for one in results} == {(rule, threshold)}
    sizes = ap_by_size(*of)
    assert {one.rule for one in sizes.values()} == {rule}
    assert sizes["all"].map == evaluate(truth, found, rule).map
    slices = evaluate_slices(truth, found, {"all": [1, 2]}, metric)
    assert slices["all"].map == evaluate(truth, found, metric).map


@pytest.mark.usefixtures("sample")
def test_a_page_of_a_metric_without_curves_says_by_which_rule_the_rest_is(
    tmp_path: Path,
) -> None:
    (tmp_path / "truth.csv").write_text(TRUTH)
    rows = [" ".join(map(str, row)) for row in ROWS]
    (tmp_path / "found.txt").write_text("\n".join(rows))
    page = tmp_path / "page.html"
    files = [str(tmp_path / "truth.csv"), str(tmp_path / "found.txt")]
    done = CliRunner().invoke(main, [*files, "--metric", "found", "--html", str(page)])
    assert done.exit_code == 0, done.output
    text = page.read_text()
    assert "Precision and recall" not in text
    assert "by lpirc at IoU 0.5" in text
    assert "The mAP of objects of each size, by lpirc" in text
