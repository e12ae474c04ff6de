"""Jobs run outside the caller's process, by local processes or a cluster; the caller stores the values they return.

Start with `job_dispatch`, which leases jobs, retries them and gives them back. Does not know what the jobs compute.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, ParamSpec, Protocol, TypeVar

from referee.errors import RefereeError

P = ParamSpec("P")
T = TypeVar("T")


class WorkerLost(Exception):
    """The worker died during its job: killed, out of memory, or its host is gone. The job may be the cause."""


class NoWorkers(RefereeError):
    """No worker was found, or none is left."""


class Workers(Protocol):
    """Workers that run jobs: local processes or a cluster."""

    @property
    def count(self) -> int:
        """Number of jobs that run at a time."""

    @property
    def memory_bytes(self) -> int:
        """Memory that one job may use."""

    def submit(
        self,
        work: Callable[P, T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Future[T]:
        """Run `work` as soon as a worker is free; everything must be picklable. The future may raise WorkerLost."""

    def stop(self, future: Future[Any]) -> None:
        """Stop a job, if necessary by killing its process; its future then raises CancelledError or WorkerLost."""

    def close(self) -> None:
        """End all workers and their jobs."""
