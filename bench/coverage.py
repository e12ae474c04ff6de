"""What intervals, bias and the orders of the board are worth, in simulated contests whose truth is known."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.figures import as_markdown, replace_part, show
from bench.simulated import Scene, maps_of, scene
from lpirc_score.analysis.halves import HALVES, halves_of
from lpirc_score.analysis.interval import (
    Halved,
    MapIntervals,
    chance_of_order,
    map_intervals,
)
from referee.judging.score_uncertainty import energy_spread_of

Floats = NDArray[np.float64]

DOCUMENT = Path(__file__).parents[1] / "docs" / "scoring.md"
BEGIN = '<!-- coverage tables: make bench ARGS="coverage --save" -->'
END = "<!-- end of the coverage tables -->"

CONTESTS = 1000
TEAMS = 4
UNLIMITED_IMAGES = 40_000
SKILL = 0.6
# Of the logarithm of an energy; how many attempts.
MOST_ENERGY = 0.04
SPREAD = 0.01
ATTEMPTS = (2, 3, 4)
OWN_LIMIT = 0.001
SHARED_LIMIT = 0.002
# The mean of the largest of so many standard normal draws.
BEST_OF = {
    2: 0.5642,
    3: 0.8463,
    4: 1.0294,
}
BINS = (0.5, 0.7, 0.85, 0.95, 0.99, 1.0)


@dataclass(frozen=True)
class Population:
    """Test sets of so many images and categories, whose frequencies are even or log-normal.

    The skills of the other teams differ from that of the first by up to `reach`, all equally likely.
    """

    images: int
    categories: int
    is_even: bool
    reach: float

    @property
    def name(self) -> str:
        """As the tables have it."""
        return (
            f"{self.images} x {self.categories}{'' if self.is_even else ' log-normal'}"
        )

    def shares(self, random: np.random.Generator) -> Floats:
        """How frequent each category is (K,)."""
        weights = (
            np.ones(self.categories)
            if self.is_even
            else np.exp(random.normal(0, 1, self.categories))
        )
        shares: Floats = weights / weights.sum()
        return shares


POPULATIONS = (
    Population(100, 20, is_even=True, reach=0.10),
    Population(1000, 20, is_even=True, reach=0.04),
    Population(300, 200, is_even=True, reach=0.08),
    Population(300, 200, is_even=False, reach=0.08),
    Population(1000, 200, is_even=False, reach=0.05),
)


@dataclass(frozen=True, eq=False)
class Contest:
    """The teams' skills (T,), their mAPs on the whole set and its halves (T, HALVES), and on another set (T,)."""

    skills: Floats
    maps: Floats
    halves: Floats
    other_maps: Floats


@dataclass(frozen=True)
class Order:
    """What was said of two teams: the chance that the leader is the better one, and whether it is."""

    stated: float
    is_right: bool


@dataclass(frozen=True)
class Calibration:
    """Of a population: the row of the table of intervals, and the orders that were stated."""

    intervals: dict[str, Any]
    orders: list[Order]


def measure() -> dict[str, list[dict[str, Any]]]:
    """The tables of intervals and of orders."""
    found = []
    for population in POPULATIONS:
        found.append(calibration(population, CONTESTS))
        show("coverage", [found[-1].intervals])
    tables = {
        "intervals": [one.intervals for one in found],
        "orders": order_table(found),
    }
    show("orders", tables["orders"])
    return tables


def write(tables: dict[str, list[dict[str, Any]]]) -> None:
    """Put the tables into the page of the scores."""
    intervals, orders = (as_markdown(tables[name]) for name in ("intervals", "orders"))
    replace_part(DOCUMENT, BEGIN, f"\n{intervals}\n\n{orders}\n", END)


def calibration(
    population: Population,
    contests: int,
    teams: int = TEAMS,
) -> Calibration:
    """Simulate contests of a population and compare what is stated of them with the truth."""
    random = np.random.default_rng(
        [population.images, population.categories, population.is_even]
    )
    shares = population.shares(random)
    made = [_contest(random, population, shares, teams) for _ in range(contests)]
    unlimited = _unlimited(random, shares, np.array([one.skills for one in made]))
    return compared_with_truth(population, made, unlimited)


def compared_with_truth(
    population: Population,
    made: Sequence[Contest],
    unlimited: Floats,
) -> Calibration:
    """What is stated of contests beside the truth; `unlimited` is the polynomial of `_unlimited`."""
    skills = np.array([one.skills for one in made])
    maps = np.array([one.maps for one in made])
    others = np.array([one.other_maps for one in made])
    # The mean mAP by skill, from both sets of every contest.
    expected = np.polyfit(np.append(skills, skills), np.append(maps, others), 2)
    intervals = _interval_row(
        population,
        made,
        np.polyval(expected, skills),
        np.polyval(unlimited, skills),
    )
    random = np.random.default_rng(len(made))
    orders = [order for one in made for order in _orders(random, one, expected)]
    return Calibration(intervals, orders)


def order_table(found: Sequence[Calibration]) -> list[dict[str, Any]]:
    """By stated chance, and for all: how many orders, what was stated on average, and how many were right."""
    every = [order for one in found for order in one.orders]
    rows = []
    for low, high in pairwise(BINS):
        its = [
            one
            for one in every
            if low <= one.stated and (one.stated < high or high == BINS[-1])
        ]
        rows.append({"orders stated": f"{low:.0%} to {high:.0%}"} | compared(its))
    rows += [
        {"orders stated": f"all of {one.intervals['images x categories']}"}
        | compared(one.orders)
        for one in found
    ]
    return [*rows, {"orders stated": "all"} | compared(every)]


def compared(orders: Sequence[Order]) -> dict[str, Any]:
    """How many orders, their mean stated chance, and the share that was right."""
    if not orders:
        return {"number": 0, "stated": "", "right": ""}
    stated = np.mean([one.stated for one in orders])
    right = np.mean([one.is_right for one in orders])
    return {
        "number": len(orders),
        "stated": f"{stated:.1%}",
        "right": f"{right:.1%}",
    }


def _contest(
    random: np.random.Generator,
    population: Population,
    shares: Floats,
    teams: int,
) -> Contest:
    leads = random.uniform(-population.reach, population.reach, teams - 1)
    skills = np.append(SKILL, SKILL + leads)
    found, other = (scene(random, population.images, shares, skills) for _ in range(2))
    whole = np.ones((population.images, 1), np.bool_)
    drawn = np.column_stack([halves_of(population.images), whole])
    maps = np.array([maps_of(found, team, drawn) for team in found.teams])
    return Contest(skills, maps[:, HALVES], maps[:, :HALVES], _whole_maps(other))


def _whole_maps(found: Scene) -> Floats:
    whole = np.ones((found.images, 1), np.bool_)
    return np.array([maps_of(found, team, whole)[0] for team in found.teams])


def _unlimited(random: np.random.Generator, shares: Floats, skills: Floats) -> Floats:
    """The mAP of unlimited images by skill, as a polynomial."""
    grid = np.linspace(skills.min(), skills.max(), 5)
    return np.polyfit(
        grid,
        _whole_maps(scene(random, UNLIMITED_IMAGES, shares, grid)),
        2,
    )


def _interval_row(
    population: Population,
    made: Sequence[Contest],
    mean: Floats,
    unlimited: Floats,
) -> dict[str, Any]:
    maps = np.array([one.maps for one in made])
    others = np.array([one.other_maps for one in made])
    found = [list(map(map_intervals, one.maps, one.halves)) for one in made]
    stated = list(chain(*found))
    return {
        "images x categories": population.name,
        "mAP": f"{maps.mean():.3f}",
        "standard error": f"{np.std(maps - mean):.4f}",
        "stated": f"{np.mean([one.spread for one in stated]):.4f}",
        "bias": f"{np.mean(mean - unlimited):+.3f}",
        "stated at least": f"{np.mean([one.bias for one in stated]):+.3f}",
        "mean held": f"{_held(found, 'mean', mean):.1%}",
        "another set held": f"{_held(found, 'other', others):.1%}",
        "unlimited held": f"{_held(found, 'unlimited', unlimited):.1%}",
    }


def _held(found: Sequence[Sequence[MapIntervals]], name: str, values: Floats) -> float:
    """How often the interval of that name holds the value (contests, T)."""
    end_of = attrgetter(name)
    ends = np.array([list(map(end_of, one)) for one in found])
    return float(np.mean((ends[..., 0] <= values) & (values <= ends[..., 1])))


def _orders(
    random: np.random.Generator,
    one: Contest,
    expected: Floats,
) -> Iterator[Order]:
    """The first team against each other one, on one meter or on two."""
    is_shared = bool(random.integers(2))
    logs = [_Energies.drawn(random, is_shared) for _ in one.skills]
    truths = np.polyval(expected, one.skills) * np.exp([-its.expected for its in logs])
    meter = "one" if is_shared else None
    runs = [
        Halved(
            value,
            halves,
            energy_wh=math.exp(min(its.measured)),
            shared_limit=SHARED_LIMIT,
            own_limit=OWN_LIMIT,
            images="all",
            meter=meter,
            energy_spread=energy_spread_of(np.exp(its.measured)),
        )
        for value, halves, its in zip(one.maps, one.halves, logs, strict=True)
    ]
    first = runs[0]
    for other, truth in zip(runs[1:], truths[1:], strict=True):
        is_ahead = first.value("score") > other.value("score")
        better, worse = (first, other) if is_ahead else (other, first)
        yield Order(
            chance_of_order(better, worse), bool((truths[0] > truth) == is_ahead)
        )


@dataclass(frozen=True)
class _Energies:
    """The logarithms of a team's energies: as `measured` in each attempt, and that of the best attempt on average."""

    measured: list[float]
    expected: float

    @classmethod
    def drawn(cls, random: np.random.Generator, is_shared: bool) -> _Energies:
        """Of a team that varies by about SPREAD; the error of a meter that all share changes no order."""
        middle = random.uniform(-MOST_ENERGY, MOST_ENERGY)
        attempts = int(random.choice(ATTEMPTS))
        sd = SPREAD * math.exp(random.normal(0, 0.3))
        of_meter = 0.0 if is_shared else random.uniform(-SHARED_LIMIT, SHARED_LIMIT)
        of_runs = random.uniform(-OWN_LIMIT, OWN_LIMIT, attempts) + random.normal(
            0,
            sd,
            attempts,
        )
        return cls(
            (middle + of_meter + of_runs).tolist(), middle - BEST_OF[attempts] * sd
        )
