"""Many runs scored: those whose scoring is known at once, the others by workers, each scoring once.

Whoever asks gets each run with its scoring, in this process and one at a time: the referee alone stores.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial

from referee.clock import Clock
from referee.contest import Contest
from referee.errors import RefereeError
from referee.judging.case import scoring_input
from referee.judging.judge import case_of
from referee.judging.known import ScoringJob, job_of, known_of, store_scoring, stored_scoring
from referee.judging.large import score_large, stored_posts
from referee.judging.scoring_job import Scored, score_whole
from referee.scoring import COCO
from referee.store.records import Run
from referee.workers import Workers
from referee.workers.dispatch import Task, carry_out
from referee.workers.processes import LocalWorkers

LARGE_ROWS = 4_000_000

Done = Callable[[Run, Scored], None]
Failed = Callable[[Run, str], None]


def not_scored(run: Run, reason: str) -> None:
    """Raise RefereeError `not-scored`: the run's scoring failed, or was cancelled."""
    raise RefereeError("not-scored", f"Run {run.id} was not judged: {reason}", run=run.id)


def score_runs(
    contest: Contest, runs: Iterable[Run], clock: Clock, workers: Workers | None, done: Done, failed: Failed
) -> None:
    """Score runs by the contest's metric and test set, of whose images they all are; without workers, here.

    Raises what a scoring raises that is made here, and TestSetError.
    """
    wanted: dict[ScoringJob, list[Run]] = {}
    for run in runs:
        wanted.setdefault(job_of(contest, run), []).append(run)
    tasks = {}
    for job, its_runs in wanted.items():
        found = stored_scoring(contest.store, job)
        if found is None and workers is not None:
            tasks[job.name] = _task(contest, job, its_runs, clock, done, failed)
            continue
        if found is None:
            found = score_here(contest, its_runs[0], job)
            store_scoring(contest.store, job, found, clock)
        for run in its_runs:
            done(run, found)
    if workers is not None:
        carry_out(contest.store, tasks, workers, clock)


def score_here(contest: Contest, run: Run, job: ScoringJob) -> Scored:
    """The scoring of a run; of a large one by a process of this host, so that memory stays bounded."""
    if not is_large(contest, run):
        return score_whole(scoring_input(case_of(contest, run)), known_of(contest.store, job))
    workers = LocalWorkers(1)
    try:
        return _by_blocks(contest, run, job, workers)
    finally:
        workers.close()


def is_large(contest: Contest, run: Run) -> bool:
    """Whether the rows of a run are too many for one worker. COCO's are always taken together."""
    return contest.config.metric != COCO and contest.store.count_detections(run.id) > LARGE_ROWS


def _by_blocks(contest: Contest, run: Run, job: ScoringJob, workers: Workers) -> Scored:
    given = scoring_input(case_of(contest, run, with_rows=False))
    return score_large(workers, given, stored_posts(contest.store, run.id), known_of(contest.store, job))


def _task(
    contest: Contest, job: ScoringJob, runs: list[Run], clock: Clock, done: Done, failed: Failed
) -> Task:
    def start(workers: Workers) -> Future[Scored]:
        if is_large(contest, runs[0]):
            return _beside(lambda: _by_blocks(contest, runs[0], job, workers))
        given = scoring_input(case_of(contest, runs[0]))
        return workers.submit(score_whole, given, known_of(contest.store, job))

    def keep(found: Scored) -> None:
        store_scoring(contest.store, job, found, clock)
        tell(found)

    def tell(found: Scored | None = None) -> None:
        known = found or stored_scoring(contest.store, job)
        for run in runs:
            if known is not None:
                done(run, known)

    def give_up(reason: str) -> None:
        for run in runs:
            failed(run, reason)

    return Task("run " + ", ".join(str(run.id) for run in runs), start, keep, partial(tell), give_up)


def _beside(work: Callable[[], Scored]) -> Future[Scored]:
    """Do this in a thread: it gives work to the workers and waits for them."""
    future: Future[Scored] = Future()
    future.set_running_or_notify_cancel()

    def do() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - it is the outcome
            future.set_exception(error)

    threading.Thread(target=do, daemon=True).start()
    return future
