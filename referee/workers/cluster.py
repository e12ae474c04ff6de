"""Workers of a Dask cluster: local processes, or the workers of a scheduler on any number of hosts.

Each job is sent as one pickled blob, to its worker directly rather than through the scheduler, and the cluster forgets
it once its result has arrived. Only workers with this host's software versions get jobs, because others may compute
different results.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import distributed
import numpy as np
from distributed.client import Client, ClosedClientError
from distributed.scheduler import KilledWorker

from lpirc_score.metrics.evaluation_result import RULES_VERSION, VERSION
from referee.workers import NoWorkers, P, T, WorkerLost
from referee.workers.cluster_client import LOCAL, WAIT_S, connected
from referee.workers.worker_processes import NICENESS

LOOK_S = 1.0
HANG_S = 10.0
"""Time after which a missing answer from the scheduler is logged."""
MOST_LOOKS = 60  # in a row, without a worker
OF_MEMORY = 0.6
"""Share of a worker's memory limit that jobs may use; above it Dask spills to disk, then kills the worker."""
WORKER_BYTES = 200_000_000
"""Memory of a worker without a job."""
OUT_OF_MEMORY = "worker-restart-memory"  # topic a nanny logs to before it kills a worker for its memory


def versions(niceness: int = 0) -> str:
    """Return the versions that every worker must share with this host; sets the called worker's `niceness` as well."""
    if niceness:
        os.nice(niceness)
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    referee = f"lpirc-referee {VERSION} (rules {RULES_VERSION})"
    return f"{referee}, Python {python}, numpy {np.__version__}, distributed {distributed.__version__}"


@dataclass(frozen=True)
class _Given:
    """A submitted job: its Dask future, the workers that may do it, and the worker to which its blob was sent."""

    work: Any
    at: set[str]
    to: str | None


class ClusterWorkers:
    """The workers of a scheduler, as they come and go.

    The address LOCAL means up to `most` processes of this host, or one per core.

    At most `most` jobs run at a time. `say` is called with a sentence about each worker that gets no jobs, and about a
    scheduler that does not answer.
    """

    def __init__(
        self,
        address: str,
        most: int | None,
        say: Callable[[str], None],
    ) -> None:
        """Connect to the scheduler and wait for a worker. Raises NoWorkers."""
        self._address = address
        self._most = most or sys.maxsize
        self._say = say
        self._niceness = NICENESS if address == LOCAL else 0
        self._threads: dict[str, int] = {}  # of the workers that get work, by address
        self._limits: dict[
            str, int
        ] = {}  # of their memory in bytes, where they have one
        self._left_out: set[str] = set()
        self._given: dict[Future[Any], _Given] = {}
        self._ended_with_bytes: dict[
            str, int
        ] = {}  # memory use for which a worker was killed, by address
        self._empty_looks = 0
        self._is_direct = True  # blobs can be sent to workers directly
        self._is_silent = False  # the scheduler
        self._closing = threading.Event()
        self._aside = ThreadPoolExecutor()
        self._client: Client = connected(address, most, versions)
        self._client.subscribe_topic(OUT_OF_MEMORY, self._note_memory)
        with suppress(TimeoutError):
            self._client.wait_for_workers(1, timeout=WAIT_S)
        self._look()
        if not self._threads:
            self._client.close()
            sentence = (
                f"The scheduler at {address} has had no usable worker for {WAIT_S:g} s."
            )
            raise NoWorkers(
                "no-workers",
                f"{sentence} Start one: dask worker {address}",
            )
        self._aside.submit(self._watch)

    @property
    def count(self) -> int:
        """Number of jobs that run at a time: the workers' threads, at most `most`."""
        return min(sum(self._threads.values()), self._most)

    @property
    def memory_bytes(self) -> int:
        """Memory that one job may use, by the worker that has least memory per thread."""
        there = self._threads.items()
        least = [
            self._limits[address] / threads
            for address, threads in there
            if self._limits.get(address)
        ]
        if not least:
            return sys.maxsize
        return max(0, int(min(least) * OF_MEMORY) - WORKER_BYTES)

    def submit(
        self,
        work: Callable[P, T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Future[T]:
        """Run `work` on a worker. Raises NoWorkers if the scheduler or all of its workers are gone."""
        future = Future[T]()
        packed = pickle.dumps(partial(work, *args, **kwargs), 5)
        at = set(self._threads)
        to = self._least_busy() if self._is_direct else None
        try:
            sent = packed if to is None else self._sent(packed, to)
            given = self._client.submit(_done, sent, pure=False, workers=at)
        except ClosedClientError:
            sentence = (
                f"The scheduler at {self._address} is gone, or all its workers are. Start scheduler and workers "
                "again,"
            )
            raise NoWorkers(
                "cluster-gone",
                f"{sentence} then run this command again: finished work is kept.",
            ) from None
        self._given[future] = _Given(given, at, to)
        given.add_done_callback(partial(self._end, future))
        return future

    def stop(self, future: Future[Any]) -> None:
        """Stop a job. Without a nanny process it runs until it is done, because a thread cannot be killed."""
        if found := self._given.pop(future, None):
            self._aside.submit(self._restart_worker_of, found.work)
            _lose(future, "it was stopped")

    def close(self) -> None:
        """Stop all jobs, and end the workers that were started here; other workers keep running."""
        for future in [*self._given]:
            self.stop(future)
        self._closing.set()
        self._aside.shutdown(wait=self._address != LOCAL)
        self._client.close()

    def _least_busy(self) -> str | None:
        """Return the worker with the fewest jobs per thread, or None."""
        busy = Counter(given.to for given in [*self._given.values()])
        there = [*self._threads.items()]
        return (
            min(there, key=lambda each: busy[each[0]] / each[1])[0] if there else None
        )

    def _sent(self, packed: bytes, to: str) -> Any:
        """Send a blob to a worker and return Dask's reference to it.

        If this host cannot reach the worker directly, return the blob itself, which then travels through the scheduler.
        """
        try:
            return self._client.scatter(
                packed,
                workers=[to],
                direct=True,
                hash=False,
                timeout=WAIT_S,
            )
        except ClosedClientError:
            raise
        except Exception:  # noqa: BLE001 - by the scheduler it takes longer, but it arrives
            self._is_direct = to not in self._threads
            return packed

    def _watch(self) -> None:
        while not self._closing.wait(LOOK_S):
            if self._client.status == "closed":
                for future in [*self._given]:
                    _lose(future, "the cluster is gone")
            with suppress(Exception):  # Dask connects again, or closes the client
                self._look()

    def _look(self) -> None:
        """Find new workers, and take jobs back from workers that are gone. Log when the scheduler does not answer."""
        try:
            there = self._workers_there()
        except TimeoutError:
            self._note_silence()
            self._count_empty(round(HANG_S / LOOK_S))
            return
        self._note_answer()
        new = [*(there.keys() - self._threads.keys() - self._left_out)]
        asked = self._client.run(
            versions,
            self._niceness,
            workers=new,
            on_error="return",
        )
        for address, found in asked.items():
            if isinstance(found, OSError):
                del there[address]  # it is gone, or is asked again at the next look
            elif found != versions():
                self._left_out.add(address)
                self._say(
                    f"Worker {address} gets no work. It has: {found}. Needed: {versions()}."
                )
        self._threads = {
            address: many
            for address, many in there.items()
            if address not in self._left_out
        }
        if self._threads:
            self._empty_looks = 0
        else:
            self._count_empty(1)
        for future, given in [*self._given.items()]:
            if self._threads and given.at.isdisjoint(self._threads):
                self.stop(future)

    def _count_empty(self, looks: int) -> None:
        """Count looks without a worker or an answer, and give up after a minute."""
        self._empty_looks += looks
        if self._empty_looks > MOST_LOOKS:
            self._client.close()

    def _workers_there(self) -> dict[str, int]:
        """Return each worker's number of threads by address, and note the memory limits. Raises TimeoutError."""
        identity = self._client.scheduler.identity
        there = self._client.sync(identity, n_workers=-1, callback_timeout=HANG_S)[
            "workers"
        ]
        self._limits = {
            address: worker["memory_limit"] or 0 for address, worker in there.items()
        }
        return {address: worker["nthreads"] for address, worker in there.items()}

    def _note_silence(self) -> None:
        if not self._is_silent:
            sentence = f"The scheduler at {self._address} has not answered for {HANG_S:g} s; this command waits for it."
            self._say(f"{sentence} Ctrl-C ends the command: finished work is kept.")
        self._is_silent = True

    def _note_answer(self) -> None:
        if self._is_silent:
            self._say(f"The scheduler at {self._address} answers again.")
        self._is_silent = False

    def _note_memory(self, event: tuple[float, dict[str, Any]]) -> None:
        _, ended = event
        self._ended_with_bytes[ended["worker"]] = ended["rss"]

    def _restart_worker_of(self, given: Any) -> None:
        at = [
            address
            for address, keys in self._client.processing().items()
            if given.key in keys
        ]
        given.cancel()
        self._client.restart_workers(at, raise_for_error=False)

    def _end(self, future: Future[Any], given: Any) -> None:
        self._given.pop(future, None)
        try:
            future.set_result(given.result())
        except KilledWorker as error:
            _lose(future, self._death_of(error.last_worker.address))
        except Exception as error:  # noqa: BLE001 - of the work, or the result was lost on its way
            if given.status == "error":
                with suppress(InvalidStateError):  # it was stopped
                    future.set_exception(error)
            else:
                _lose(future, "its worker or its result was lost on the way")

    def _death_of(self, address: str) -> str:
        held_bytes = self._ended_with_bytes.get(address)
        if held_bytes is None:
            return f"the worker {address} died"
        of_memory = (
            f"the worker {address} ran out of memory, using {held_bytes / 1e9:.2f} GB"
        )
        return f"{of_memory}: start workers with a larger --memory-limit"


def _lose(future: Future[Any], why: str) -> None:
    with suppress(InvalidStateError):
        future.set_exception(WorkerLost(why))


def _done(packed: bytes) -> Any:
    return pickle.loads(packed)()  # noqa: S301 - from the referee that asks
