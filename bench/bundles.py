"""A bundle of many detections: how long it takes to export and to verify, as whole commands."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench import workload
from bench.figures import row, show
from lpirc_testsets import Category, Image, TestSet, load_test_set
from lpirc_testsets.writing import ObjectRecord, write_records
from referee.clock import Clock
from referee.contest import create_contest, open_contest
from referee.judging.judge import judge
from tests.referee.evidence.closed_runs import as_json, closed_with_bodies
from tests.referee.factories import START, TEAM, config_text

IMAGES = workload.IMAGES
PER_IMAGE = 100
ROWS_A_BODY = 100
EXPORT_TARGET_S = 3
VERIFY_TARGET_S = 5
REFEREE = Path(sys.executable).with_name("referee")


def measure() -> list[dict[str, Any]]:
    """Two rows: the better of three commands each."""
    made = workload.make(IMAGES, PER_IMAGE)
    with tempfile.TemporaryDirectory() as folder:
        contest_folder = Path(folder) / "contest"
        file = Path(folder) / "run.zip"
        _contest(made, Path(folder) / "testset", contest_folder)
        commands = {
            "export": (
                ["export", "1", "-o", str(file), "--contest", str(contest_folder)],
                EXPORT_TARGET_S,
            ),
            "verify": (["verify", str(file)], VERIFY_TARGET_S),
        }
        what = f"{IMAGES * PER_IMAGE:,} detections (s)"
        measured = []
        for name, (command, target) in commands.items():
            took_s, processor_s = min(_took_s(command) for _ in range(3))
            measured.append(
                row(f"bundle {name}, {what}", took_s, target)
                | {"processor_s": processor_s}
            )
    show("bundles", measured)
    return measured


def _took_s(command: list[str]) -> tuple[float, float]:
    """How long a whole command takes, and how much processor time."""
    before = os.times()
    began_s = time.perf_counter()
    subprocess.run(  # noqa: S603 - our own
        [str(REFEREE), "bundle", *command], check=True, stdout=subprocess.DEVNULL
    )
    took_s = time.perf_counter() - began_s
    after = os.times()
    used_s = (
        after.children_user
        + after.children_system
        - before.children_user
        - before.children_system
    )
    return took_s, used_s


def _contest(made: workload.Workload, testset: Path, folder: Path) -> None:
    """A contest with one judged run of these detections, in bodies of JSON."""
    create_contest(folder, config_text(write_test_set(made, testset)))
    rows = made.rows().tolist()
    bodies = [
        as_json(rows[at : at + ROWS_A_BODY]) for at in range(0, len(rows), ROWS_A_BODY)
    ]
    with open_contest(folder) as contest:
        contest.store.teams.add(TEAM, "no hash", START)
        closed_with_bodies(contest, bodies)
        judge(contest, 1, Clock())


def write_test_set(made: workload.Workload, folder: Path) -> TestSet:
    """Its records; the files of its images hold only a number."""
    (folder / "images").mkdir(parents=True)
    size = (workload.WIDTH_PX, workload.HEIGHT_PX)
    images = []
    for number in range(1, len(made.images) + 1):
        content = b"%d" % number
        (folder / "images" / f"{number}.jpg").write_bytes(content)
        images.append(
            Image(
                number,
                f"{number}.jpg",
                *size,
                hashlib.sha256(content).hexdigest(),
                f"{number}",
            )
        )
    rows = zip(
        (np.searchsorted(made.images, made.gt_image) + 1).tolist(),
        made.gt_category.tolist(),
        made.gt_boxes.tolist(),
        made.area.tolist(),
        strict=True,
    )
    objects = [
        ObjectRecord(image, category, tuple(box), area)
        for image, category, box, area in rows
    ]
    categories = [Category(id_, str(id_)) for id_ in made.categories.tolist()]
    write_records(folder, "bench", images, categories, objects)
    return load_test_set(folder)
