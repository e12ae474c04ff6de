"""Scores the results files that wait, in a process of their own, while the contest is served."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from lpirc_testsets import TestSetError
from referee.clock import Clock
from referee.config.tracks import RESULTS
from referee.contest import Contest
from referee.errors import RefereeError
from referee.store.records import JobState, ModelMeasurement, Submission
from referee.tracks import Track
from referee.tracks.rules.results import of_results
from referee.tracks.submissions.open_track import rule_of
from referee.tracks.submissions.results_files import ResultsSet, results_set, score_results
from referee.tracks.submissions.submitting import MODELS
from referee.workers import Workers
from referee.workers.dispatch import Task, carry_out
from referee.workers.processes import LocalWorkers

logger = logging.getLogger(__name__)


class EntryDesk:
    """The processes that check entries and score them, each one at a time, while the contest is served."""

    def __init__(self, contest: Contest, clock: Clock) -> None:
        self._contest, self._clock = contest, clock
        self._turn, self._stop = threading.Lock(), threading.Event()
        self._resources = ExitStack()

    @cached_property
    def checker(self) -> Workers:
        """Checks uploads."""
        return self._resources.enter_context(closing(LocalWorkers(1)))

    @cached_property
    def _scorer(self) -> Workers:
        return self._resources.enter_context(closing(LocalWorkers(1)))

    def ask(self) -> None:
        """Score what waits, soon; also what waited before a restart."""
        threading.Thread(target=self._score, name="entries", daemon=True).start()

    def _score(self) -> None:
        with self._turn:
            try:
                score_waiting(self._contest, lambda: self._scorer, self._clock, self._stop)
            except (RefereeError, TestSetError) as error:
                logger.error("entries are not scored: %s", error.sentence)  # noqa: TRY400 - its words suffice

    def close(self) -> None:
        """Give back what is being scored."""
        self._stop.set()
        with self._turn, self._resources:
            pass


def score_waiting(
    contest: Contest, workers: Callable[[], Workers], clock: Clock, stop: threading.Event
) -> None:
    """Score every results file whose outcome is to come, and store the outcome: figures, or why it failed."""
    tasks: dict[str, Task] = {}
    for config in contest.config.tracks:
        if config.rule_name != RESULTS:
            continue
        rule, of = rule_of(contest, config), results_set(contest, config)
        for one in contest.store.submissions(config.name):
            if not one.is_pending or one.job is None or one.job in tasks:
                continue
            task, job = _task(contest, of, rule, one, clock), contest.store.job(one.job)
            if job.state in (JobState.FAILED, JobState.CANCELLED):
                task.failed(job.reason or "It was cancelled by the operator.")
            elif one.testset_digest != of.digest(one.split):
                task.failed(
                    "The track's test set, metric or parts changed before it was scored; hand it in again."
                )
                contest.store.cancel_jobs([one.job], clock.utc())
            else:
                tasks[one.job] = task
    if tasks:
        carry_out(contest.store, tasks, workers(), clock, stop)


def _task(contest: Contest, of: ResultsSet, rule: Track, one: Submission, clock: Clock) -> Task:
    store, name = contest.store, one.job or ""
    path = contest.folder / MODELS / f"{one.model_sha256}{Path(one.model_file).suffix.lower()}"

    def settle(make: Callable[[], ModelMeasurement]) -> None:
        for other in store.submissions(one.track):
            if other.job == name and other.is_pending:
                store.add_measurement(other.id, make())

    def scored(mean_ap: float, images: int) -> ModelMeasurement:
        measured = of_results(mean_ap, images)
        verdict = rule.measure(measured)
        now = clock.utc().isoformat()
        return ModelMeasurement(now, True, verdict.sentence, metric=verdict.value, measured=asdict(measured))

    def found() -> None:
        figures, _ = store.scoring(name) or ("", None)
        settle(partial(scored, *json.loads(figures)))

    def done(result: tuple[float, int, bytes | None]) -> None:
        store.add_scoring(name, name, json.dumps(result[:2]), result[2], clock.utc())
        found()

    def failed(reason: str) -> None:
        settle(lambda: ModelMeasurement(clock.utc().isoformat(), valid=False, sentence=reason))

    def start(workers: Workers) -> Any:
        return workers.submit(score_results, path, of, one.split)

    return Task(f"submission {one.id}", start, done, found, failed)
