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

IMAGES, PER_IMAGE = workload.IMAGES, 100
ROWS_A_BODY = 100
EXPORT_TARGET_S, VERIFY_TARGET_S = 3, 5
REFEREE = Path(sys.executable).with_name("referee")


def measure() -> list[dict[str, Any]]:
    """Two rows: the better of three commands each."""
    made = workload.make(IMAGES, PER_IMAGE)
    with tempfile.TemporaryDirectory() as folder:
        contest_folder, file = Path(folder) / "contest", Path(folder) / "run.zip"
        _contest(made, Path(folder) / "testset", contest_folder)
        commands = {
            "export": (["export", "1", "-o", str(file), "--contest", str(contest_folder)], EXPORT_TARGET_S),
            "verify": (["verify", str(file)], VERIFY_TARGET_S),
        }
        what = f"{IMAGES * PER_IMAGE:,} detections (s)"
        measured = []
        for name, (command, target) in commands.items():
            took_s, processor_s = min(_took_s(command) for _ in range(3))
            measured.append(row(f"bundle {name}, {what}", took_s, target) | {"processor_s": processor_s})
    show("bundles", measured)
    return measured


def _took_s(command: list[str]) -> tuple[float, float]:
    """How long a whole command takes, and how much processor time."""
    before, began_s = os.times(), time.perf_counter()
    subprocess.run([str(REFEREE), "bundle", *command], check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own
    took_s, after = time.perf_counter() - began_s, os.times()
    used_s = after.children_user + after.children_system - before.children_user - before.children_system
    return took_s, used_s


def _contest(made: workload.Workload, testset: Path, folder: Path) -> None:
    """A contest with one judged run of these detections, in bodies of JSON."""
    test_set, place = write_test_set(made, testset)
    create_contest(folder, config_text(test_set))
    image = np.array([place[one] for one in made.image.tolist()])
    boxes = made.detections().boxes.round(2)
    rows = np.column_stack([image, made.category, made.confidence, boxes]).tolist()
    bodies = [as_json(rows[at : at + ROWS_A_BODY]) for at in range(0, len(rows), ROWS_A_BODY)]
    with open_contest(folder) as contest:
        contest.store.add_team(TEAM, "no hash", START)
        closed_with_bodies(contest, bodies)
        judge(contest, 1, Clock())


def write_test_set(made: workload.Workload, folder: Path) -> tuple[TestSet, dict[int, int]]:
    """Its records, and its numbers of the images by those of the workload; its images are no pictures."""
    place = dict(zip(made.images.tolist(), range(1, len(made.images) + 1), strict=True))
    size = workload.WIDTH_PX, workload.HEIGHT_PX
    images = [
        Image(n, f"{n}.jpg", *size, hashlib.sha256(b"%d" % n).hexdigest(), f"{n}") for n in place.values()
    ]
    columns = (made.gt_image, made.gt_category, made.gt_boxes, made.area)
    objects = [
        ObjectRecord(place[image], category, tuple(box), area)
        for image, category, box, area in zip(*(column.tolist() for column in columns), strict=True)
    ]
    (folder / "images").mkdir(parents=True)
    for one in images:
        (folder / "images" / one.file).write_bytes(b"%d" % one.number)
    categories = [Category(id_, str(id_)) for id_ in made.categories.tolist()]
    write_records(folder, "bench", images, categories, objects)
    return load_test_set(folder), place
