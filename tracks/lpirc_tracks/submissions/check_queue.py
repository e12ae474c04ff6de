"""The queue of received uploads waiting for their check: teams take turns, each team's uploads in order of arrival."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from lpirc_testsets import TestSetError
from lpirc_tracks.submissions.confining import hidden_files, require_confined
from lpirc_tracks.submissions.entries import check_model
from lpirc_tracks.submissions.harness import Limits
from lpirc_tracks.submissions.open_track import rule_of
from lpirc_tracks.submissions.receiving import remove_unneeded
from lpirc_tracks.submissions.results_files import (
    HOLDOUT,
    PUBLIC,
    RETRY_S,
    kept_upload,
    results_set,
)
from lpirc_tracks.submissions.second_copies import require_file
from lpirc_tracks.submissions.upload_check import Refused, check_other, check_results
from referee.clock import Clock
from referee.config.tracks import RESULTS, ModelTrack
from referee.contest import Contest
from referee.errors import RefereeError
from referee.store.model_records import JobKind, Submission
from referee.workers import WorkerLost, Workers
from referee.workers.job_dispatch import Task, carry_out
from referee.workers.worker_processes import LocalWorkers

LIMIT_S = 600.0
"""Wall-clock seconds that a check may take; after that its process is killed."""

logger = logging.getLogger(__name__)


def in_turn(waiting: Iterable[Submission], served: Sequence[str]) -> list[Submission]:
    """Return the uploads in the order of their checks: the first of each team, then the second of each, and so on.

    Within a round, teams never checked come first, then those whose newest check is longest ago. `served` lists the
    teams, newest check last.
    """
    turns: Counter[str] = Counter()
    keyed = []
    for one in waiting:
        since = served.index(one.team) if one.team in served else -1
        keyed.append(((turns[one.team], since, one.id), one))
        turns[one.team] += 1
    return [one for _, one in sorted(keyed, key=lambda each: each[0])]


class CheckQueue:
    """Checks received uploads one at a time; `admitted` is called when one passes."""

    def __init__(
        self, contest: Contest, clock: Clock, admitted: Callable[[], object]
    ) -> None:
        self.contest = contest
        self.clock = clock
        self._admitted = admitted
        self._served: list[str] = []  # teams, the newest check last
        self._gone: set[int] = set()  # entries whose file is not there, as was said
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._ended = threading.Condition()
        self._thread: threading.Thread | None = None

    @cached_property
    def workers(self) -> LocalWorkers:
        """The worker processes, started with the first check. If one dies, the server continues."""
        return LocalWorkers(1)

    def ask(self) -> None:
        """Request that waiting uploads are checked soon, including those from before a restart."""
        with self._lock:
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(
                    target=self._check_all, name="checks", daemon=True
                )
                self._thread.start()
        self._wake.set()

    def close(self) -> None:
        """Stop, and put the upload that is being checked back into the queue."""
        self._stop.set()
        self._wake.set()
        with self._ended:
            self._ended.notify_all()
        if self._thread is not None:
            self._thread.join()
        if "workers" in vars(self):
            self.workers.close()

    def waiting(self) -> list[Submission]:
        """Return the uploads that wait for their check or are being checked, in the order of the checks."""
        return in_turn(self.contest.store.submissions.unchecked(), self._served)

    def wait(self, number: int, timeout_s: float) -> None:
        """Wait until the upload is checked, at most `timeout_s`."""

        def is_over() -> bool:
            return self._stop.is_set() or not self._is_waiting(number)

        with self._ended:
            self._ended.wait_for(is_over, timeout_s)

    def check_next(self) -> bool:
        """Check the next upload.

        Return False if none is waiting, or if all need the operator to fix something first.
        """
        return any(self._try_check(one) for one in self.waiting())

    def _is_waiting(self, number: int) -> bool:
        one = self.contest.store.submissions.get(number)
        return one.is_unchecked and one.withdrawn is None

    def _check_all(self) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            try:
                is_any_checked = self.check_next()
            except (RefereeError, OSError) as error:
                logger.error("uploads cannot be checked at present: %s", error)  # noqa: TRY400
                is_any_checked = False
            if not is_any_checked and not self._stop.is_set():
                self.clock.wait(self._wake, self.clock.monotonic_s() + RETRY_S)

    def _try_check(self, one: Submission) -> bool:
        """Check an upload. Return False if it must wait until the operator fixes its file or its track."""
        tracks = {config.name: config for config in self.contest.config.tracks}
        config = tracks.get(one.track)
        if config is None:
            sentence = f"The contest has no track {one.track} any more."
            self._refuse(one, {"code": "track-unknown", "detail": sentence})
            return True
        try:
            require_file(self.contest, kept_upload(self.contest, one))
        except RefereeError as error:
            self._say_gone(one, error.sentence)
            return False
        try:
            task = self._task(config, one)
        except (RefereeError, TestSetError) as error:
            logger.error("the track %s: %s", config.name, error.sentence)  # noqa: TRY400
            return False
        self._served = [*(team for team in self._served if team != one.team), one.team]
        name = str(one.job)
        carry_out(
            self.contest.store,
            {name: task},
            self.workers,
            self.clock,
            self._stop,
            JobKind.CHECKING,
        )
        return True

    def _say_gone(self, one: Submission, sentence: str) -> None:
        """Log a missing file, but only once, since the team requests the check again with every look at the entry."""
        if one.id not in self._gone:
            logger.error("entry %d of %s: %s", one.id, one.team, sentence)
        self._gone.add(one.id)

    def _task(self, config: ModelTrack, one: Submission) -> Task:
        path = kept_upload(self.contest, one)
        contest = self.contest
        jobs: dict[str, str] = {}
        if config.rule_name == RESULTS:
            of = results_set(contest, config)
            kind = JobKind.SCORING
            jobs = {
                split: of.job(split, one.model_sha256) for split in (PUBLIC, HOLDOUT)
            }
            work = partial(
                check_results, path, of, of.columns(contest.folder, one.model_sha256)
            )
        else:
            kind = JobKind.MEASURING
            sets = {PUBLIC: config.testset, HOLDOUT: config.holdout}
            folders = {
                split: contest.folder / name for split, name in sets.items() if name
            }
            require_confined(contest, config)
            limits = Limits(confined=not config.unconfined)
            hidden = hidden_files(contest)
            checked_as = (
                one.model_file,
                rule_of(contest, config),
                folders,
                limits,
                hidden,
            )
            work = partial(check_other, check_model, path, *checked_as)

        def start(workers: Workers) -> Future[Any]:
            return _within_limit(workers, workers.submit(work))

        def done(found: dict[str, str] | Refused) -> None:
            if isinstance(found, Refused):
                self._refuse(one, found.problem)
            else:
                self._admit(one, found, kind, jobs)

        def failed(reason: str) -> None:
            sentence = f"The check of {one.model_file} failed: {reason}"
            self._refuse(one, {"code": "check-failed", "detail": sentence})

        return Task(f"submission {one.id}", start, done, lambda: None, failed)

    def _admit(
        self,
        one: Submission,
        digests: dict[str, str],
        kind: JobKind,
        jobs: dict[str, str],
    ) -> None:
        parts = [
            replace(
                one,
                split=split,
                testset_digest=digest,
                counts=split == PUBLIC,
                job=jobs.get(split),
            )
            for split, digest in digests.items()
        ]
        parts.sort(key=lambda part: part.split != PUBLIC)
        self.contest.store.uploads.admit(one, parts, kind, self.clock.utc())
        self._tell()
        self._admitted()

    def _refuse(self, one: Submission, problem: dict[str, Any]) -> None:
        if self.contest.store.uploads.refuse(one, problem, self.clock.utc()):
            remove_unneeded(self.contest, one)
        self._tell()

    def _tell(self) -> None:
        with self._ended:
            self._ended.notify_all()


def _within_limit(workers: Workers, checked: Future[Any]) -> Future[Any]:
    """Return the outcome of a check.

    A process that died or took too long is a failed check, since the file may be the cause.
    """
    outcome: Future[Any] = Future()
    is_late = threading.Event()

    def give_up() -> None:
        is_late.set()
        workers.stop(checked)

    timer = threading.Timer(LIMIT_S, give_up)
    timer.daemon = True

    def pass_on(ended: Future[Any]) -> None:
        timer.cancel()
        if not outcome.set_running_or_notify_cancel():
            return
        try:
            outcome.set_result(ended.result())
        except WorkerLost as lost:
            why = (
                f"it did not end within {LIMIT_S:g} s"
                if is_late.is_set()
                else str(lost)
            )
            outcome.set_exception(RefereeError("check-failed", f"{why}."))
        except Exception as error:  # noqa: BLE001 - the outcome
            outcome.set_exception(error)

    timer.start()
    checked.add_done_callback(pass_on)
    return outcome
