"""The options `--workers` and `--cluster`, and the workers that they request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from referee.cli.number_types import WholeNumber
from referee.errors import RefereeError

if TYPE_CHECKING:
    from referee.workers import Workers

MOST_WORKERS = 1024


def worker_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options `count` and `cluster`, whose values `workers_of` takes."""
    at = click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Address of a Dask scheduler that computes, or: local",
    )
    many = WholeNumber(1, MOST_WORKERS)
    return click.option(
        "--workers", "count", type=many, help="Processes that compute."
    )(at(command))


@contextmanager
def workers_of(count: int | None, cluster: str | None) -> Iterator[Workers | None]:
    """Yield the requested workers and close them after the block; yield None to compute in this process."""
    if count is None and cluster is None:
        yield None
        return
    with closing(_workers(count, cluster)) as workers:
        yield workers


def _workers(count: int | None, cluster: str | None) -> Workers:
    if cluster is None:
        from referee.workers.worker_processes import (
            LocalWorkers,  # takes a while to import
        )

        return LocalWorkers(count or 1)
    try:
        from referee.workers.cluster import ClusterWorkers
    except ImportError:
        sentence = (
            "--cluster needs Dask, which is not installed: pip install dask distributed"
        )
        raise RefereeError("no-dask", sentence) from None
    return ClusterWorkers(cluster, count, partial(click.echo, err=True))


def require_judged(reasons: dict[int, str]) -> None:
    """Raise RefereeError `not-judged` if `reasons` (by run number) names runs that were not judged."""
    if reasons:
        sentences = (
            f"Run {run} was not judged: {why}" for run, why in sorted(reasons.items())
        )
        raise RefereeError("not-judged", " ".join(sentences))
