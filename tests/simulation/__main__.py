"""`python -m tests.simulation`: finds every planted fault, then plays contest days from seeds, on every core.

A seed that fails can be replayed. With `--days` and `--watch` no faults are planted.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.watch_parts import (
    FOLDER,
    IN_TIME,
    PART_S,
    SIMULATE,
    VIOLATED,
    Part,
    next_seed,
)
from tests.simulation.day import Outcome, simulate
from tests.simulation.hall import PLACE, RAM
from tests.simulation.mutants import MUTANTS, search

DAYS_A_PROCESS = 50
SHOWN_STEPS = 40
SHOWN_LOG = 20
HOUR_S = 3600.0
WIDTH = 160
DEFAULT_S = 60.0


@dataclass(frozen=True)
class _Span:
    """Which days are played: from a seed, for a time or a number of days, in so many processes."""

    seed: int
    seconds: float
    days: int | None
    jobs: int


def main() -> int:
    given = _given()
    if given.days == 1:
        return _replay(given.seed or 1)
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
        if given.watch is not None:
            return _watch(given)
        if given.days is None and not _all_faults_are_found(given.jobs):
            return 1
        span = _Span(
            given.seed or 1,
            given.seconds or DEFAULT_S,
            given.days,
            given.jobs,
        )
        return _many(span, None)


def _given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulation",
        description=__doc__,
    )
    text = f"how long to go on (default: {DEFAULT_S:g}, with --watch {PART_S:g})"
    parser.add_argument("--seconds", type=float, help=text)
    parser.add_argument("--days", type=int, help="so many days instead")
    text = "the first day's seed (default: 1, with --watch the next); the next days count on from it"
    parser.add_argument("--seed", type=int, help=text)
    parser.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        help="processes (default: one a core)",
    )
    text = f"play in parts of at most {PART_S:g} s, each with a file in this folder (default: bench/watch)"
    parser.add_argument("--watch", type=Path, nargs="?", const=FOLDER, help=text)
    given = parser.parse_args()
    if given.watch is not None and given.days is not None:
        parser.error("--watch goes by --seconds: leave --days out")
    return given


def _watch(given: argparse.Namespace) -> int:
    """Play part after part, until the time is over or something does not hold."""
    end_s = time.monotonic() + (given.seconds or PART_S)
    seed = given.seed
    while (left_s := end_s - time.monotonic()) > 0:
        seed = seed or next_seed(given.watch, SIMULATE)
        part = Part(given.watch, SIMULATE, seed)
        print(f"This part is in {part.path}.", flush=True)  # noqa: T201
        if _many(_Span(seed, min(left_s, PART_S), None, given.jobs), part):
            return 1
        seed += max(part.document["counts"].get("days", 0), 1)
    return 0


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


def _many(span: _Span, part: Part | None) -> int:
    begun_s = time.monotonic()
    played: list[Outcome] = []
    for day in _days(span, begun_s):
        if day.failures:
            _say_failed(day, part)
            return 1
        # The steps of thousands of days are long.
        played.append(replace(day, steps=(), log=()))
        _note(part, played)
    took_s = time.monotonic() - begun_s
    if part is not None:
        part.end(IN_TIME)
    runs = sum(day.runs for day in played)
    posts = sum(day.acknowledged for day in played)
    print(  # noqa: T201
        f"{len(played)} contest days from seed {span.seed} with {runs} runs and {posts} acknowledged posts: "
        f"everything held. {len(played) * HOUR_S / took_s:.0f} days an hour in {span.jobs} processes."
    )
    return 0


def _note(part: Part | None, played: Sequence[Outcome]) -> None:
    """Note the days of a part; they have consecutive seeds."""
    if part is None:
        return
    part.note(
        counts={"days": len(played)},
        runs_by_day=[day.runs for day in played],
        posts_by_day=[day.acknowledged for day in played],
    )


def _say_failed(day: Outcome, part: Part | None) -> None:
    for line in (*day.log[-SHOWN_LOG:], "", *day.steps[-SHOWN_STEPS:]):
        print(line)  # noqa: T201
    _report(day)
    if part is not None:
        told = [f"seed {day.seed}: {failure}" for failure in day.failures]
        part.end(VIOLATED, [*told, f"repeat: {_again(day)}"])


def _days(span: _Span, begun_s: float) -> Iterator[Outcome]:
    """The outcomes in the order of their seeds."""
    seeds = range(span.seed, span.seed + span.days) if span.days else count(span.seed)

    def wanted() -> Iterator[int]:
        for seed in seeds:
            if not span.days and time.monotonic() - begun_s > span.seconds:
                return
            yield seed

    with get_context("spawn").Pool(span.jobs, maxtasksperchild=DAYS_A_PROCESS) as pool:
        waiting = []
        for seed in wanted():
            waiting.append(pool.apply_async(simulate, (seed,)))
            if len(waiting) > 2 * span.jobs:
                yield waiting.pop(0).get()
        for one in waiting:
            yield one.get()
        pool.close()  # each process ends by itself, and takes its folder away
        pool.join()


def _again(day: Outcome) -> str:
    return f'make simulate ARGS="--days 1 --seed {day.seed}"'


def _report(day: Outcome) -> None:
    for failure in day.failures:
        print(failure)  # noqa: T201
    if day.failures:
        print(  # noqa: T201
            f"Seed {day.seed} fails. To replay it, step by step: {_again(day)}"
        )


if __name__ == "__main__":
    sys.exit(main())
