"""A bundle of each metric holds in both verifiers bit by bit; with figures one bit aside it holds in neither."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lpirc_testsets import TestSet, load_test_set, read_ground_truth, synthesize
from lpirc_testsets.writing import ObjectRecord, write_records
from referee.auth.signing import ContestKey
from referee.clock import Clock
from referee.contest import create_contest, open_contest
from referee.judging.judge import judge
from referee.scoring import METRICS
from tests.contest_day import called
from tests.referee.evidence.closed_runs import as_json, closed_with_bodies
from tests.referee.evidence.proved import Proved, by_main, by_second, failed, lines, opened
from tests.referee.factories import START, TEAM, config_text

IMAGES, CATEGORIES = 20, 3
Bundles = dict[str, Proved]


def crowded(folder: Path) -> TestSet:
    """A set with crowds and difficult objects."""
    test_set = synthesize(folder, images=IMAGES, categories=CATEGORIES, seed=6, size=(96, 64))
    truth, chance = read_ground_truth(folder), np.random.default_rng(7)
    objects = [
        ObjectRecord(
            int(image),
            int(category),
            tuple(box),
            float(box[2] * box[3]),
            crowd=bool(chance.random() < 0.2),
            difficult=bool(chance.random() < 0.2),
        )
        for image, category, box in zip(truth.image, truth.category, truth.coco_boxes.tolist(), strict=True)
    ]
    write_records(folder, "crowded", test_set.images, test_set.categories, objects)
    return load_test_set(folder)


def rows_with_ties(test_set: TestSet) -> list[list[float]]:
    """About every object twice, at times a pixel or two aside, with few different confidences."""
    truth, chance = read_ground_truth(test_set.folder), np.random.default_rng(8)
    rows: list[list[float]] = []
    for image, category, box in zip(truth.image, truth.category, truth.boxes, strict=True):
        for _ in range(2):
            aside = chance.choice([0.0, 1.0, 2.3], 4) * (1, 1, -1, -1)
            corners = np.sort((box + aside).reshape(2, 2), axis=0).ravel().tolist()
            confidence = float(chance.choice([0.3, 0.6, 0.9]))
            rows.append([int(image), int(category), confidence, *corners])
    chance.shuffle(rows)
    return rows


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Bundles:
    folder = tmp_path_factory.mktemp("metrics")
    test_set = crowded(folder / "set")
    rows = rows_with_ties(test_set)
    made = {}
    for metric in METRICS:
        home, out = folder / metric, folder / f"{metric}.zip"
        create_contest(home, config_text(test_set, metric=metric))
        with open_contest(home) as contest:
            contest.store.add_team(TEAM, "no hash", START)
            run = closed_with_bodies(contest, [as_json(rows[:9]), as_json(rows[9:])])
            judge(contest, run.id, Clock())
        assert called("bundle", "export", str(run.id), "-o", str(out), "--contest", str(home)).returncode == 0
        key = ContestKey(home / "signing-key", None)
        made[metric] = Proved(out.read_bytes(), b"", key, key, test_set.folder)
    return made


def result_of(bundle: Proved) -> dict[str, object]:
    result: dict[str, object] = json.loads(opened(bundle.data)["result.json"])
    return result


@pytest.mark.parametrize("metric", METRICS)
def test_both_verifiers_compute_the_bits_that_the_referee_has_stored(bundles: Bundles, metric: str) -> None:
    for verifier in (by_main, by_second):
        found = verifier(bundles[metric].data)
        assert failed(found) == []
        assert {"map", "map-ilsvrc-det", "score"} <= {*found}


def test_the_set_tells_the_metrics_apart(bundles: Bundles) -> None:
    assert len({result_of(one)["map"] for one in bundles.values()}) == len(METRICS)


def are_rules_bound(bundle: Proved) -> bool:
    return json.loads(opened(bundle.data)["run.json"])["run"].get("rules") is not None


def with_figure_aside(bundle: Proved, what: str, share: float = 0.0) -> bytes:
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
def test_a_figure_that_is_one_bit_aside_holds_in_neither(bundles: Bundles, metric: str, what: str) -> None:
    one, item = bundles[metric], "score" if what == "score" else "map"
    data = with_figure_aside(one, what)
    if metric == "coco" and not are_rules_bound(one):
        data = with_figure_aside(one, what, 1e-9)
    for verifier in (by_main, by_second):
        assert item in failed(verifier(data))


@pytest.mark.parametrize("what", ["map", "ap"])
def test_coco_of_an_earlier_version_may_differ_by_rounding(bundles: Bundles, what: str) -> None:
    one = bundles["coco"]
    if are_rules_bound(one):
        pytest.skip("this run is of the present version")
    for verifier in (by_main, by_second):
        assert "map" not in failed(verifier(with_figure_aside(one, what, 1e-14)))


@pytest.mark.parametrize("metric", METRICS)
def test_a_judgement_by_another_metric_holds_in_neither(bundles: Bundles, metric: str) -> None:
    one = bundles[metric]
    other = METRICS[(METRICS.index(metric) + 1) % len(METRICS)]
    texts = opened(one.data)
    about = json.loads(texts["run.json"])
    about["contest"]["metric"] = other
    data = one.sealed(texts | {"run.json": lines([about])})
    for verifier in (by_main, by_second):
        assert "map" in failed(verifier(data))
