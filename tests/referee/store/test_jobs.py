"""Jobs: each is leased to a worker, waits, or has ended with a reason."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from referee.store import Store
from referee.store.job_table import MOST_FAILURES, MOST_LOSSES
from referee.store.model_records import Job, JobKind, JobState

START = datetime(2026, 11, 1, 12, tzinfo=UTC)
LEASE_S = 30.0
SCORING = JobKind.SCORING


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(tmp_path / "contest.db", create=True)
    opened.jobs.add(SCORING, {"a": "run 1", "b": "run 2"}, START)
    yield opened
    opened.close()


def leased(
    store: Store,
    worker: str = "one",
    after_s: float = 0.0,
    name: str | None = None,
) -> Job | None:
    return store.jobs.lease(
        SCORING,
        worker,
        START + timedelta(seconds=after_s),
        LEASE_S,
        name,
    )


def test_a_job_is_leased_to_one_worker_oldest_first(store: Store) -> None:
    assert [
        one and one.name for one in (leased(store), leased(store, "two"), leased(store))
    ] == [
        "a",
        "b",
        None,
    ]
    assert [(one.state, one.worker) for one in store.jobs.all()] == [
        ("leased", "one"),
        ("leased", "two"),
    ]
    assert store.jobs.lease(JobKind.MEASURING, "three", START, LEASE_S) is None


def test_a_lease_that_ran_out_is_given_to_whoever_asks_next(store: Store) -> None:
    leased(store, name="b")
    assert leased(store, "two", LEASE_S - 1, "b") is None
    found = leased(store, "two", LEASE_S + 1, "b")
    assert found is not None
    assert found.worker == "two"
    assert found.losses == 1
    assert found.failures == 0
    assert (
        found.reason == "one did not renew its lease in time, so the job is free again."
    )
    assert (
        store.jobs.renew(["b"], "one", START + timedelta(seconds=LEASE_S + 2), LEASE_S)
        == frozenset()
    )


def test_a_lease_that_is_renewed_does_not_run_out(store: Store) -> None:
    leased(store, name="a")
    renewed = START + timedelta(seconds=20)
    assert store.jobs.renew(["a", "b"], "one", renewed, LEASE_S) == {"a"}
    assert leased(store, "two", 45, "a") is None
    late = START + timedelta(seconds=51)
    # No other worker has asked for it meanwhile.
    assert store.jobs.renew(["a"], "one", late, LEASE_S) == {"a"}


def test_a_job_that_fails_three_times_has_failed_with_its_reason(store: Store) -> None:
    for attempt in range(1, MOST_FAILURES + 1):
        leased(store, name="a")
        after = store.jobs.give_back(
            "a",
            "one",
            f"reason {attempt}",
            START,
            failed=True,
        )
        assert after.state == ("failed" if attempt == MOST_FAILURES else "waiting")
    assert after.reason == "reason 3"
    assert after.ended_utc == START.isoformat()
    assert leased(store, name="a") is None
    store.jobs.add(SCORING, {"a": "run 1", "b": "run 2"}, START)
    assert [(one.state, one.failures) for one in store.jobs.all()] == [
        ("waiting", 0)
    ] * 2


def test_lost_workers_are_no_failures_but_not_for_ever(store: Store) -> None:
    for loss in range(1, MOST_LOSSES + 1):
        assert leased(store, name="a") is not None
        after = store.jobs.give_back("a", "one", "killed", START, lost=True)
        assert after.state == ("failed" if loss == MOST_LOSSES else "waiting")


def test_giving_back_is_for_the_worker_that_holds_it(store: Store) -> None:
    leased(store, name="a")
    assert store.jobs.give_back("a", "two", "mine?", START, failed=True).failures == 0
    after = store.jobs.give_back("a", "one", "stopped", START)
    assert after.state == JobState.WAITING
    assert after.failures == 0
    assert after.losses == 0


def test_a_cancelled_job_ends_and_its_worker_learns_of_it(store: Store) -> None:
    leased(store, name="a")
    store.jobs.add_scoring("b", "b", "{}", None, START)
    assert store.entries.cancel_jobs(["a", "b"], "ops", START) == 1
    assert store.jobs.renew(["a"], "one", START, LEASE_S) == frozenset()
    assert [one.state for one in store.jobs.all()] == ["cancelled", "done"]
    assert store.jobs.all(JobState.WAITING, JobState.LEASED) == []


def test_a_result_is_kept_once_and_ends_its_job(store: Store) -> None:
    store.jobs.add_scoring("a", "stem", '{"map": 1}', b"1", START)
    store.jobs.add_scoring("a", "stem", '{"map": 2}', b"2", START)
    store.jobs.add_scoring("other", "stem", "{}", None, START)
    assert store.jobs.scoring("a") == ('{"map": 1}', b"1")
    assert store.jobs.scoring("b") is None
    assert store.jobs.scoring_of_stem("stem") == ("{}", None)
    assert store.jobs.get("a").state is JobState.DONE
