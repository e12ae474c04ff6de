"""The metrics of the stand-alone verifier give the figures of the referee, bit by bit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from lpirc_power.meter import Setup
from lpirc_score import METRICS, evaluate
from lpirc_testsets.coco_reader import parse_coco
from lpirc_testsets.errors import Problems
from referee.judging.run_checks import measured_run
from referee.judging.scoring_job import scored_detections
from tests.referee.evidence.proved import second_verifier
from tests.referee.factories import run_record

SECOND = second_verifier("verify_metrics")
RESULTS = second_verifier("verify_results")
OF_SECOND = RESULTS.METRICS

SEEDS = range(60)
IMAGES = [1, 2, 3, 4]
CATEGORIES = [1, 3, 7]
SIDES = [0, 0.4, 1, 4, 9.7, 16, 20, 31.5, 33, 60]
Rows = list[list[float]]


def ground_truth(boxes: list[list[float]], chance: np.random.Generator) -> bytes:
    crowds, odd_areas = chance.random(2) < 0.5
    annotations = []
    for number, box in enumerate(boxes, start=1):
        one = {
            "id": number,
            "image_id": int(chance.choice(IMAGES)),
            "bbox": box,
        }
        one["category_id"] = int(chance.choice(CATEGORIES))
        if chance.random() < 0.2:
            one["difficult"] = int(chance.random() < 0.8)
        if crowds:
            one["iscrowd"] = int(chance.random() < 0.3)
        if odd_areas:
            one["area"] = float(chance.choice([0, 400.0, 1e10, 1.5e10]))
        annotations.append(one)
    document = {
        "images": [{"id": image} for image in IMAGES],
        "categories": [{"id": category} for category in CATEGORIES],
        "annotations": annotations,
    }
    return json.dumps(document).encode()


def random_case(seed: int) -> tuple[bytes, Rows]:
    """Boxes in a row or about a place, equal ones among them; confidences of few values; more than 100 at times."""
    chance = np.random.default_rng(seed)
    spread = int(chance.choice([2, 13, 60]))
    step = float(chance.choice([1.0, 4.0, 0.3, 0.1]))
    count = int(chance.choice([3, 12, 40]))
    corners = chance.integers(0, spread, (count, 2)) * step
    if seed % 3 == 0:  # in a row: a box between two others overlaps both alike
        corners[:, 1] = 0
        pool = np.hstack([corners, np.full((count, 2), 20.0)])
    else:
        pool = np.hstack([corners, chance.choice(SIDES, (count, 2))])
    truth = ground_truth(
        pool[chance.integers(0, count, int(chance.choice([1, 9, 30])))].tolist(),
        chance,
    )

    rows = []
    for _ in range(int(chance.choice([4, 20, 60, 400]))):
        x, y, w, h = (
            pool[chance.integers(0, count)] + chance.choice([0, 0, 0, 1, 4.3], 4)
        ).tolist()
        if chance.random() < 0.2:
            w *= 2  # an overlap of one half, or just below by rounding
        if chance.random() < 0.05:
            # Inverted; beyond the largest area.
            w, h = chance.choice(
                [-w, 1e5 + 1, 1e200],
                2,
            ).tolist()
        confidence = float(chance.choice([0.1, 0.5, 0.9, chance.random()]))
        corners_of_it = [x, y, x + w - 1, y + h - 1]
        rows.append(
            [
                int(chance.choice(IMAGES)),
                int(chance.choice(CATEGORIES)),
                confidence,
                *corners_of_it,
            ]
        )
    if seed % 5 == 0:  # one image and category with more than a hundred
        rows += [[1, 1, 0.4 + number / 1000, *rows[0][3:]] for number in range(120)]
    return truth, rows


def by_referee(
    metric: str,
    truth: bytes,
    rows: Rows,
) -> tuple[float, dict[int, float]]:
    problems = Problems()
    document = parse_coco(Path("truth.json"), problems, text=truth.decode())
    problems.raise_if_any("ground-truth-invalid")
    table = np.array(rows, np.float64).reshape(-1, 7)
    found = evaluate(document.ground_truth, scored_detections(table, metric), metric)
    # As a judgement has it: without any object the mAP of a run is 0.
    return found.map or 0.0, {
        category: ap for category, ap in found.ap.items() if ap is not None
    }


def by_second(
    metric: str,
    truth: bytes,
    rows: Rows,
) -> tuple[float, dict[int, float]]:
    objects = SECOND.read_objects(truth, {*IMAGES})
    ap = SECOND.average_precisions(OF_SECOND[metric], objects, rows)
    return SECOND.mean(ap.values()), ap


@pytest.mark.parametrize("metric", METRICS)
def test_both_compute_the_same_bits_of_ties_crowds_and_difficult_objects(
    metric: str,
) -> None:
    maps = set()
    for seed in SEEDS:
        case = random_case(seed)
        mine = by_second(metric, *case)
        its = by_referee(metric, *case)
        assert mine == its, seed
        maps.add(mine[0])
    assert len(maps) > len(SEEDS) // 3


@pytest.mark.parametrize("energy_wh", [None, 0.0, -0.1, 0.1, 1e308])
@pytest.mark.parametrize("timer_s", [0, 600])
def test_both_compute_the_same_mean_power_however_well_the_time_is_known(
    energy_wh: float | None,
    timer_s: int,
) -> None:
    found = set()
    for elapsed_s in (0.4, 597.9, 598.7, 599.0, 599.97, 600.0, 600.3, 602.1):
        for integrator_s in (0.0, 599.0, 599.97, 600.0, 600.97, None):
            setup = Setup(150.0, 0.5, update_interval_s=0.1, integrator_timer_s=timer_s)
            values = {
                "elapsed_s": elapsed_s,
                "integrator_s": integrator_s,
                "energy_wh": energy_wh,
            }
            run = run_record(setup=setup, **values)
            power_w = measured_run(run, [], 0.0, limits=None).mean_power_w
            assert RESULTS.mean_power_w({**values, "setup": setup.stated}) == power_w, (
                values
            )
            found.add(power_w)
    assert (len(found) > 5) == (energy_wh == 0.1)
