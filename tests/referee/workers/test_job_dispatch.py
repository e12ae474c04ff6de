"""Jobs given to workers: whatever happens to these, each job ends, with its result or with its reason."""

from __future__ import annotations

import dataclasses
import os
import signal
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from referee.errors import RefereeError
from referee.store import Store
from referee.store.model_records import JobKind, JobState
from referee.workers.job_dispatch import LEASE_S, LIMIT_S, Task, carry_out
from referee.workers.worker_processes import LocalWorkers
from tests.contest_day import until
from tests.referee.factories import DrivenClock
from tests.timeouts import TIMEOUT_S


@pytest.fixture(scope="module")
def workers() -> Iterator[LocalWorkers]:
    made = LocalWorkers(2)
    yield made
    made.close()


class Outcomes:
    """What became of the tasks, by name."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.clock = DrivenClock()
        self.results: dict[str, object] = {}
        self.found: list[str] = []
        self.reasons: dict[str, str] = {}

    def task(
        self,
        name: str,
        work: Callable[..., Any],
        *args: Any,
    ) -> Task:
        def done(result: object) -> None:
            assert name not in self.results, "done twice"
            self.results[name] = result
            self.store.jobs.add_scoring(name, name, "{}", None, self.clock.utc())

        return Task(
            about=name,
            start=lambda workers: workers.submit(work, *args),
            done=done,
            found=lambda: self.found.append(name),
            failed=lambda reason: self.reasons.update({name: reason}),
        )

    def carry_out(
        self,
        workers: LocalWorkers,
        tasks: dict[str, Task],
        **more: Any,
    ) -> None:
        carry_out(self.store, tasks, workers, self.clock, **more)


def note(folder: str, name: str) -> int:
    with (Path(folder) / name).open("ab") as file:
        file.write(b".")
    return (Path(folder) / name).stat().st_size


def square(number: int) -> int:
    return number * number


def die_twice(folder: str, name: str) -> str:
    if note(folder, name) < 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return name


def fail(folder: str, name: str) -> None:
    note(folder, name)
    raise RefereeError("bad", "The blob is damaged.")


def stay(folder: str, name: str) -> None:
    note(folder, name)
    threading.Event().wait(TIMEOUT_S)


def test_each_job_is_done_once_though_workers_die(
    store: Store,
    workers: LocalWorkers,
    tmp_path: Path,
) -> None:
    seen = Outcomes(store)
    tasks = {f"plain {n}": seen.task(f"plain {n}", square, n) for n in range(6)}
    tasks |= {
        f"dies {n}": seen.task(f"dies {n}", die_twice, str(tmp_path), f"dies {n}")
        for n in range(2)
    }
    seen.carry_out(workers, tasks)
    assert seen.results == {f"plain {n}": n * n for n in range(6)} | {
        f"dies {n}": f"dies {n}" for n in range(2)
    }
    assert {
        one.name: (one.state, one.losses, one.failures)
        for one in store.jobs.all()
        if one.losses
    } == {f"dies {n}": (JobState.DONE, 2, 0) for n in range(2)}


def test_a_job_that_fails_is_tried_three_times_and_says_why(
    store: Store,
    workers: LocalWorkers,
    tmp_path: Path,
) -> None:
    seen = Outcomes(store)
    seen.carry_out(
        workers,
        {
            "bad": seen.task("bad", fail, str(tmp_path), "bad"),
            "worse": seen.task("worse", int, "x"),
            "good": seen.task("good", square, 3),
        },
    )
    assert seen.results == {"good": 9}
    assert seen.reasons["bad"] == "The blob is damaged."
    assert seen.reasons["worse"].startswith("ValueError: invalid literal")
    assert (tmp_path / "bad").stat().st_size == 3
    assert store.jobs.get("bad").state is JobState.FAILED


def test_a_job_that_never_ends_is_ended(
    store: Store,
    workers: LocalWorkers,
    tmp_path: Path,
) -> None:
    seen = Outcomes(store)
    tasks = {
        "stays": seen.task("stays", stay, str(tmp_path), "stays"),
        "good": seen.task("good", square, 2),
    }
    driver = threading.Thread(target=_drive, args=(seen, tmp_path / "stays"))
    driver.start()
    seen.carry_out(workers, tasks)
    driver.join()
    assert seen.results == {"good": 4}
    assert seen.reasons == {"stays": "It did not end within 1800 s."}
    assert (tmp_path / "stays").stat().st_size == 3


def _drive(seen: Outcomes, mark: Path) -> None:
    """Let half an hour go by whenever the job has begun again, once the other one has ended."""
    until(lambda: "good" in seen.results)
    for begun in range(1, 4):
        until(lambda: mark.exists() and mark.stat().st_size >= begun)  # noqa: B023 - it is waited for
        seen.clock.advance(LIMIT_S + 1)


def test_a_cancelled_job_is_ended_where_it_is(
    store: Store,
    workers: LocalWorkers,
    tmp_path: Path,
) -> None:
    seen = Outcomes(store)

    def cancel() -> None:
        until((tmp_path / "stays").exists)
        store.entries.cancel_jobs(["stays"], "ops", seen.clock.utc())
        seen.clock.advance(LEASE_S / 2)  # the next renewal is due

    other = threading.Thread(target=cancel)
    other.start()
    seen.carry_out(workers, {"stays": seen.task("stays", stay, str(tmp_path), "stays")})
    other.join()
    assert seen.reasons == {"stays": "It was cancelled."}


def test_what_another_referee_does_is_waited_for_until_its_lease_runs_out(
    store: Store,
    workers: LocalWorkers,
    tmp_path: Path,
) -> None:
    seen = Outcomes(store)
    store.jobs.add(
        JobKind.SCORING,
        {"theirs": "run 1", "lost": "run 2"},
        seen.clock.utc(),
    )
    for name in ("theirs", "lost"):
        assert store.jobs.lease(
            JobKind.SCORING,
            "other",
            seen.clock.utc(),
            LEASE_S,
            name,
        )

    def other() -> None:
        until(lambda: "mine" in seen.results)
        store.jobs.add_scoring("theirs", "theirs", "{}", None, seen.clock.utc())
        until(lambda: seen.found)
        assert "lost" not in seen.results
        seen.clock.advance(LEASE_S + 1)

    thread = threading.Thread(target=other)
    thread.start()
    seen.carry_out(
        workers,
        {name: seen.task(name, square, 5) for name in ("theirs", "lost", "mine")},
    )
    thread.join()
    assert seen.found == ["theirs"]
    assert seen.results == {"mine": 25, "lost": 25}
    assert store.jobs.get("lost").losses == 1


@pytest.mark.parametrize("where", ["start", "done"])
def test_a_job_is_given_back_where_the_referee_is_interrupted_at_it(
    store: Store,
    workers: LocalWorkers,
    where: str,
) -> None:
    def interrupt(_: object) -> Any:
        raise KeyboardInterrupt

    seen = Outcomes(store)
    task = dataclasses.replace(seen.task("job", square, 2), **{where: interrupt})
    with pytest.raises(KeyboardInterrupt):
        seen.carry_out(workers, {"job": task})
    assert store.jobs.get("job").state is JobState.WAITING


def test_what_is_under_way_when_the_referee_stops_is_given_back(
    store: Store,
    workers: LocalWorkers,
    tmp_path: Path,
) -> None:
    seen = Outcomes(store)
    stop = threading.Event()

    def stop_it() -> None:
        until((tmp_path / "stays").exists)
        stop.set()

    thread = threading.Thread(target=stop_it)
    thread.start()
    seen.carry_out(
        workers,
        {"stays": seen.task("stays", stay, str(tmp_path), "stays")},
        stop=stop,
    )
    thread.join()
    job = store.jobs.get("stays")
    assert job.state == JobState.WAITING
    assert job.failures == 0
    assert job.losses == 0
    assert job.lease_until_utc is None
    assert (
        store.jobs.lease(
            JobKind.SCORING,
            "next",
            seen.clock.utc() + timedelta(seconds=1),
            LEASE_S,
        )
        is not None
    )
