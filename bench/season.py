"""Many stored runs judged by workers, killed ones too, and by a corrected ground truth; a run too large for one.

What the parts of a judgement take is given to the model of `bench.season_model`.
"""

from __future__ import annotations

import os
import pickle
import random
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

import numpy as np

from bench import season_model, workload
from bench.bundles import REFEREE, write_test_set
from bench.figures import show
from lpirc_testsets import TestSet, read_ground_truth
from referee.clock import Clock
from referee.contest import open_contest
from referee.judging.case import scoring_input
from referee.judging.judge import case_of
from referee.judging.known import job_of, store_scoring
from referee.judging.scoring_job import object_digests, score_whole
from referee.judging.uncertainty import judge_scored
from tests.contest_day import descendants_of
from tests.referee.judging.stored_runs import forget_scorings, results, store_runs

RUNS, IMAGES, PER_IMAGE, LARGER, SAMPLE = 200, 5_000, 100, 40, 10
OTHERS = 2  # of a command's processes, the first: those that start and tidy up after its workers
LOOK_S, KILL_EVERY_S, ALONE, TWO = 0.5, 5.0, "", "--workers 2"
WAYS = (ALONE, False), ("--workers 1", False), (TWO, False), (TWO, True), (f"{TWO} --cluster local", False)
Row = dict[str, Any]


def measure(runs: int = RUNS, images: int = IMAGES) -> dict[str, list[Row]]:
    """Judge one contest in every way, and print the tables; `results` counts how many different ones came of it."""
    measured: dict[str, list[Row]] = {"judging": []}
    with TemporaryDirectory(prefix="season-") as name:
        contest, found = Path(name) / "contest", set[str]()
        made, test_set = _contest(Path(name), runs, images)
        costs = _costs(contest, min(runs, SAMPLE))
        for options, kill in WAYS:
            forget_scorings(contest)
            row, _ = _watched(contest, f"judge --all {options}", kill=kill)
            found.add(results(contest))
            model_s = costs.runs_s(runs, int(options.split()[1]) if options else 0, os.cpu_count() or 1)
            measured["judging"].append(row | {"by the model (s)": model_s, "results": len(found)})
        measured["correction"] = _correction(made, test_set, contest)
    with TemporaryDirectory(prefix="season-") as name:
        _contest(Path(name), 1, LARGER * images)
        row, _ = _watched(Path(name) / "contest", f"judge --all {TWO}")
        measured["one run"] = [row | {"detections": LARGER * images * PER_IMAGE}]
    measured |= {"costs": [vars(costs)], "seasons, by the model": season_model.seasons(costs)}
    for title, table in measured.items():
        show(title, table)
    return measured


def _contest(folder: Path, runs: int, images: int) -> tuple[workload.Workload, TestSet]:
    """Closed runs in `contest`, and their test set beside it."""
    made = workload.make(images, PER_IMAGE)
    test_set, place = write_test_set(made, folder / "testset")
    image = np.array([place[one] for one in made.image.tolist()])
    rows = np.column_stack([image, made.category, made.confidence, made.detections().boxes])
    store_runs(folder / "contest", test_set, rows[np.argsort(image, kind="stable")], runs)
    return made, test_set


def _costs(folder: Path, sample: int) -> season_model.Costs:
    """What the parts of a judgement take, one after the other in one process: medians."""
    took = []
    with open_contest(folder) as contest:
        for run in contest.store.runs()[:sample]:
            times = [time.perf_counter()]
            job, packed = job_of(contest, run), pickle.dumps(scoring_input(case_of(contest, run)))
            times.append(time.perf_counter())
            found = score_whole(pickle.loads(packed))  # noqa: S301 - our own
            times.append(time.perf_counter())
            store_scoring(contest.store, job, found, Clock())
            judge_scored(contest, run.id, Clock(), found)
            took.append(np.diff([*times, time.perf_counter()]))
    return season_model.Costs(*np.median(took, axis=0).tolist())


def _watched(folder: Path, words: str, *, kill: bool = False) -> tuple[Row, str]:
    """Run a command of the referee, with `kill` killing a worker every few seconds; its row, and what it printed."""
    began_s, worker_mb, all_mb, killed = time.monotonic(), 0.0, 0.0, 0
    command = [str(REFEREE), *words.split(), "--contest", str(folder)]
    with TemporaryFile("w+") as said, subprocess.Popen(command, stdout=said) as process:  # noqa: S603 - our own
        while process.poll() is None:
            parts = descendants_of(process.pid)
            worker_mb = max([worker_mb, *(_mb(one, "status", "VmHWM") for one in parts)])
            all_mb = max(all_mb, sum(_mb(one, "smaps_rollup", "Pss") for one in [process.pid, *parts]))
            if kill and len(parts) > OTHERS and time.monotonic() - began_s > (killed + 1) * KILL_EVERY_S:
                with suppress(ProcessLookupError):
                    os.kill(random.choice(parts[OTHERS:]), signal.SIGKILL)  # noqa: S311 - any worker
                killed += 1
            time.sleep(LOOK_S)
        said.seek(0)
        row = {"referee": words.partition("--testset")[0], "s": time.monotonic() - began_s, "killed": killed}
        return row | {
            "worker (MB)": worker_mb,
            "in all (MB)": all_mb,
            "exit": process.returncode,
        }, said.read()


def _mb(process: int, file: str, key: str) -> float:
    with suppress(OSError):
        for line in Path(f"/proc/{process}/{file}").read_text().splitlines():
            if line.startswith(f"{key}:"):
                return int(line.split()[1]) / 1e3
    return 0.0


def _correction(made: workload.Workload, test_set: TestSet, contest: Path) -> list[Row]:
    """A preview with the boxes of three images corrected: from what is known, and all again."""
    boxes = made.gt_boxes.copy()
    boxes[np.isin(made.gt_image, made.images[:3]), 0] += 5.0
    corrected, _ = write_test_set(replace(made, gt_boxes=boxes), contest.with_name("corrected"))
    was, now = (object_digests(read_ground_truth(one.folder)) for one in (test_set, corrected))
    words = f"rejudge --all --dry-run --json {TWO} --testset {corrected.folder}"
    known, known_said = _watched(contest, words)
    forget_scorings(contest, judgements=False)
    again, again_said = _watched(contest, words)
    changed, same = sum(was[one] != now[one] for one in was), {"same": known_said == again_said}
    return [known | {"categories": changed} | same, again | {"categories": len(was)} | same]
