"""Workers of a Dask cluster: processes of this host, or those of a scheduler, on any number of hosts.

A piece of work travels as one packed blob, which the cluster forgets when its result is here. Only workers with the
versions of this host get work: others may compute something else.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import sys
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

import dask
import distributed
import numpy as np
from distributed.client import Client, ClosedClientError
from distributed.comm import connect
from distributed.scheduler import KilledWorker

from referee.scoring.result import RULES_VERSION, VERSION
from referee.workers import NoWorkers, P, T, WorkerLost

LOCAL = "local"
WAIT_S = 10.0
LOOK_S = 1.0
MOST_LOOKS = 60  # in a row, without a worker
SETTINGS = {
    "distributed.admin.large-graph-warning-threshold": "1TB",
    "distributed.scheduler.allowed-failures": 0,  # of LOCAL: jobs count their losses
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,  # Dask's makes scoring half as slow again
}
LOCAL_WORKERS = {"threads_per_worker": 1, "memory_limit": "1GB", "dashboard_address": None}


def versions() -> str:
    """What must be the same everywhere, for the same results."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    referee = f"lpirc-referee {VERSION} (rules {RULES_VERSION})"
    return f"{referee}, Python {python}, numpy {np.__version__}, distributed {distributed.__version__}"


class ClusterWorkers:
    """The workers of a scheduler, as they come and go; of LOCAL as many as `most`, or as there are cores.

    At most so many pieces of work are done at a time. `say` gets a sentence about each worker that gets none.
    """

    def __init__(self, address: str, most: int | None, say: Callable[[str], None]) -> None:
        """Connect to the scheduler and wait for a worker. Raises NoWorkers."""
        self._address, self._most, self._say = address, most or sys.maxsize, say
        self._threads: dict[str, int] = {}  # of the workers that get work, by address
        self._left_out: set[str] = set()
        self._given: dict[Future[Any], tuple[Any, set[str]]] = {}  # and to which of them
        self._empty_looks = 0
        self._closing, self._aside = threading.Event(), ThreadPoolExecutor()
        self._client = _connected(address, most)
        with suppress(TimeoutError):
            self._client.wait_for_workers(1, timeout=WAIT_S)
        self._look()
        if not self._threads:
            self._client.close()
            sentence = f"The scheduler at {address} has no worker that gets work, after {WAIT_S:g} s."
            raise NoWorkers("no-workers", f"{sentence} Start one: dask worker {address}")
        self._aside.submit(self._watch)

    @property
    def count(self) -> int:
        """See `Workers`."""
        return min(sum(self._threads.values()), self._most)

    def submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """See `Workers`. Raises NoWorkers when the scheduler is gone, or all its workers are."""
        future, packed, at = Future[T](), pickle.dumps(partial(work, *args, **kwargs), 5), set(self._threads)
        try:
            given = self._client.submit(_done, packed, pure=False, workers=at)
        except ClosedClientError:
            sentence = f"The scheduler at {self._address} is gone, or all its workers are. Start them again,"
            raise NoWorkers("cluster-gone", f"{sentence} then this command: what is done is kept.") from None
        self._given[future] = given, at
        given.add_done_callback(partial(self._end, future))
        return future

    def stop(self, future: Future[Any]) -> None:
        """See `Workers`. Without a nanny, a worker goes on to the end: nothing else can end a thread."""
        if found := self._given.pop(future, None):
            self._aside.submit(self._restart_worker_of, found[0])
            _lose(future, "it was stopped")

    def close(self) -> None:
        """See `Workers`. Workers that were there before stay."""
        for future in [*self._given]:
            self.stop(future)
        self._closing.set()
        self._aside.shutdown(wait=self._address != LOCAL)
        self._client.close()

    def _watch(self) -> None:
        while not self._closing.wait(LOOK_S):
            if self._client.status == "closed":
                for future in [*self._given]:
                    _lose(future, "the cluster is gone")
            with suppress(Exception):  # Dask connects again, or closes the client
                self._look()

    def _look(self) -> None:
        """Check who is new; take work back from those that are gone."""
        there = self._client.nthreads()
        new = [*(there.keys() - self._threads.keys() - self._left_out)]
        for address, found in self._client.run(versions, workers=new, on_error="return").items():
            if isinstance(found, OSError):
                del there[address]  # it is gone, or asked again
            elif found != versions():
                self._left_out.add(address)
                self._say(f"Worker {address} gets no work. It has: {found}. Needed: {versions()}.")
        self._threads = {address: many for address, many in there.items() if address not in self._left_out}
        self._empty_looks = 0 if self._threads else self._empty_looks + 1
        if self._empty_looks > MOST_LOOKS:
            self._client.close()
        for future, (_, at) in [*self._given.items()]:
            if self._threads and at.isdisjoint(self._threads):
                self.stop(future)

    def _restart_worker_of(self, given: Any) -> None:
        at = [address for address, keys in self._client.processing().items() if given.key in keys]
        given.cancel()
        self._client.restart_workers(at, raise_for_error=False)

    def _end(self, future: Future[Any], given: Any) -> None:
        self._given.pop(future, None)
        try:
            future.set_result(given.result())
        except KilledWorker as error:
            _lose(future, f"the worker {error.last_worker.address} died")
        except Exception as error:  # noqa: BLE001 - of the work, or the result was lost on its way
            with suppress(InvalidStateError):  # it was stopped
                future.set_exception(error if given.status == "error" else WorkerLost(str(error)))


def _connected(address: str, count: int | None) -> Any:
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", module="distributed")  # of versions, which are checked here
    dask.config.set(SETTINGS)
    local = LOCAL_WORKERS | {"n_workers": count, "silence_logs": logging.CRITICAL}
    to, more = (None, local) if address == LOCAL else (address, {})
    try:
        if to is not None:
            asyncio.run(_try(to))
        client = Client(to, timeout=WAIT_S, set_as_default=False, **more)
        client.run_on_scheduler(versions)
    except Exception as error:  # noqa: BLE001 - whatever there is at this address
        why = str(error) or "timeout"
        sentence = f"No Dask scheduler with lpirc-referee {VERSION} answers at {address}: {why}."
        raise NoWorkers("no-scheduler", f"{sentence} Start one: dask scheduler") from None
    return client


async def _try(address: str) -> None:
    """Connect once: a Client that cannot be made is not closed either, and holds up the end of the process."""
    tls = distributed.Security().get_connection_args("client")
    async with asyncio.timeout(WAIT_S):
        await (await connect(address, timeout=WAIT_S, **tls)).close()


def _lose(future: Future[Any], why: str) -> None:
    with suppress(InvalidStateError):
        future.set_exception(WorkerLost(why))


def _done(packed: bytes) -> Any:
    return pickle.loads(packed)()  # noqa: S301 - from the referee that asks
