"""Many stored runs judged by workers, killed ones too, and by a corrected ground truth; a run too large for one."""

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
from referee.judging.judge import case_of, judge
from referee.judging.judge_many import job_of, store_scoring
from referee.judging.run_case import scoring_input
from referee.judging.scoring_job import object_digests, score_whole
from tests.contest_day import descendants_of
from tests.referee.judging.stored_runs import forget_scorings, results, store_runs

PER_IMAGE = 100
LARGER = 40
SAMPLE = 20
LOOK_S = 0.5
KILL_EVERY_S = 5.0
ALONE = ""
TWO = "--workers 2"
WAYS = (
    (ALONE, False),
    ("--workers 1", False),
    (TWO, False),
    (f"{TWO} --cluster local", False),
    (TWO, True),
)


def measure(runs: int, images: int) -> dict[str, list[dict[str, Any]]]:
    """Judge one contest in every way, and print the tables; `results` counts how many different ones came of it."""
    measured: dict[str, list[dict[str, Any]]] = {"judging": []}
    with TemporaryDirectory(prefix="season-") as name:
        contest = Path(name) / "contest"
        found = set[str]()
        made = workload.make(images, PER_IMAGE)
        test_set = write_test_set(made, Path(name) / "testset")
        store_runs(contest, test_set, made.rows(), runs)
        costs = _costs(contest)
        for options, kill in WAYS:
            forget_scorings(contest)
            row, _ = _watched(contest, f"judge --all {options}", kill=kill)
            found.add(results(contest))
            model_s = (
                costs.runs_s(runs, int(options[10:11]), os.cpu_count() or 1)
                if options
                else None
            )
            measured["judging"].append(
                row | {"by the model (s)": model_s, "results": len(found)}
            )
        measured["correction"] = _correction(made, test_set, contest)
        made = workload.make(LARGER * images, PER_IMAGE)
        contest = Path(name) / "large"
        store_runs(
            contest,
            write_test_set(made, Path(name) / "many-images"),
            made.rows(),
            1,
        )
        measured["one run"] = [
            _watched(contest, f"judge --all {TWO}")[0] | {"detections": len(made.image)}
        ]
    measured |= {
        "costs": [vars(costs)],
        "seasons, by the model": season_model.seasons(costs),
    }
    for title, table in measured.items():
        show(title, table)
    return measured


def _costs(folder: Path) -> season_model.Costs:
    """What the parts of a judgement take, one after the other in one process: medians."""
    took = []
    with open_contest(folder) as contest:
        for run in contest.store.runs.find()[:SAMPLE]:
            times = [time.perf_counter()]
            job = job_of(contest, run)
            packed = pickle.dumps(scoring_input(case_of(contest, run)))
            times.append(time.perf_counter())
            found = score_whole(pickle.loads(packed))  # noqa: S301 - our own
            times.append(time.perf_counter())
            store_scoring(contest.store, job, found, Clock())
            judge(contest, run.id, Clock(), found=found)
            took.append(np.diff([*times, time.perf_counter()]))
    return season_model.Costs(*np.median(took, axis=0).tolist())


def _watched(
    folder: Path,
    words: str,
    *,
    kill: bool = False,
) -> tuple[dict[str, Any], str]:
    """Run a command of the referee, with `kill` killing a worker every few seconds; its row, and what it printed."""
    began_s = time.monotonic()
    worker_mb = 0.0
    all_mb = 0.0
    killed = 0
    command = [str(REFEREE), *words.split(), "--contest", str(folder)]
    with TemporaryFile("w+") as said, subprocess.Popen(command, stdout=said) as process:  # noqa: S603 - our own
        while process.poll() is None:
            parts = descendants_of(process.pid)
            worker_mb = max(
                [worker_mb, *(_mb(one, "status", "VmHWM") for one in parts)]
            )
            all_mb = max(
                all_mb,
                sum(_mb(one, "smaps_rollup", "Pss") for one in [process.pid, *parts]),
            )
            if (
                kill
                and len(parts) > 2
                and time.monotonic() - began_s > (killed + 1) * KILL_EVERY_S
            ):
                with suppress(ProcessLookupError):
                    os.kill(random.choice(parts[2:]), signal.SIGKILL)  # noqa: S311 - the first two start them
                killed += 1
            time.sleep(LOOK_S)
        said.seek(0)
        row = {
            "referee": words.partition("--testset")[0],
            "s": time.monotonic() - began_s,
            "killed": killed,
        }
        row |= {
            "worker (MB)": worker_mb,
            "in all (MB)": all_mb,
            "exit": process.returncode,
        }
        return row, said.read()


def _mb(process: int, file: str, key: str) -> float:
    with suppress(OSError, IndexError):  # it has ended
        return (
            int(
                Path(f"/proc/{process}/{file}")
                .read_text()
                .split(f"{key}:")[1]
                .split()[0]
            )
            / 1e3
        )
    return 0.0


def _correction(
    made: workload.Workload,
    test_set: TestSet,
    contest: Path,
) -> list[dict[str, Any]]:
    """A preview with the boxes of three images corrected: from what is known, and all again."""
    boxes = made.gt_boxes.copy()
    boxes[np.isin(made.gt_image, made.images[:3]), 0] += 5.0
    corrected = write_test_set(
        replace(made, gt_boxes=boxes), contest.with_name("corrected")
    )
    was, now = (
        object_digests(read_ground_truth(one.folder)) for one in (test_set, corrected)
    )
    words = f"rejudge --all --dry-run --json {TWO} --testset {corrected.folder}"
    known, known_said = _watched(contest, words)
    forget_scorings(contest, judgements=False)
    again, again_said = _watched(contest, words)
    changed = sum(was[one] != now[one] for one in was)
    same = known_said == again_said
    return [
        known | {"categories": changed, "same": same},
        again | {"categories": len(was), "same": same},
    ]
