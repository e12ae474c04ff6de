"""The connection to a Dask scheduler, which may be started here with local workers; explains a failed connection."""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import Callable

import dask
import distributed
from distributed.client import Client
from distributed.comm import connect, get_address_host_port

from lpirc_score.metrics.evaluation_result import VERSION
from referee.workers import NoWorkers

LOCAL = "local"
WAIT_S = 10.0
REACH_S = 2.0
SETTINGS = {
    "distributed.admin.large-graph-warning-threshold": "1TB",
    "distributed.scheduler.allowed-failures": 0,  # for LOCAL; jobs count their lost workers
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,  # Dask's value slows scoring by half
    "distributed.worker.profile.enabled": False,
    "distributed.worker.multiprocessing-method": "forkserver",  # which imports Dask once for all workers
}
LOCAL_WORKERS = {
    "threads_per_worker": 1,
    "memory_limit": "1GB",
    "dashboard_address": None,
}


def connected(
    address: str,
    count: int | None,
    question: Callable[[], object],
) -> Client:
    """Return a client of the scheduler, after asking it `question`.

    For LOCAL, the client has `count` workers of its own.

    Raises NoWorkers `no-scheduler`.
    """
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    warnings.filterwarnings(
        "ignore",
        module="distributed",
    )  # of versions, which are checked by `ClusterWorkers`
    dask.config.set(SETTINGS)
    local = LOCAL_WORKERS | {"n_workers": count, "silence_logs": logging.CRITICAL}
    to, more = (None, local) if address == LOCAL else (address, {})
    try:
        if to is not None:
            asyncio.run(_try(to))
        client = Client(to, timeout=WAIT_S, set_as_default=False, **more)
        client.run_on_scheduler(question)
    except Exception as error:  # noqa: BLE001 - whatever there is at this address
        sentence = f"No Dask scheduler with lpirc-referee {VERSION} answers at {address}: {_why(error)}."
        raise NoWorkers(
            "no-scheduler",
            f"{sentence} Start one: dask scheduler",
        ) from None
    return client


async def _try(address: str) -> None:
    """Test the connection once, before a Client is made.

    A Client that fails to connect is not closed, and delays the end of the process.
    """
    tls = distributed.Security().get_connection_args("client")
    try:
        async with asyncio.timeout(WAIT_S):
            await (await connect(address, timeout=WAIT_S, **tls)).close()
    except OSError:
        await _reach(address)
        raise


async def _reach(address: str) -> None:
    """Raise ConnectionRefusedError if nothing listens at the address.

    Dask retries and reports only its last attempt, which may not have had time for an answer.
    """
    host, port = get_address_host_port(address)
    async with asyncio.timeout(REACH_S):
        _, writer = await asyncio.open_connection(host, port)
    writer.close()


def _why(error: BaseException) -> str:
    """Return why the connection failed, without the names of Dask's classes and coroutines."""
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(cause)
    for each in causes:
        if isinstance(each, ConnectionRefusedError):
            return "nothing listens there"
        if isinstance(each, ValueError):
            return "an address is written tcp://HOST:PORT or tls://HOST:PORT"
        if isinstance(each, ModuleNotFoundError):
            return f"it has no module {each.name}"
    if any(isinstance(each, TimeoutError) for each in causes):
        return f"no answer in {WAIT_S:g} s"
    return "the program there is not a Dask scheduler"
