"""Options of commands that let others compute, and how far these are."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from referee.workers import Workers

MOST_WORKERS = 1024


worker_options = click.option(
    "--workers", "count", type=click.IntRange(1, MOST_WORKERS), help="Compute in so many processes."
)


@contextmanager
def workers_of(count: int | None) -> Iterator[Workers | None]:
    """The workers that were asked for, until the end of the block; None: compute here."""
    if count is None:
        yield None
        return
    from referee.workers.processes import LocalWorkers  # takes a while to import

    workers = LocalWorkers(count)
    try:
        yield workers
    finally:
        workers.close()


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
