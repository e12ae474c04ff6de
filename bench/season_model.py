"""Seasons by the model: entries that come, a coordinator that does one thing at a time, workers (docs/scaling.md).

Pure: `bench.season` measures what the parts take, and sets the model beside what it measures.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TEAMS, ENTRIES_A_DAY, DAYS, DAY_S = 1000, 3, 14, 86_400
LATE, LATE_S = 0.5, 1200.0
"""The share of a day's entries that its deadline brings, at midnight, and how long before it they come on average."""
WORKERS = (1, 2, 10, 100)


@dataclass(frozen=True)
class Costs:
    """Of an entry, in seconds: read and packed by the coordinator, scored by a worker, kept by the coordinator."""

    read_s: float
    score_s: float
    keep_s: float

    def runs_s(self, runs: int, workers: int, cores: int) -> float:
        """How long so many runs take on one host; without workers, the coordinator scores them itself."""
        coordinator_s = self.read_s + self.keep_s
        if not workers:
            return runs * (coordinator_s + self.score_s)
        taken_s = coordinator_s if workers >= cores else 0.0  # from workers that use every core
        return float(judged_s(np.zeros(runs), workers, replace(self, score_s=self.score_s + taken_s)).max())


def arrivals_s(seed: int = 0) -> Floats:
    """When the entries of a season come, in order."""
    random, count = np.random.default_rng(seed), TEAMS * ENTRIES_A_DAY * DAYS
    late, any_time = random.exponential(LATE_S, count), random.random(count) * DAY_S
    before_s = np.where(random.random(count) < LATE, np.minimum(late, DAY_S), any_time)
    return np.sort((1 + np.arange(count) % DAYS) * DAY_S - before_s)


def judged_s(arrived_s: Floats, workers: int, costs: Costs) -> Floats:
    """When entries that come in this order are judged; one more than there are workers is given out."""
    free, given, ended = [0.0] * workers, list[tuple[float, int]](), np.empty(len(arrived_s))
    now_s, first = 0.0, 0
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
            now_s = min([end_s for end_s, _ in given[:1]] + ([float(arrived_s[first])] if has_room else []))
    return ended


def seasons(costs: Costs) -> list[dict[str, Any]]:
    """A row for each number of workers: how long entries wait, and all of them judged again after the end."""
    arrived_s, rows = arrivals_s(), []
    for workers in WORKERS:
        ended_s = judged_s(arrived_s, workers, costs)
        waits_s = np.quantile(ended_s - arrived_s, [0.5, 0.95, 1.0]).tolist()
        row = {"workers": workers} | dict(zip(("median (s)", "95 % (s)", "worst (s)"), waits_s, strict=True))
        before = np.searchsorted(np.sort(ended_s), arrived_s, "right")
        row["longest queue"] = int((np.arange(1, len(arrived_s) + 1) - before).max())
        again_s = float(judged_s(np.zeros(len(arrived_s)), workers, costs).max())
        row |= {"all again (h)": again_s / 3600, "entries a day at most": DAY_S * len(arrived_s) / again_s}
        rows.append(row)
    return rows
