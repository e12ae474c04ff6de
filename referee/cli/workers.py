"""Options of commands that let others compute, and how far these are."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from referee.errors import RefereeError

if TYPE_CHECKING:
    from referee.workers import Workers

MOST_WORKERS = 1024


def worker_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options `count` and `cluster`, which `workers_of` takes."""
    many = click.IntRange(1, MOST_WORKERS)
    command = click.option("--cluster", metavar="ADDRESS", help="Compute on a Dask scheduler, or: local")(
        command
    )
    return click.option("--workers", "count", type=many, help="Compute in so many processes.")(command)


@contextmanager
def workers_of(count: int | None, cluster: str | None) -> Iterator[Workers | None]:
    """The workers that were asked for, until the end of the block; None: compute here."""
    if count is None and cluster is None:
        yield None
        return
    workers = _workers(count, cluster)
    try:
        yield workers
    finally:
        workers.close()


def _workers(count: int | None, cluster: str | None) -> Workers:
    if cluster is None:
        from referee.workers.processes import LocalWorkers  # takes a while to import

        return LocalWorkers(count or 1)
    try:
        from referee.workers.cluster import ClusterWorkers
    except ImportError:
        sentence = "--cluster needs Dask, which is not installed: pip install distributed"
        raise RefereeError("no-dask", sentence) from None
    return ClusterWorkers(cluster, count, partial(click.echo, err=True))


class Progress:
    """A line on stderr, where a person looks at it: how many are done."""

    def __init__(self, total: int, what: str) -> None:
        self._total, self._what, self._done = total, what, 0

    def step(self) -> None:
        """One more is done."""
        self._done += 1
        if sys.stderr.isatty() and self._total > 1:
            end = "\n" if self._done == self._total else ""
            click.echo(f"\r{self._done} of {self._total} {self._what}{end}", err=True, nl=False)
