"""A bundle of each metric holds in both verifiers bit by bit; with figures one bit aside it holds in neither."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from lpirc_power.meter import Setup
from lpirc_score import METRICS
from lpirc_score.metrics.evaluation_result import VERSION
from lpirc_testsets import TestSet, load_test_set, read_ground_truth, synthesize
from lpirc_testsets.writing import ObjectRecord, write_records
from referee.auth.signing import ContestKey
from referee.clock import Clock
from referee.contest import create_contest, open_contest
from referee.evidence.bundle_parts import export_bundle
from referee.judging.judge import judge
from referee.runs.arming import rules_now
from tests.contest_day import called
from tests.referee.evidence.closed_runs import as_json, closed_with_bodies
from tests.referee.evidence.directed import Bodies, directed
from tests.referee.evidence.proved import (
    SCRIPT,
    Proved,
    by_main,
    by_second,
    failed,
    lines,
    opened,
    second_verifier,
)
from tests.referee.factories import START, TEAM, config_text
from tests.referee.judging.test_rejudge import correct

IMAGES = 20
CATEGORIES = 3
SETUP = Setup(150.0, 0.5, update_interval_s=0.1, integrator_timer_s=600)
Bundles = dict[str, Proved]


def crowded(folder: Path) -> TestSet:
    """A set with crowds and difficult objects."""
    test_set = synthesize(
        folder,
        images=IMAGES,
        categories=CATEGORIES,
        seed=6,
        size=(96, 64),
    )
    truth = read_ground_truth(folder)
    chance = np.random.default_rng(7)
    objects = [
        ObjectRecord(
            int(image),
            int(category),
            tuple(box),
            float(box[2] * box[3]),
            crowd=bool(chance.random() < 0.2),
            difficult=bool(chance.random() < 0.2),
        )
        for image, category, box in zip(
            truth.image,
            truth.category,
            truth.coco_boxes.tolist(),
            strict=True,
        )
    ]
    write_records(folder, "crowded", test_set.images, test_set.categories, objects)
    return load_test_set(folder)


def rows_with_ties(test_set: TestSet) -> list[list[float]]:
    """About every object twice, at times a pixel or two aside, with few different confidences."""
    truth = read_ground_truth(test_set.folder)
    chance = np.random.default_rng(8)
    rows: list[list[float]] = []
    for image, category, box in zip(
        truth.image,
        truth.category,
        truth.boxes,
        strict=True,
    ):
        for _ in range(2):
            aside = chance.choice([0.0, 1.0, 2.3], 4) * (1, 1, -1, -1)
            corners = np.sort((box + aside).reshape(2, 2), axis=0).ravel().tolist()
            confidence = float(chance.choice([0.3, 0.6, 0.9]))
            rows.append([int(image), int(category), confidence, *corners])
    chance.shuffle(rows)
    return rows


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Bundles:
    return made_bundles(tmp_path_factory.mktemp("metrics"), METRICS, is_bound=True)


@pytest.fixture(scope="module")
def directed_bundles(tmp_path_factory: pytest.TempPathFactory) -> Bundles:
    folder = tmp_path_factory.mktemp("directed")
    test_set, bodies = directed(folder / "set")
    return bundles_of(folder, METRICS, test_set, bodies, unserved=1)


def made_bundles(
    folder: Path,
    metrics: Sequence[str],
    *,
    is_bound: bool,
) -> Bundles:
    """By metric the bundle of a judged run whose rules are bound, or of one from before rules were."""
    test_set = crowded(folder / "set")
    rows = rows_with_ties(test_set)
    return bundles_of(
        folder,
        metrics,
        test_set,
        [as_json(rows[:9]), as_json(rows[9:])],
        is_bound=is_bound,
    )


def bundles_of(
    folder: Path,
    metrics: Sequence[str],
    test_set: TestSet,
    bodies: Bodies,
    *,
    is_bound: bool = True,
    unserved: int = 0,
    **different: Any,
) -> Bundles:
    """By metric the bundle of a judged run with these bodies."""
    made = {}
    about = {"setup": SETUP, **different}
    for metric in metrics:
        home = folder / metric
        out = folder / f"{metric}.zip"
        create_contest(home, config_text(test_set, metric=metric))
        with open_contest(home) as contest:
            contest.store.teams.add(TEAM, "no hash", START)
            bound = (
                rules_now(contest.config, contest.test_set, SETUP, 0)
                if is_bound
                else None
            )
            run = closed_with_bodies(
                contest,
                bodies,
                unserved=unserved,
                rules=bound,
                **about,
            )
            judge(contest, run.id, Clock())
            export_bundle(contest, run.id, out, START)
        key = ContestKey(home / "signing-key", None)
        made[metric] = Proved(out.read_bytes(), b"", key, key, test_set.folder)
    return made


def result_of(bundle: Proved) -> dict[str, object]:
    result: dict[str, object] = json.loads(opened(bundle.data)["result.json"])
    return result


@pytest.mark.parametrize("metric", METRICS)
def test_both_verifiers_compute_the_bits_that_the_referee_has_stored(
    bundles: Bundles,
    metric: str,
) -> None:
    for verifier in (by_main, by_second):
        found = verifier(bundles[metric].data)
        assert failed(found) == []
        assert {"map", "map-ilsvrc-det", "score"} <= {*found}


@pytest.mark.parametrize("metric", METRICS)
def test_both_compute_the_bits_of_the_directed_set(
    directed_bundles: Bundles,
    metric: str,
) -> None:
    one = directed_bundles[metric]
    for verifier in (by_main, by_second):
        assert failed(verifier(one.data)) == []
    posts = [
        json.loads(line) for line in opened(one.data)["posts.jsonl.gz"].splitlines()
    ]
    assert [post["refused"] for post in posts] == [0, 0, 1]
    # Of the image that was not served.
    assert result_of(one)["detections"] == posts[-1]["received_total"] - 1


OF_CORNERS = ("lpirc", "ilsvrc-det", "voc-area", "voc-11")
OF_VOC = ("voc-area", "voc-11")
IN_METRICS = "verify_metrics"
IN_COCO = "verify_coco"
CHANGES: dict[str, tuple[str, Sequence[str], list[tuple[str, str]]]] = {
    "no overlap is enough": (
        IN_METRICS,
        ["ilsvrc-det"],
        [("        best = 0.0\n        chosen", "        best = -1.0\n        chosen")],
    ),
    "more than the overlap": (
        IN_METRICS,
        ["lpirc", "ilsvrc-det"],
        [("overlap >= least_of(one)", "overlap > least_of(one)")],
    ),
    "more than one half by VOC": (IN_METRICS, OF_VOC, [("best < LEAST", "best <= LEAST")]),
    "more than the overlap by COCO": (IN_COCO, ["coco"], [("candidate.overlap >= least", "candidate.overlap > least")]),
    "the file's sides": (
        IN_METRICS,
        ["ilsvrc-det"],
        [
            ("area=float(area),", "area=(w, h),"),
            ("width = box.right - box.left + 1\n    height = box.bottom - box.top + 1\n", "width, height = one.area\n"),
        ],
    ),
    "the last of equal ones": (
        IN_METRICS,
        ["lpirc", "ilsvrc-det"],
        [("if overlap > best and", "if overlap >= best > 0 or overlap > best and")],
    ),
    "the last of equal ones by VOC": (
        IN_METRICS,
        OF_VOC,
        [("            if overlap > best:\n", "            if overlap > 0 and overlap >= best:\n")],
    ),
    "the next object where the best is taken": (
        IN_METRICS,
        OF_VOC,
        [("            if overlap > best:\n", "            if overlap > best and id(one) not in taken:\n")],
    ),
    "the first of equal ones by COCO": (IN_COCO, ["coco"], [("-self.place", "self.place")]),
    "no object is preferred": (IN_COCO, ["coco"], [("return not _counts(self.one), ", "return False, ")]),
    "no 2^-52": (IN_COCO, ["coco"], [("extra=2**-52", "extra=0.0")]),
    "a thousand of an image": (IN_COCO, ["coco"], [("MOST_OF_AN_IMAGE = 100", "MOST_OF_AN_IMAGE = 1000")]),
    "objects of any size": (IN_COCO, ["coco"], [(" and one.area <= LARGEST_AREA", "")]),
    "detections of any size": (IN_COCO, ["coco"], [(" or box.area > LARGEST_AREA", "")]),
    "inverted detections": (IN_COCO, ["coco"], [("box.area < 0 or ", "")]),
    "0.9": (IN_COCO, ["coco"], [("0.8999999999999999", "0.9")]),
    "k / 100": (IN_COCO, ["coco"], [("step * 0.01", "step / 100")]),
    "k / 10": (IN_METRICS, ["voc-11"], [("step * 0.1", "step / 10")]),
    "x + w - 1": (IN_METRICS, OF_CORNERS, [("w + (x - 1)", "x + w - 1"), ("h + (y - 1)", "y + h - 1"),]),
    "xmax - xmin + 1": (
        IN_METRICS,
        ["coco"],
        [(f"self.{one}max - (self.{one}min - 1)", f"self.{one}max - self.{one}min + 1") for one in "xy"],
    ),
}  # fmt: skip
"""Rules that someone could take for those of the page: the file, the metrics that differ by it, old and new texts."""


def changed_metrics(
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    texts: list[tuple[str, str]],
) -> tuple[Any, Any]:
    """The two files of the second verifier with its metrics, one of them with other texts."""
    made = []
    for name in (IN_METRICS, IN_COCO):
        source = SCRIPT.with_name(f"{name}.py").read_text()
        for old, new in texts if name == file else ():
            assert source.count(old) == 1, (old, source.count(old))
            source = source.replace(old, new)
        module = ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec(compile(source, name, "exec"), vars(module))  # noqa: S102 - our own file
        made.append(module)
    return made[0], made[1]


def figures_by(
    metrics: Any,
    coco: Any,
    metric: str,
    one: Proved,
) -> dict[str, object]:
    """The AP by category of a bundle."""
    bundle = second_verifier("verify_records").Bundle(one.data, None)
    rows = second_verifier("verify_items").check_bodies(bundle)
    objects = metrics.read_objects(bundle.truth, {*bundle.order})
    compute = (
        coco.coco if metric == "coco" else getattr(metrics, metric.replace("-", "_"))
    )
    ap = metrics.average_precisions(compute, objects, rows)
    return {
        str(category): ap.get(category) for category, _ in bundle.test_set["categories"]
    }


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_a_rule_is_noticed(
    directed_bundles: Bundles,
    monkeypatch: pytest.MonkeyPatch,
    change: str,
) -> None:
    file, names, texts = CHANGES[change]
    as_it_is, changed = (changed_metrics(monkeypatch, file, one) for one in ([], texts))
    for metric in names:
        one = directed_bundles[metric]
        stated = result_of(one)["ap"]
        assert figures_by(*as_it_is, metric, one) == stated
        assert figures_by(*changed, metric, one) != stated, metric


@pytest.mark.parametrize(
    ("metric", "iou"),
    [
        ("coco", "0.5:0.95"),
        ("ilsvrc-det", "0.5"),
    ],
)
def test_both_know_the_signature_of_some_images_and_extra_time(
    tmp_path: Path,
    metric: str,
    iou: str,
) -> None:
    test_set = crowded(tmp_path / "set")
    bodies = [
        as_json([row for row in rows_with_ties(test_set) if row[0] <= IMAGES - 8])
    ]
    different = {
        "images": IMAGES - 8,
        "extra_s": 30.5,
        "window_s": 630.5,
    }
    automatic = replace(
        SETUP,
        current_range_a=None,
        line_filter=True,
        ambient_change_c=7.0,
    )
    made = bundles_of(
        tmp_path,
        [metric],
        test_set,
        bodies,
        is_bound=False,
        unserved=8,
        setup=automatic,
        **different,
    )
    data = made[metric].data
    for verifier in (by_main, by_second):
        found = verifier(data)
        assert failed(found) == []
        assert found["result-signature"] == ""
    assert str(result_of(made[metric])["signature"]) == (
        f"{metric}|iou:{iou}|blacklist:none|gt:{test_set.digest[:12]}|rules:1|v:{VERSION}"
        "|images:12-of-20:a2a5d426b002|counts:served|window:600s|extra:30.5s|voltage_range_v:150.0"
        "|current_range_a:auto|update_interval_s:0.1|mode:rms|crest_factor:3|line_filter:true"
        "|frequency_filter:false|synchronize:voltage|element:1|meter:YOKOGAWA WT310 C2PH13047V F1.03"
    )


def test_the_set_tells_the_metrics_apart(bundles: Bundles) -> None:
    assert len({result_of(one)["map"] for one in bundles.values()}) == len(METRICS)


def with_figure_aside(
    bundle: Proved,
    what: str,
    share: float = 0.0,
) -> bytes:
    """The bundle signed anew with a figure one bit aside, or by that share of it."""

    def aside(value: float) -> float:
        return value * (1 + share) if share else math.nextafter(value, 1)

    result: Any = result_of(bundle)
    if what == "ap":
        result["ap"]["2"] = aside(result["ap"]["2"])
    else:
        result[what] = aside(result[what])
    return bundle.sealed(opened(bundle.data) | {"result.json": lines([result])})


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("what", ["map", "ap", "score"])
def test_a_figure_that_is_one_bit_aside_holds_in_neither(
    bundles: Bundles,
    metric: str,
    what: str,
) -> None:
    one = bundles[metric]
    item = "score" if what == "score" else "map"
    data = with_figure_aside(one, what)
    for verifier in (by_main, by_second):
        assert item in failed(verifier(data))


def test_coco_of_an_earlier_version_may_differ_by_rounding_and_by_no_more(
    tmp_path: Path,
) -> None:
    one = made_bundles(tmp_path, ["coco"], is_bound=False)["coco"]
    for what in ("map", "ap"):
        for verifier in (by_main, by_second):
            assert "map" not in failed(verifier(with_figure_aside(one, what, 1e-14)))
            assert "map" in failed(verifier(with_figure_aside(one, what, 1e-9)))


@pytest.mark.parametrize("metric", METRICS)
def test_a_judgement_by_another_metric_holds_in_neither(
    bundles: Bundles,
    metric: str,
) -> None:
    one = bundles[metric]
    other = METRICS[(METRICS.index(metric) + 1) % len(METRICS)]
    texts = opened(one.data)
    about = json.loads(texts["run.json"])
    about["contest"]["metric"] = other
    data = one.sealed(texts | {"run.json": lines([about])})
    for verifier in (by_main, by_second):
        assert "map" in failed(verifier(data))


def test_a_corrected_ground_truth_holds_and_an_altered_correction_in_neither(
    tmp_path: Path,
) -> None:
    one = made_bundles(tmp_path, ["coco"], is_bound=True)["coco"]
    correct(load_test_set(one.testset), one.testset)
    home = tmp_path / "coco"
    out = tmp_path / "again.zip"
    for command in (
        ("rejudge", "--all", "--reason", "a wrong box", "--contest", str(home)),
        ("bundle", "export", "1", "-o", str(out), "--contest", str(home)),
    ):
        done = called(*command)
        assert done.returncode == 0, done.stderr
    texts = opened(out.read_bytes())
    events = texts["events.jsonl.gz"]
    assert b"a wrong box" in events
    for verifier in (by_main, by_second):
        assert failed(verifier(out.read_bytes())) == []
        for old, new in (
            (b"a wrong box", b"a right box"),
            (b'\\"signature\\": \\"', b'\\"signature\\": \\"0'),
        ):
            altered = texts | {"events.jsonl.gz": events.replace(old, new)}
            assert {"testset", "log-chain"} <= {*failed(verifier(one.sealed(altered)))}
