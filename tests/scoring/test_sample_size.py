"""How many images tell two entries apart: the stated power is reached."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from lpirc_score import evaluate
from lpirc_score.analysis.sample_size import difference_sd, gap_found, images_needed
from lpirc_score.metrics.detection_columns import Detections
from lpirc_testsets import GroundTruth, synthesize
from referee.cli.testset_command import testset as command
from referee.errors import RefereeError

POPULATION = 3000
CATEGORIES = 4
POWER = 0.8
TRIALS = 100


class Population:
    """Images with one to three objects. Both entries fail more on hard images; the second finds less."""

    def __init__(
        self,
        seed: int,
    ) -> None:
        chance = np.random.default_rng(seed)
        self.objects = [
            chance.integers(1, CATEGORIES + 1, chance.integers(1, 4))
            for _ in range(POPULATION)
        ]
        easy = chance.uniform(0.5, 1.0, POPULATION).tolist()
        self.found = [
            [
                (chance.random(len(of)) < skill * ease, chance.random(len(of)))
                for of, ease in zip(self.objects, easy, strict=True)
            ]
            for skill in (0.95, 0.83)
        ]

    def drawn(
        self,
        images: NDArray[np.integer],
    ) -> tuple[GroundTruth, list[Detections]]:
        rows = []
        entries = [[], []]
        for number, image in enumerate(images.tolist(), start=1):
            for place, category in enumerate(self.objects[image].tolist()):
                box = (100 * place, 0, 100 * place + 50, 50)
                rows.append((number, category, *box, False))
                for entry, found in zip(entries, self.found, strict=True):
                    hit = found[image][0][place]
                    sure = found[image][1][place]
                    entry.append(
                        (
                            number,
                            category,
                            sure,
                            *(box if hit else (700, 700, 750, 750)),
                        )
                    )
        names = dict.fromkeys(range(1, len(images) + 1), "")
        truth = GroundTruth.of_corners(
            names,
            {one: str(one) for one in range(1, CATEGORIES + 1)},
            rows,
        )
        return truth, [Detections.from_rows(np.array(entry)) for entry in entries]


def gap_of(
    truth: GroundTruth,
    entries: list[Detections],
) -> float:
    first, second = (evaluate(truth, entry).map for entry in entries)
    return first - second


def test_so_many_images_find_the_gap_as_often_as_promised() -> None:
    """The share of sets of that size whose 95 % interval leaves out 0 is the power, give or take 0.1."""
    population = Population(3)
    chance = np.random.default_rng(4)
    gap = gap_of(*population.drawn(np.arange(POPULATION)))
    pilot = population.drawn(chance.choice(POPULATION, 600, replace=False))
    images = images_needed(difference_sd(*pilot), 600, gap, POWER)
    assert 50 < images < POPULATION / 10
    told_apart = 0
    for _ in range(TRIALS):
        drawn = population.drawn(chance.choice(POPULATION, images, replace=False))
        told_apart += abs(gap_of(*drawn)) > 1.96 * difference_sd(*drawn)
    assert abs(told_apart / TRIALS - POWER) < 0.1


def test_one_entry_alone_asks_for_more_images_than_the_pair() -> None:
    truth, entries = Population(5).drawn(np.arange(300))
    alone = difference_sd(truth, entries[:1])
    paired = difference_sd(truth, entries)
    assert images_needed(alone, 300, 0.01, POWER) > images_needed(
        paired,
        300,
        0.01,
        POWER,
    )
    with pytest.raises(RefereeError, match="both entries are the same"):
        difference_sd(truth, [entries[0], entries[0]])


def test_the_gap_of_a_set_needs_that_set() -> None:
    assert images_needed(0.02, 500, gap_found(0.02, POWER), POWER) in (500, 501)
    assert images_needed(0.02, 500, gap_found(0.02, POWER) / 2, POWER) in (2000, 2001)


def test_the_command_says_how_many(tmp_path: Path) -> None:
    made = synthesize(
        tmp_path / "set",
        images=20,
        categories=3,
        seed=1,
        size=(64, 64),
    )
    truth = json.loads(made.ground_truth_path.read_text())["annotations"]
    lines = ["image,class,confidence,xmin,ymin,xmax,ymax"]
    for one in truth:
        x, y, w, h = one["bbox"]
        lines.append(
            f"{one['image_id']},{one['category_id']},0.{one['id'] % 7 + 1},{x},{y},{x + w - 1},{y + h - 1}"
        )
    for name, kept in (("a", lines), ("b", lines[:-15])):
        (tmp_path / name).write_text("\n".join(kept))
    given = [
        "power",
        str(made.folder),
        "--gap",
        "0.05",
        "--detections",
        str(tmp_path / "a"),
    ]
    pair = [*given, "--detections", str(tmp_path / "b")]
    facts = json.loads(CliRunner().invoke(command, [*pair, "--json"]).stdout)
    assert (
        facts["images_needed"]
        == images_needed(facts["sd_of_difference"], 20, 0.05, 0.8)
        > 20
    )
    stdout = CliRunner().invoke(command, pair).stdout
    assert f"{facts['images_needed']} images show a difference of 0.05 in mAP" in stdout
    assert CliRunner().invoke(command, [*pair, "--detections", "c"]).exit_code == 2
    assert CliRunner().invoke(command, given[:2]).exit_code == 2
    assert CliRunner().invoke(command, [*pair, "--gap", "nan"]).exit_code == 2
