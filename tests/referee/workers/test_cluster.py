"""A Dask cluster as workers, with real schedulers and workers: processes that come, go, and are of other versions."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from lpirc_testsets import synthesize
from referee.cli.shared_options import hexadecimal
from referee.cli.worker_options import workers_of
from referee.contest import create_contest, open_contest
from referee.errors import RefereeError
from referee.store import Store
from referee.store.model_records import JobState
from referee.workers import NoWorkers, WorkerLost, Workers, cluster, cluster_client
from referee.workers.cluster import ClusterWorkers
from referee.workers.job_dispatch import Task, carry_out
from referee.workers.worker_processes import NICENESS
from tests.contest_day import called, is_running, until
from tests.referee.factories import DrivenClock, config_text
from tests.referee.judging.sent_runs import closed_run, guesses
from tests.timeouts import TIMEOUT_S

FOREIGN = """
import lpirc_score.metrics.evaluation_result as result
result.VERSION = "9.9.9"
from distributed.cli.dask_worker import main
main()
"""


class Cluster:
    """A scheduler and what works for it, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []
        file = folder / "scheduler.json"
        self.scheduler = self.start(
            "-m",
            "distributed.cli.dask_scheduler",
            "--scheduler-file",
            str(file),
            "--port",
            "0",
        )
        # It is there before it is written.
        until(lambda: file.exists() and file.read_text().endswith("\n}"))
        self.address = str(json.loads(file.read_text())["address"])

    def worker(self, *program: str) -> subprocess.Popen[bytes]:
        return self.start(
            *(program or ("-m", "distributed.cli.dask_worker")),
            self.address,
            "--nthreads",
            "1",
        )

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        common = ("--host", "127.0.0.1", "--no-dashboard")
        environment = os.environ | {
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"
        }
        process = subprocess.Popen(
            [sys.executable, *arguments, *common],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._processes.append(process)
        return process

    def end(self) -> None:
        for process in reversed(self._processes):
            process.terminate()
            process.wait(TIMEOUT_S)


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    yield made
    made.end()


@pytest.fixture(scope="module")
def said() -> list[str]:
    return []


@pytest.fixture(scope="module")
def workers(hall: Cluster, said: list[str]) -> Iterator[ClusterWorkers]:
    hall.worker()
    with pytest.MonkeyPatch.context() as patch:
        # A worker starts slowly on a busy machine.
        patch.setattr(
            cluster,
            "WAIT_S",
            TIMEOUT_S,
        )
        made = ClusterWorkers(hall.address, None, said.append)
    made._client._timeout = 1.0  # noqa: SLF001 - for how long it tries to connect again
    yield made
    made.close()


class Stay:
    """Work that notes the process it is in, and stays until it may go."""

    def __init__(self, folder: Path) -> None:
        self._noted = folder / "noted"
        self._gate = folder / "gate"
        self.command = f"echo $PPID >> {self._noted}; until [ -e {self._gate} ]; do sleep 0.1; done"

    def begun(self) -> int:
        """The process."""
        until(lambda: self._noted.exists() and self._noted.read_text().endswith("\n"))
        return self.times()[-1]

    def times(self) -> list[int]:
        return [int(line) for line in self._noted.read_text().split()]

    def end(self) -> None:
        self._gate.touch()

    def carried_out(
        self,
        store: Store,
        workers: Workers,
        meanwhile: Callable[[], object],
    ) -> list[object]:
        """The results of a job that does this, while something else happens."""
        results: list[object] = []

        def done(result: object) -> None:
            results.append(result)
            store.jobs.add_scoring("stay", "stay", "{}", None, clock.utc())

        def start(at: Workers) -> Future[str]:
            return at.submit(subprocess.getoutput, self.command)

        clock = DrivenClock()
        other = threading.Thread(target=meanwhile)
        other.start()
        task = Task("run 1", start, done, found=results.clear, failed=results.append)
        try:
            carry_out(store, {"stay": task}, workers, clock)
        finally:
            self.end()
            other.join()
        return results


def test_a_scheduler_without_workers_is_said(
    hall: Cluster,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster, "WAIT_S", 2.0)
    with pytest.raises(NoWorkers) as failure:
        ClusterWorkers(hall.address, None, print)
    assert failure.value.code == "no-workers"
    assert failure.value.sentence.endswith(f"Start one: dask worker {hall.address}")


def test_results_and_errors_come_back_as_they_were(workers: ClusterWorkers) -> None:
    big = bytes(20_000_000)  # of which Dask would warn
    assert workers.submit(len, big).result(TIMEOUT_S) == len(big)
    with pytest.raises(RefereeError) as failure:
        workers.submit(hexadecimal, "--key", "zz", 4).result(TIMEOUT_S)
    assert failure.value.code == "bad-request"
    assert failure.value.sentence[:12] == "--key 'zz' i"
    assert workers.count == 1


def test_a_blob_reaches_its_worker_without_a_stop_at_the_scheduler(
    workers: ClusterWorkers,
    hall: Cluster,
) -> None:
    def read_bytes() -> int:
        return int(Path(f"/proc/{hall.scheduler.pid}/io").read_text().split()[1])

    big = bytes(50_000_000)
    before = read_bytes()
    assert workers.submit(len, big).result(TIMEOUT_S) == len(big)
    assert read_bytes() - before < len(big) / 10


def test_where_workers_cannot_be_reached_blobs_go_by_the_scheduler(
    workers: ClusterWorkers,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OSError

    monkeypatch.setattr(workers._client, "scatter", fails)  # noqa: SLF001 - as behind a firewall
    assert workers.submit(len, b"123").result(TIMEOUT_S) == 3


def test_work_may_take_what_the_smallest_worker_allows_and_running_out_of_it_is_said(
    workers: ClusterWorkers,
    hall: Cluster,
) -> None:
    small = hall.worker("-m", "distributed.cli.dask_worker", "--memory-limit", "500MB")
    until(
        lambda: (
            workers.memory_bytes
            == 500_000_000 * cluster.OF_MEMORY - cluster.WORKER_BYTES
        )
    )
    address = min(workers._limits, key=lambda each: workers._limits[each])  # noqa: SLF001
    others = workers._threads.keys() - {address}  # noqa: SLF001
    workers._left_out |= others  # noqa: SLF001 - they get no work
    until(lambda: workers._threads.keys() == {address})  # noqa: SLF001
    filled = (
        "[bytearray(b'x' * 10**8) for _ in range(5)] and __import__('time').sleep(60)"
    )
    with pytest.raises(
        WorkerLost,
        match=r"ran out of memory, using 0\.\d\d GB: start workers with a larger",
    ):
        workers.submit(eval, filled).result(TIMEOUT_S)
    workers._left_out -= others  # noqa: SLF001
    small.terminate()
    small.wait(TIMEOUT_S)
    until(lambda: workers.count == 1 and workers.memory_bytes > 500_000_000)


def test_a_scheduler_that_hangs_is_said_and_waited_for(
    workers: ClusterWorkers,
    hall: Cluster,
    said: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster, "HANG_S", 0.5)
    said.clear()
    hall.scheduler.send_signal(signal.SIGSTOP)
    try:
        until(lambda: said)
        assert said == [
            f"The scheduler at {hall.address} has not answered for 0.5 s; this command waits for it. "
            "Ctrl-C ends the command: finished work is kept."
        ]
    finally:
        hall.scheduler.send_signal(signal.SIGCONT)
    until(lambda: len(said) > 1)
    assert said[1] == f"The scheduler at {hall.address} answers again."
    assert workers.submit(len, b"12").result(TIMEOUT_S) == 2
    said.clear()


@pytest.mark.parametrize(
    ("address", "wait_s", "why"),
    [
        ("tcp://127.0.0.1:1", 1.0, "nothing listens there"),
        (
            "tcp://127.0.0.1:1",
            1e-9,
            "nothing listens there",
        ),  # Dask's last try had no time
        (
            "gopher://127.0.0.1:1",
            1.0,
            "an address is written tcp://HOST:PORT or tls://HOST:PORT",
        ),
    ],
)
def test_why_there_is_no_scheduler_is_said_in_our_words(
    address: str,
    wait_s: float,
    why: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cluster_client, "WAIT_S", wait_s)
    with pytest.raises(NoWorkers) as failure:
        ClusterWorkers(address, None, print)
    assert failure.value.sentence.endswith(
        f"answers at {address}: {why}. Start one: dask scheduler"
    )


def test_runs_are_judged_as_by_one_process(
    workers: ClusterWorkers,
    hall: Cluster,
    tmp_path: Path,
) -> None:
    images = synthesize(
        tmp_path / "set",
        images=6,
        categories=3,
        seed=4,
        size=(96, 64),
    )
    create_contest(tmp_path / "alone", config_text(images))
    with open_contest(tmp_path / "alone") as contest:
        for number in range(3):
            closed_run(
                contest,
                guesses(contest, 0.9 - 0.2 * number, seed=1),
                team=f"team {number}",
            )
    shutil.copytree(tmp_path / "alone", tmp_path / "contest")
    judge = ("judge", "--all", "--json", "--contest")
    alone = called(*judge, str(tmp_path / "alone"))
    ours = called(*judge, str(tmp_path / "contest"), "--cluster", hall.address)
    assert ours.returncode == 0
    assert ours.stderr == ""
    assert json.loads(ours.stdout) == json.loads(alone.stdout)
    with open_contest(tmp_path / "contest") as contest:
        assert [one.state for one in contest.store.jobs.all()] == [JobState.DONE] * 3


def test_a_job_whose_worker_is_killed_is_done_by_the_next(
    workers: ClusterWorkers,
    store: Store,
    tmp_path: Path,
) -> None:
    stay = Stay(tmp_path)

    def kill() -> None:
        os.kill(stay.begun(), signal.SIGKILL)
        until(lambda: len(stay.times()) >= 2)
        stay.end()

    assert stay.carried_out(store, workers, kill) == [""]
    assert len(set(stay.times())) >= 2, "a busy host may lose the next one, too"
    job = store.jobs.get("stay")
    assert job.state == JobState.DONE
    assert job.failures == 0
    # And once more, if it was given to the worker that was gone.
    assert 1 <= job.losses <= 2


def test_stopped_work_ends_with_its_process(
    workers: ClusterWorkers,
    tmp_path: Path,
) -> None:
    stay = Stay(tmp_path)
    future = workers.submit(subprocess.getoutput, stay.command)
    process = stay.begun()
    workers.stop(future)
    with pytest.raises(WorkerLost):
        future.result(0)
    until(lambda: not is_running(process))
    stay.end()


def test_a_worker_of_another_version_is_named_and_gets_no_work(
    workers: ClusterWorkers,
    hall: Cluster,
    said: list[str],
) -> None:
    foreign = hall.worker("-c", FOREIGN, "--no-nanny")
    until(lambda: said)
    until(lambda: workers.count == 1)
    assert " gets no work. It has: lpirc-referee 9.9.9 (rules 1), " in said[0]
    assert f"Needed: {cluster.versions()}." in said[0]
    assert foreign.pid not in [
        workers.submit(os.getpid).result(TIMEOUT_S) for _ in range(4)
    ]
    assert len(said) == 1


def test_a_scheduler_that_is_killed_gives_the_jobs_back(
    workers: ClusterWorkers,
    hall: Cluster,
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stay = Stay(tmp_path)

    def kill() -> None:
        stay.begun()
        hall.scheduler.kill()

    with pytest.raises(NoWorkers) as failure:
        stay.carried_out(store, workers, kill)
    assert failure.value.code == "cluster-gone"
    assert failure.value.sentence.startswith(
        f"The scheduler at {hall.address} is gone, "
    )
    job = store.jobs.get("stay")
    assert job.state == JobState.WAITING
    assert job.failures == 0
    assert job.lease_until_utc is None
    monkeypatch.setattr(cluster_client, "WAIT_S", 1.0)
    with pytest.raises(NoWorkers) as failure:
        ClusterWorkers(hall.address, None, print)
    assert failure.value.code == "no-scheduler"
    assert (hall.address in failure.value.sentence) is True
    with workers_of(1, cluster.LOCAL) as others:
        assert others is not None
        worker = others.submit(os.getpid).result(TIMEOUT_S)
        assert others.submit(os.nice, 0).result(TIMEOUT_S) == min(
            os.nice(0) + NICENESS,
            19,
        )
        # A second start goes on.
        assert stay.carried_out(store, others, lambda: None) == [""]
    assert not is_running(worker)


def test_without_dask_it_is_said_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "referee.workers.cluster", None)
    with (
        pytest.raises(RefereeError, match="pip install dask distributed"),
        workers_of(None, "local"),
    ):
        pass
