"""Seasons by the model: a queue, a coordinator that does one thing at a time, and workers. docs/scaling.md explains it.

Pure: what the parts take is measured by `bench.season`, which also holds the model to what it measures.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TEAMS, ENTRIES_A_DAY, DAYS, DAY_S = 1000, 3, 14, 86_400
LATE, LATE_S = 0.5, 1200.0
"""The share of a day's entries that come on account of its deadline, at midnight, and how long before it on average."""
WORKERS = (1, 2, 10, 100)


@dataclass(frozen=True)
class Costs:
    """Of one entry, in seconds: read by the coordinator, scored by a worker, kept by the coordinator."""

    read_s: float
    score_s: float
    keep_s: float

    def crowded(self, workers: int, cores: int) -> Costs:
        """With coordinator and workers on one host: what it does is taken from workers that use every core."""
        taken_s = self.read_s + self.keep_s if workers >= cores else 0.0
        return Costs(self.read_s, self.score_s + taken_s, self.keep_s)


def arrivals_s(seed: int = 0) -> Floats:
    """When the entries of a season arrive, in order: some at any time of a day, the others towards its end."""
    random, count = np.random.default_rng(seed), TEAMS * ENTRIES_A_DAY * DAYS
    before_s = np.where(
        random.random(count) < LATE, random.exponential(LATE_S, count), random.random(count) * DAY_S
    )
    return np.sort((1 + np.arange(count) % DAYS) * DAY_S - np.minimum(before_s, DAY_S))


def judged_s(arrived_s: Floats, workers: int, costs: Costs) -> Floats:
    """When entries that arrive in this order are judged; as in `referee.workers.dispatch`, one waits at the workers."""
    free, running, ended = [0.0] * workers, list[tuple[float, int]](), np.empty(len(arrived_s))
    now_s, first = 0.0, 0
    while first < len(arrived_s) or running:
        has_room = first < len(arrived_s) and len(running) <= workers
        if has_room and arrived_s[first] <= now_s:
            now_s += costs.read_s
            end_s = max(now_s, heapq.heappop(free)) + costs.score_s
            heapq.heappush(free, end_s)
            heapq.heappush(running, (end_s, first))
            first += 1
        elif running and running[0][0] <= now_s:
            now_s += costs.keep_s
            ended[heapq.heappop(running)[1]] = now_s
        else:
            next_s = [running[0][0]] if running else []
            now_s = min([*next_s, float(arrived_s[first])] if has_room else next_s)
    return ended


def seasons(costs: Costs) -> list[dict[str, Any]]:
    """A row for each number of workers: the season as it comes, and all of it judged again after its end."""
    arrived_s = arrivals_s()
    rows = []
    for workers in WORKERS:
        ended_s = judged_s(arrived_s, workers, costs)
        wait_s, queue = ended_s - arrived_s, np.arange(1, len(arrived_s) + 1)
        ahead = queue - np.searchsorted(np.sort(ended_s), arrived_s, "right")
        again_s = judged_s(np.zeros(len(arrived_s)), workers, costs).max()
        rows.append(
            {
                "workers": workers,
                "wait, median (s)": float(np.median(wait_s)),
                "95 % (s)": float(np.quantile(wait_s, 0.95)),
                "worst (s)": float(wait_s.max()),
                "longest queue": int(ahead.max()),
                "all again (h)": again_s / 3600,
                "a day at most": DAY_S * len(arrived_s) / again_s,
            }
        )
    return rows
