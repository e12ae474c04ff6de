"""Work done elsewhere: by processes of this host, or by a cluster. It returns values, which the caller stores.

Start with `job_dispatch`: jobs leased, tried again, given back. Knows nothing of what the work is.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, ParamSpec, Protocol, TypeVar

from referee.errors import RefereeError

P = ParamSpec("P")
T = TypeVar("T")


class WorkerLost(Exception):
    """The worker died during its work: killed, out of memory, its host gone. The work may be the cause, or not."""


class NoWorkers(RefereeError):
    """No worker was found, or none is left."""


class Workers(Protocol):
    """Workers that carry out work: processes of this host, or a cluster."""

    @property
    def count(self) -> int:
        """Number of jobs that run at a time."""

    @property
    def memory_bytes(self) -> int:
        """Memory that a job may use."""

    def submit(
        self,
        work: Callable[P, T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Future[T]:
        """Do this as soon as a worker is free; everything must be picklable. The future may raise WorkerLost."""

    def stop(self, future: Future[Any]) -> None:
        """End a piece of work, if need be with its process; its future then raises CancelledError or WorkerLost."""

    def close(self) -> None:
        """End all workers, and what they do."""
