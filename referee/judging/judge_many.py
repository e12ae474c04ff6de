"""Scores many runs: known scorings are read from the store, the others go to workers, each only once.

The caller receives one run at a time with its scoring, in this process: only the referee writes to the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lpirc_score.detections.plausibility import limits_by_number
from lpirc_score.metrics.offered import engine_of, scores_by_blocks
from lpirc_score.tasks import BOXES
from lpirc_score.tasks.offered import task_engine
from referee.clock import Clock
from referee.contest import Contest, require_scorer
from referee.errors import RefereeError
from referee.judging.block_scoring import BYTES_A_ROW, score_large, stored_posts
from referee.judging.bound_rules import as_judged
from referee.judging.judge import (
    case_of,
    ground_truth_of,
    judge,
    judgeable,
    with_interval,
)
from referee.judging.run_case import (
    boxes_input,
    restricted_to,
    scoring_input,
    were_served,
)
from referee.judging.scoring_job import (
    Scored,
    name_of,
    object_digests,
    score_whole,
    scored_from,
    stem_of,
)
from referee.judging.task_scoring import WHOLE, task_stem_of
from referee.store import Store
from referee.store.acts import Act
from referee.store.records import Run, RunState, Score
from referee.workers import Workers
from referee.workers.job_dispatch import Task, carry_out, reason_of
from referee.workers.worker_processes import MEMORY_BYTES, LocalWorkers

Done = Callable[[Run, Scored], None]
Failed = Callable[[Run, str], None]


class ScoringJob(NamedTuple):
    """The `name` of a run's scoring, and the `stem` that its scorings with any ground truth share.

    `is_of_plugin`: another distribution scores, so the same inputs may give something else after a change of its code.
    """

    name: str
    stem: str
    is_of_plugin: bool = False


def judge_with_interval(
    contest: Contest,
    number: int,
    clock: Clock,
    act: Act | None = None,
    state: RunState | None = None,
) -> Score:
    """Judge a run, then add the interval of its score. `act`, `state` and what it raises are those of `judge`.

    A known scoring is reused, unless a plug-in made it. A new one is stored in two steps, because the interval takes
    several times as long as the score.
    """
    run = judgeable(contest, number)
    contest = as_judged(contest, run)
    job = job_of(contest, run)
    forget_if_of_plugin(contest.store, job)
    found = stored_scoring(contest.store, job)
    if found is None and is_large(contest, run, MEMORY_BYTES):
        found = score_here(contest, run, job)
        store_scoring(contest.store, job, found, clock)
    if found is not None:
        return judge(contest, number, clock, found=found, state=state, act=act)
    given = scoring_input(case_of(contest, run))
    known = known_of(contest.store, job)
    found = given.scored(known)
    judged = judge(contest, number, clock, found=found, state=state, act=act)
    found = given.with_halves(found, known)
    store_scoring(contest.store, job, found, clock)
    judged, maps = with_interval(judged, found)
    if judged.interval is not None and maps is not None:
        contest.store.scores.add_interval(judged, judged.interval, maps)
    return judged


def not_scored(run: Run, reason: str) -> None:
    """Raise RefereeError `not-scored`: the run's scoring failed, or was cancelled."""
    raise RefereeError(
        "not-scored",
        f"Run {run.id} was not judged: {reason}",
        run=run.id,
    )


def score_runs(
    contest: Contest,
    runs: Iterable[Run],
    clock: Clock,
    workers: Workers | None,
    done: Done,
    failed: Failed,
    metric: str | None = None,
) -> None:
    """Score runs by their own rules, on the test set that they all used. Without workers, this process scores them.

    A `metric` replaces the bound one. If `done` raises RefereeError for a run, `failed` is called for that run, too.
    Raises TestSetError.
    """
    wanted: dict[ScoringJob, list[Run]] = {}
    for run in runs:
        try:
            require_scorer(contest, run)
        except RefereeError as error:
            failed(run, error.sentence)
            continue
        job = job_of(as_judged(contest, run, metric), run)
        wanted.setdefault(job, []).append(run)
    tasks = {}
    for job, its_runs in wanted.items():
        judging = as_judged(contest, its_runs[0], metric)  # the same for all its runs
        task = _task(judging, job, its_runs, clock, done, failed)
        forget_if_of_plugin(contest.store, job)
        if contest.store.jobs.scoring(job.name) is not None:
            task.found()
        elif workers is not None:
            tasks[job.name] = task
        else:
            try:
                found = score_here(judging, its_runs[0], job)
            except Exception as error:  # noqa: BLE001 - as where workers do it
                task.failed(reason_of(error))
            else:
                task.done(found)
    if workers is not None:
        carry_out(contest.store, tasks, workers, clock)


def _task(
    contest: Contest,
    job: ScoringJob,
    runs: list[Run],
    clock: Clock,
    done: Done,
    failed: Failed,
) -> Task:
    def start(workers: Workers) -> Future[Scored]:
        if is_large(contest, runs[0], workers.memory_bytes):
            return _beside(lambda: _by_blocks(contest, runs[0], job, workers))
        given = scoring_input(case_of(contest, runs[0]))
        known = known_of(contest.store, job)
        return workers.submit(score_whole, given, known)

    def keep(found: Scored) -> None:
        store_scoring(contest.store, job, found, clock)
        tell(found)

    def tell(known: Scored | None) -> None:
        for run in runs:
            try:
                if known is not None:
                    done(run, known)
            except RefereeError as error:  # such as a run voided meanwhile
                failed(run, error.sentence)

    def give_up(reason: str) -> None:
        for run in runs:
            failed(run, reason)

    numbers = ", ".join(str(run.id) for run in runs)
    return Task(
        f"run {numbers}",
        start,
        keep,
        lambda: tell(stored_scoring(contest.store, job)),
        give_up,
    )


def score_here(
    contest: Contest,
    run: Run,
    job: ScoringJob,
) -> Scored:
    """Score a run on this host; a large run is scored by blocks in one other process, so memory stays bounded."""
    if not is_large(contest, run, MEMORY_BYTES):
        given = scoring_input(case_of(contest, run))
        known = known_of(contest.store, job)
        return score_whole(given, known)
    with closing(LocalWorkers(1)) as workers:
        return _by_blocks(contest, run, job, workers)


def is_large(
    contest: Contest,
    run: Run,
    memory_bytes: int,
) -> bool:
    """Return True if a run has too many rows for a worker's memory and its metric can be scored by blocks."""
    config = contest.config
    if config.task != BOXES or not scores_by_blocks(config.metric):
        return False
    rows = contest.store.posts.count_detections(run.id)
    return rows * BYTES_A_ROW > memory_bytes


def _by_blocks(
    contest: Contest,
    run: Run,
    job: ScoringJob,
    workers: Workers,
) -> Scored:
    given = boxes_input(case_of(contest, run, with_rows=False))
    posts = stored_posts(contest.store, run.id)
    known = known_of(contest.store, job)
    return score_large(workers, given, posts, known)


def _beside(work: Callable[[], Scored]) -> Future[Scored]:
    """Do `work` in a thread of its own, since it submits jobs to the workers and waits for them."""
    thread = ThreadPoolExecutor(1)
    future = thread.submit(work)
    thread.shutdown(wait=False)
    return future


def job_of(contest: Contest, run: Run) -> ScoringJob:
    """Return the scoring job of a run by the contest's metric and ground truth. Reads no rows. Raises TestSetError."""
    store = contest.store
    config = contest.config
    test_set = contest.test_set
    order = store.runs.image_order(run.id)
    served = were_served(order, store.served.images(run.id), len(test_set.images))
    bodies = store.posts.body_digests(run.id)
    if config.task != BOXES:
        stem = task_stem_of(config.task, config.count_unserved, bodies, order, served)
        name = name_of(stem, {WHOLE: test_set.ground_truth_sha256})
        return ScoringJob(name, stem, task_engine(config.task) is not None)
    limits = limits_by_number(test_set)
    stem = stem_of(config.metric, config.count_unserved, bodies, order, served, limits)
    objects = _objects(test_set.folder, test_set.digest, np.sort(order).tobytes())
    return ScoringJob(
        name_of(stem, objects), stem, engine_of(config.metric) is not None
    )


@lru_cache(8)
def _objects(
    folder: Path,
    digest: str,
    images: bytes,
) -> dict[int, str]:
    ground_truth = ground_truth_of(folder, digest)
    numbers = np.frombuffer(images, np.int64)
    return object_digests(restricted_to(ground_truth, numbers))


def stored_scoring(store: Store, job: ScoringJob) -> Scored | None:
    """Return the stored result of a job, or None."""
    return _scored_from(store.jobs.scoring(job.name))


def forget_if_of_plugin(store: Store, job: ScoringJob) -> None:
    """Forget the scoring of a plug-in, so that it is made anew: its code may have changed at the same version."""
    if job.is_of_plugin:
        store.jobs.forget_scoring(job.name)


def known_of(store: Store, job: ScoringJob) -> Scored | None:
    """Return the newest result of the same run, by any ground truth, or None; None for a plug-in."""
    if job.is_of_plugin:
        return None
    return _scored_from(store.jobs.scoring_of_stem(job.stem))


def _scored_from(stored: tuple[str, bytes | None] | None) -> Scored | None:
    if stored is None:
        return None
    figures, halves = stored
    return scored_from(figures, halves)


def store_scoring(
    store: Store,
    job: ScoringJob,
    found: Scored,
    clock: Clock,
) -> None:
    """Store the result of a job, which ends the job."""
    samples = None if found.halves is None else found.halves.astype("<f8").tobytes()
    store.jobs.add_scoring(job.name, job.stem, found.figures, samples, clock.utc())
