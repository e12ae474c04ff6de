"""The score of the DAC System Design Contest 2022, against its four published tables, and who tries to gain by it."""

from __future__ import annotations

import csv
import math
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.contest_rules import Facts, rule_named
from referee.contest_rules.floors_then_energy import FloorsThenEnergy, log2

PUBLISHED = FloorsThenEnergy(least_accuracy=0.7, least_images_per_s=30.0)
# byuccl.github.io/dac_sdc_2022, results: the three preliminary submissions and the final one.
TABLES = Path(__file__).with_name("dac_sdc_2022.csv")
ROWS = list(csv.DictReader(TABLES.read_text().splitlines()))
IMAGES = 1000


def half_a_digit(text: str) -> float:
    """Return by how much a printed figure may differ from the exact one."""
    exponent = Decimal(text).as_tuple().exponent
    return 0.5 * 10.0 ** int(exponent)


def at(accuracy: float, energy_j: float, images_per_s: float = 100.0) -> Facts:
    return Facts(
        accuracy=accuracy,
        energy_wh=energy_j / 3600,
        duration_s=IMAGES / images_per_s,
        images=IMAGES,
        images_of_run=IMAGES,
    )


def score(facts: Facts, rule: FloorsThenEnergy = PUBLISHED) -> float:
    value = rule.outcome(facts).value
    assert value is not None
    return value


def test_the_tables_have_all_that_was_published() -> None:
    tables = [row["table"] for row in ROWS]
    assert [tables.count(one) for one in ("march", "may", "june", "final")] == [
        8,
        5,
        18,
        26,
    ]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['table']} {row['team']}")
def test_every_published_total_is_reproduced_within_the_printed_digits(
    row: dict[str, str],
) -> None:
    speed, iou, energy_j = (
        float(row[name]) for name in ("images_per_s", "iou", "energy_j")
    )
    of_speed, of_iou, of_energy = (
        half_a_digit(row[name]) for name in ("images_per_s", "iou", "energy_j")
    )
    least = score(at(iou - of_iou, energy_j + of_energy, speed - of_speed))
    most = score(at(iou + of_iou, energy_j - of_energy, speed + of_speed))
    printed = float(row["total"])
    rounding = half_a_digit(row["total"]) + 1e-9
    assert least - rounding <= printed <= most + rounding
    assert most - least < 0.02 * printed, "the printed figures pin the score down"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['table']} {row['team']}")
def test_every_published_factor_is_reproduced(row: dict[str, str]) -> None:
    """Each alone: beside a run of the same energy that reaches both floors."""
    energy_j = float(row["energy_j"])
    whole = score(at(1.0, energy_j))
    assert math.log2(energy_j) == pytest.approx(float(row["energy_score"]), abs=0.0025)
    of_iou = score(at(float(row["iou"]), energy_j)) / whole
    of_speed = score(at(1.0, energy_j, float(row["images_per_s"]))) / whole
    assert of_iou == pytest.approx(float(row["iou_factor"]), abs=0.005 + 5 * 0.0005)
    assert of_speed == pytest.approx(float(row["speed_factor"]), abs=0.005 + 0.002)


@pytest.mark.parametrize("table", ["march", "may", "june", "final"])
def test_the_teams_are_in_the_published_order(table: str) -> None:
    rows = [row for row in ROWS if row["table"] == table]
    scores = [
        score(at(float(row["iou"]), float(row["energy_j"]), float(row["images_per_s"])))
        for row in rows
    ]
    assert scores == sorted(scores, reverse=True)


def test_the_floors_are_settings() -> None:
    lower = FloorsThenEnergy(least_accuracy=0.3, least_images_per_s=5.0)
    facts = at(0.32, 1000.0, 6.0)
    assert score(facts, lower) == 100 / math.log2(1000.0)
    below = at(0.26, 1000.0, 2.5)
    cut = (1 - 5 * (0.3 - 0.26)) * 0.5
    assert score(below, lower) == pytest.approx(100 / math.log2(1000.0) * cut)


def test_a_floor_that_is_met_exactly_costs_nothing() -> None:
    # 1000 images in 40 s: exact in binary, as 30 images/s are not.
    rule = FloorsThenEnergy(least_accuracy=0.7, least_images_per_s=25.0)
    assert score(at(0.7, 500.0, 25.0), rule) == score(at(0.9, 500.0, 400.0), rule)


def test_an_accuracy_far_below_its_floor_leaves_a_tenth() -> None:
    whole = score(at(0.9, 500.0))
    for accuracy in (0.52, 0.3, 0.0):
        assert score(at(accuracy, 500.0)) == pytest.approx(0.1 * whole)


@pytest.mark.parametrize("energy_j", [1.0, 0.999, 1e-6])
def test_an_energy_of_1_joule_or_less_has_no_score(energy_j: float) -> None:
    """100 / log2 of it would be infinite or below 0."""
    found = PUBLISHED.outcome(at(0.9, energy_j))
    assert found.value is None
    assert found.why_not == (
        f"its images take {energy_j:g} J; 100 / log2(energy) is a score only above 1 J"
    )


def test_an_energy_that_may_be_1_joule_has_no_score() -> None:
    """Who gets near 1 J would be ranked by the error of the meter."""
    near = at(0.9, 1.001)
    assert score(near) > 50_000
    unsure = Facts(**{**vars(near), "energy_limit": 0.002})
    found = PUBLISHED.outcome(unsure)
    assert found.value is None
    assert found.why_not == (
        "its images take 1.001 J, wrong by at most 0.002002 J, so it may be 1 J or less; "
        "100 / log2(energy) is a score only above 1 J"
    )


def test_answering_the_first_image_alone_gains_nothing() -> None:
    """2 J for one image of a thousand would score 100, five times the best of the final."""
    honest = at(0.703, 36.7, 2020.6)
    quick = Facts(
        accuracy=0.0007,
        energy_wh=2 / 3600,
        duration_s=0.03,
        images=1,
        images_of_run=IMAGES,
    )
    assert score(quick) == pytest.approx(0.1 * 100 / math.log2(2 * IMAGES))
    assert score(quick) < score(honest) / 20


def test_a_window_that_is_cut_short_changes_the_score_by_its_accuracy_alone() -> None:
    """Half of the images at half of the energy: the same energy for each image."""
    whole = at(0.7, 400.0)
    half = Facts(
        accuracy=0.35,
        energy_wh=200 / 3600,
        duration_s=IMAGES / 200,
        images=IMAGES // 2,
        images_of_run=IMAGES,
    )
    assert score(half) == pytest.approx(0.1 * score(whole))


def test_a_run_without_an_answer_or_without_their_number_has_no_score() -> None:
    known = vars(at(0.7, 400.0))
    none = PUBLISHED.outcome(Facts(**{**known, "images": 0}))
    assert none.value is None
    assert "no image is answered" in str(none.why_not)
    unknown = PUBLISHED.outcome(Facts(**{**known, "images": None}))
    assert unknown.value is None
    assert unknown.why_not == "the number of its answered images is not known"


def test_waiting_gains_nothing() -> None:
    """The team that stays logged in pays by its energy and, once it is slow, by its speed."""
    done = at(0.7, 400.0, 40.0)
    for more_s in (1.0, 10.0, 100.0):
        waited = Facts(
            **{
                **vars(done),
                "duration_s": IMAGES / 40 + more_s,
                "energy_wh": (400 + 3 * more_s) / 3600,
            }
        )
        assert score(waited) < score(done)


@given(
    st.floats(0, 1),
    st.floats(1.01, 1e7),
    st.floats(0.01, 1e4),
    st.floats(1.0, 2.0),
)
def test_more_accuracy_more_speed_and_less_energy_never_cost(
    accuracy: float, energy_j: float, speed: float, more: float
) -> None:
    own = score(at(accuracy, energy_j, speed))
    assert score(at(min(accuracy * more, 1.0), energy_j, speed)) >= own
    assert score(at(accuracy, energy_j, speed * more)) >= own * (1 - 1e-12)
    assert score(at(accuracy, energy_j * more, speed)) <= own


@given(st.floats(1e-300, 1e300))
def test_the_logarithm_is_that_of_the_library_but_for_its_last_digit(
    value: float,
) -> None:
    assert log2(value) == pytest.approx(math.log2(value), rel=1e-15, abs=1e-16)


def test_the_logarithm_of_a_power_of_two_is_whole() -> None:
    assert [log2(2.0**one) for one in (-3, 0, 1, 10, 600)] == [-3, 0, 1, 10, 600]


def test_a_run_is_told_what_its_score_is_made_of() -> None:
    """As the tables had it: CCAI_ZJU in June, and seuplayers of the final."""
    slow = PUBLISHED.outcome(at(0.711, 6540.7, 21.52))
    assert slow.how == (
        "This run: 100 / log2(6540.7 J) = 7.889, times 1.000 for its accuracy, "
        "times 0.717 for 21.52 images/s."
    )
    below = PUBLISHED.outcome(at(0.688, 327.8, 404.8))
    assert "times 0.940 for its accuracy, times 1.000 for 404.8 images/s" in str(
        below.how
    )


def test_its_sentence_has_the_formula_and_the_floors() -> None:
    rule = rule_named(
        "floors-then-energy", {"least_accuracy": 0.45, "least_images_per_s": 10.0}
    )
    assert rule.sentence == (
        "The score is 100 / log2(energy in J for all images of the run), times "
        "max(1 - 5 x (0.45 - accuracy), 0.1) if the accuracy is below 0.45, times "
        "answered images/s / 10 if they are below 10."
    )
