"""Seasons by the model of docs/scaling.md: entries that come, a coordinator that does one thing at a time, workers."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
TEAMS = 1000
ENTRIES_A_DAY = 3
DAYS = 14
DAY_S = 86_400.0
LATE = 0.5
LATE_S = 1200.0
"""The share of a day's entries that its deadline brings, at midnight, and how long before it they come on average."""
WORKERS = (1, 2, 10, 100)
COLUMNS = (
    "workers",
    "median (s)",
    "95 % (s)",
    "worst (s)",
    "longest queue",
    "all again (h)",
    "a day at most",
)


@dataclass(frozen=True)
class Costs:
    """Of an entry, in seconds: read and packed by the coordinator, scored by a worker, kept by the coordinator."""

    read_s: float
    score_s: float
    keep_s: float

    def runs_s(
        self,
        runs: int,
        workers: int,
        cores: int,
    ) -> float:
        """How long so many runs take on one host."""
        score_s = self.score_s
        # They use every core: the host's own work is taken from them.
        if workers >= cores:
            score_s += self.read_s + self.keep_s
        on_busy_host = replace(self, score_s=score_s)
        return float(judged_s(np.zeros(runs), workers, on_busy_host)[-1])


def judged_s(arrived_s: Floats, workers: int, costs: Costs) -> Floats:
    """When entries that come in this order are judged; one more than there are workers is given out."""
    free = [0.0] * workers
    given = list[tuple[float, int]]()
    ended = np.empty(len(arrived_s))
    now_s = 0.0
    first = 0
    while first < len(arrived_s) or given:
        has_room = first < len(arrived_s) and len(given) <= workers
        if has_room and arrived_s[first] <= now_s:
            now_s += costs.read_s
            end_s = max(now_s, heapq.heappop(free)) + costs.score_s
            heapq.heappush(free, end_s)
            heapq.heappush(given, (end_s, first))
            first += 1
        elif given and given[0][0] <= now_s:
            now_s += costs.keep_s
            ended[heapq.heappop(given)[1]] = now_s
        else:
            now_s = min(
                [end_s for end_s, _ in given[:1]]
                + ([float(arrived_s[first])] if has_room else [])
            )
    return ended


def seasons(costs: Costs) -> list[dict[str, Any]]:
    """A row for each number of workers: how long entries wait, and how long to judge all of them again."""
    random = np.random.default_rng(0)
    count = TEAMS * ENTRIES_A_DAY * DAYS
    rows = []
    late_s = random.exponential(LATE_S, count)
    any_s = random.random(count) * DAY_S
    before_s = np.where(random.random(count) < LATE, late_s, any_s)
    arrived_s = np.sort((1 + np.arange(count) % DAYS) * DAY_S - before_s)
    for workers in WORKERS:
        ended_s = judged_s(arrived_s, workers, costs)
        waits_s = np.quantile(ended_s - arrived_s, [0.5, 0.95, 1.0]).tolist()
        queue = np.arange(1, count + 1) - np.searchsorted(
            np.sort(ended_s),
            arrived_s,
            "right",
        )
        again_h = float(judged_s(np.zeros(count), workers, costs)[-1]) / 3600
        row = [workers, *waits_s, int(queue.max()), again_h, 24 * count / again_h]
        rows.append(dict(zip(COLUMNS, row, strict=True)))
    return rows
