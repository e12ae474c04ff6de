"""`python -m tests.simulation`: finds every planted fault, then plays contest days from seeds, on every core.

A seed that fails can be replayed. With `--days` no faults are planted.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Iterator
from itertools import count
from multiprocessing import get_context
from tempfile import TemporaryDirectory

from tests.simulation.day import Outcome, simulate
from tests.simulation.hall import PLACE, RAM
from tests.simulation.mutants import MUTANTS, search

DAYS_A_PROCESS = 50
SHOWN_STEPS = 40
SHOWN_LOG = 20
HOUR_S = 3600.0
WIDTH = 160


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulation",
        description=__doc__,
    )
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="how long to go on (default: 60)"
    )
    parser.add_argument("--days", type=int, help="so many days instead")
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
        help="the first day's seed; the next days count on from it",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        help="processes (default: one a core)",
    )
    given = parser.parse_args()
    if given.days == 1:
        return _replay(given.seed)
    # So that the folder in memory is taken away.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with TemporaryDirectory(
        prefix="simulated-",
        dir=RAM if RAM.is_dir() else None,
        ignore_cleanup_errors=True,
    ) as place:
        os.environ[PLACE] = place
        print(  # noqa: T201
            f"The contests are in {place}, which only SIGKILL leaves behind.",
            flush=True,
        )
        if given.days is None and not _all_faults_are_found(given.jobs):
            return 1
        return _many(given)


def _all_faults_are_found(jobs: int) -> bool:
    begun_s = time.monotonic()
    found = 0
    with get_context("spawn").Pool(jobs) as pool:
        for name, day in zip(MUTANTS, pool.imap(search, MUTANTS), strict=True):
            found += day is not None
            told = (
                "NOT FOUND"
                if day is None
                else f"seed {day.seed}: {day.failures[0].splitlines()[-1]}"
            )
            print(f"{name}: {told:.{WIDTH}}", flush=True)  # noqa: T201
        pool.close()
        pool.join()
    took_s = time.monotonic() - begun_s
    print(  # noqa: T201
        f"{found} of {len(MUTANTS)} planted faults found in {took_s:.0f} s.", flush=True
    )
    return found == len(MUTANTS)


def _replay(seed: int) -> int:
    """One day with all its steps."""
    day = simulate(seed)
    for line in (*day.steps, "", "The referee's log:", *day.log, "", *day.record):
        print(line)  # noqa: T201 - a program's output
    _report(day)
    return 1 if day.failures else 0


def _many(given: argparse.Namespace) -> int:
    begun_s = time.monotonic()
    days = runs = acknowledged = 0
    for day in _days(given, begun_s):
        days += 1
        runs += day.runs
        acknowledged += day.acknowledged
        if day.failures:
            for line in (*day.log[-SHOWN_LOG:], "", *day.steps[-SHOWN_STEPS:]):
                print(line)  # noqa: T201
            _report(day)
            return 1
    took_s = time.monotonic() - begun_s
    print(  # noqa: T201
        f"{days} contest days from seed {given.seed} with {runs} runs and {acknowledged} acknowledged posts: "
        f"everything held. {days * HOUR_S / took_s:.0f} days an hour in {given.jobs} processes."
    )
    return 0


def _days(given: argparse.Namespace, begun_s: float) -> Iterator[Outcome]:
    seeds = (
        range(given.seed, given.seed + given.days) if given.days else count(given.seed)
    )

    def wanted() -> Iterator[int]:
        for seed in seeds:
            if not given.days and time.monotonic() - begun_s > given.seconds:
                return
            yield seed

    with get_context("spawn").Pool(given.jobs, maxtasksperchild=DAYS_A_PROCESS) as pool:
        waiting = []
        for seed in wanted():
            waiting.append(pool.apply_async(simulate, (seed,)))
            if len(waiting) > 2 * given.jobs:
                yield waiting.pop(0).get()
        for one in waiting:
            yield one.get()
        pool.close()  # each process ends by itself, and takes its folder away
        pool.join()


def _report(day: Outcome) -> None:
    for failure in day.failures:
        print(failure)  # noqa: T201
    if day.failures:
        again = f'make simulate ARGS="--days 1 --seed {day.seed}"'
        print(f"Seed {day.seed} fails. To replay it, step by step: {again}")  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
