"""Many stored runs judged by workers: speed, memory, killed workers, corrected ground truth; a run too large for one.

`--runs` and `--images` make it smaller. What judging takes is given to the model of `bench.season_model`.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import random
import signal
import sqlite3
import subprocess
import time
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

import numpy as np

from bench import season_model, workload
from bench.bundles import REFEREE, write_test_set
from bench.figures import show
from bench.restart import children
from lpirc_testsets import load_test_set, read_ground_truth
from referee.clock import Clock
from referee.contest import create_contest, open_contest
from referee.judging.case import scoring_input
from referee.judging.judge import case_of
from referee.judging.known import job_of, store_scoring
from referee.judging.scoring_job import object_digests, score_whole
from referee.judging.uncertainty import judge_scored
from tests.referee.evidence.closed_runs import closed_with_bodies
from tests.referee.factories import config_text

RUNS, IMAGES, PER_IMAGE, LARGER = 200, 5_000, 100, 40
IMAGES_A_BODY, SAMPLE, LOOK_S, KILL_EVERY_S = 100, 10, 0.2, 5.0
ONE, TWO = ["--workers", "1"], ["--workers", "2"]
JUDGE, REJUDGE = ["judge", "--all"], ["rejudge", "--all", "--dry-run", "--json"]
WAYS = {"here": [], "1 worker": ONE, "2 workers": TWO, "2, one killed every 5 s": TWO}


@dataclass(frozen=True)
class Watched:
    """A command: its time, its largest process beside itself, all that its processes had (MB), and what it printed."""

    took_s: float
    worker_mb: float
    all_mb: float
    killed: int
    said: str

    def row(self, what: str, runs: int, **more: object) -> dict[str, Any]:
        """As the tables show it."""
        of_run = {"s": self.took_s, "s a run": self.took_s / runs, "killed": self.killed}
        return {"what": what, **of_run, "worker (MB)": self.worker_mb, "in all (MB)": self.all_mb, **more}


def measure(runs: int = RUNS, images: int = IMAGES) -> dict[str, list[dict[str, Any]]]:
    """Judge one contest in every way, and print the tables: all ways must give the same, bit for bit."""
    with TemporaryDirectory(prefix="season-") as name:
        folder = Path(name)
        made = _contest(folder, runs, images)
        contest, measured = folder / "contest", {}
        costs = _costs(contest, min(runs, SAMPLE))
        rows, results = [], set()
        for what, options in WAYS.items():
            _forget(contest, "closed")
            watched = _watched(contest, [*JUDGE, *options], kill="killed" in what)
            results.add(_results(contest))
            model_s = _predicted_s(runs, len(options) and int(options[1]), costs)
            rows.append(watched.row(what, runs, **{"model (s)": model_s, "different results": len(results)}))
        measured["judging"] = rows
        measured["correction"] = _correction(folder, made, runs)
    with TemporaryDirectory(prefix="season-") as name:
        _contest(Path(name), 1, LARGER * images)
        watched = _watched(Path(name) / "contest", [*JUDGE, *TWO])
        measured["large run"] = [watched.row(f"{LARGER * images * PER_IMAGE:,} detections", 1)]
    measured["costs"] = [vars(costs)]
    measured["seasons, by the model"] = season_model.seasons(costs)
    for title, table in measured.items():
        show(title, table)
    return measured


def _contest(folder: Path, runs: int, images: int) -> workload.Workload:
    """Closed runs in `contest`, their teams' detectors better and worse, posted as float32, 100 images a body."""
    made = workload.make(images, PER_IMAGE)
    test_set, place = write_test_set(made, folder / "testset")
    create_contest(folder / "contest", config_text(test_set))
    image = np.array([place[one] for one in made.image.tolist()])
    rows = np.column_stack([image, made.category, made.confidence, made.detections().boxes])
    rows = rows[np.argsort(image, kind="stable")].astype("<f4")
    with open_contest(folder / "contest") as contest:
        for run in range(runs):
            chance, sent = np.random.default_rng(run), rows.copy()
            sent[:, 2] = (rows[:, 2] ** chance.uniform(0.5, 1.5, len(rows))).round(4)
            sent[:, 3:] += chance.normal(0, chance.uniform(0, 3), (len(rows), 1))
            bodies = [(part.tobytes(), "application/octet-stream") for part in _bodies(sent)]
            closed_with_bodies(contest, bodies, team=f"team-{run:04}")
    return made


def _bodies(rows: Any) -> list[Any]:
    return np.split(rows, range(IMAGES_A_BODY * PER_IMAGE, len(rows), IMAGES_A_BODY * PER_IMAGE))


def _costs(folder: Path, sample: int) -> season_model.Costs:
    """What a judgement's parts take, one after the other in one process: means of a sample."""
    took = []
    with open_contest(folder) as contest:
        for run in contest.store.runs()[:sample]:
            times = [time.perf_counter()]
            job, given = job_of(contest, run), scoring_input(case_of(contest, run))
            given = pickle.loads(pickle.dumps(given))  # noqa: S301 - our own
            times.append(time.perf_counter())
            found = score_whole(given)
            times.append(time.perf_counter())
            store_scoring(contest.store, job, found, Clock())
            judge_scored(contest, run.id, Clock(), found)
            times.append(time.perf_counter())
            took.append(np.diff(times))
    return season_model.Costs(*(mean(column) for column in np.array(took).T.tolist()))


def _predicted_s(runs: int, workers: int, costs: season_model.Costs) -> float:
    """What the model says of so many runs at once on this host; without workers, they are judged one by one."""
    if not workers:
        return runs * (costs.read_s + costs.score_s + costs.keep_s)
    crowded = costs.crowded(workers, os.cpu_count() or 1)
    return float(season_model.judged_s(np.zeros(runs), workers, crowded).max())


def _forget(folder: Path, state: str) -> None:
    """Forget all scorings, and with the runs' `state` closed all judgements."""
    tables = ["jobs", "scorings", *(["intervals", "checks", "scores"] if state == "closed" else [])]
    with open_contest(folder) as contest:
        with closing(sqlite3.connect(folder / "contest.db")) as database, database:
            for table in tables:
                database.execute(f"DELETE FROM {table}")  # noqa: S608 - constants
            database.execute("UPDATE runs SET state = ?", (state,))
        contest.store.note_count()


def _results(folder: Path) -> str:
    """The hash of all judgements and scorings, and of how many there are."""
    with open_contest(folder) as contest:
        scores = [contest.store.latest_score(run.id) for run in contest.store.runs()]
        found = [repr(score and replace(score, judged_utc="")) for score in scores]
    with closing(sqlite3.connect(folder / "contest.db")) as database:
        found += map(repr, database.execute("SELECT name, figures, resampled FROM scorings ORDER BY name"))
    return hashlib.sha256("\n".join(found).encode()).hexdigest()


def _watched(folder: Path, words: list[str], *, kill: bool = False) -> Watched:
    """Run a command of the referee; `kill` one of its workers every few seconds."""
    began_s, peak_mb, all_mb, killed = time.monotonic(), 0.0, 0.0, 0
    command = [str(REFEREE), *words, "--contest", str(folder)]
    with TemporaryFile("w+") as said, subprocess.Popen(command, stdout=said) as process:  # noqa: S603 - our own
        while process.poll() is None:
            parts = children(process.pid)
            workers = [one for part in parts for one in children(part)]
            peak_mb = max([peak_mb, *(_mb(one, "status", "VmHWM") for one in [*parts, *workers])])
            all_mb = max(
                all_mb, sum(_mb(one, "smaps_rollup", "Pss") for one in [process.pid, *parts, *workers])
            )
            if kill and workers and time.monotonic() - began_s > (killed + 1) * KILL_EVERY_S:
                with suppress(ProcessLookupError):
                    os.kill(random.choice(workers), signal.SIGKILL)  # noqa: S311 - any of them
                killed += 1
            time.sleep(LOOK_S)
        took_s = time.monotonic() - began_s
        said.seek(0)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
        return Watched(took_s, peak_mb, all_mb, killed, said.read())


def _mb(process: int, file: str, key: str) -> float:
    with suppress(OSError):
        for line in Path(f"/proc/{process}/{file}").read_text().splitlines():
            if line.startswith(f"{key}:"):
                return int(line.split()[1]) / 1e3
    return 0.0


def _correction(folder: Path, made: workload.Workload, runs: int) -> list[dict[str, Any]]:
    """What a ground truth with the boxes of three images corrected changes: from what is known, and all again."""
    boxes = made.gt_boxes.copy()
    boxes[np.isin(made.gt_image, made.images[:3]), 0] += 5.0
    write_test_set(replace(made, gt_boxes=boxes), folder / "corrected")
    was, now = (
        object_digests(read_ground_truth(load_test_set(folder / name).folder))
        for name in ("testset", "corrected")
    )
    changed = sum(was[category] != now[category] for category in was)
    preview, found, rows = [*REJUDGE, "--testset", str(folder / "corrected"), *TWO], set(), []
    for what in ("from what is known", "all again"):
        if rows:
            _forget(folder / "contest", "judged")
        watched = _watched(folder / "contest", preview)
        found.add(json.dumps(json.loads(watched.said)["changes"]))
        parts = {"categories": changed if not rows else len(was), "different results": len(found)}
        rows.append(watched.row(what, runs, **parts))
    return rows
