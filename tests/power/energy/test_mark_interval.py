"""The stated interval of a mark's energy holds what the mark really took: drawn recordings of known loads."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lpirc_power.energy.marked_energy import PowerCourse, Span
from lpirc_power.energy.measurement import Measurement
from lpirc_power.meter import Reading, Setup

Make = Callable[..., Reading]
Column = NDArray[Any]
LASTS_S = 20.0
DRAWN = 100
UPDATES_S = (0.1, 0.25, 0.5, 1.0)
LENGTHS_S = (0.05, 0.2, 1.0, 5.0)
IDLE_W = 2.0


class Load:
    """A power that is constant between changes, and its exact energy until any time."""

    def __init__(self, times_s: Column, powers_w: Column) -> None:
        self.times_s = times_s
        joules = powers_w * np.diff(times_s)
        self.sums = np.concatenate(([0.0], np.cumsum(joules)))

    def until(self, at_s: Column) -> Column:
        return np.interp(
            at_s,
            self.times_s,
            self.sums,
        )


def constant(dice: np.random.Generator, marks: list[Span]) -> Load:
    power_w = dice.uniform(
        5.0,
        60.0,
    )
    return Load(
        np.array([0.0, LASTS_S]),
        np.array([power_w]),
    )


def bursty(dice: np.random.Generator, marks: list[Span]) -> Load:
    """Two powers that take turns, each for 30 ms to 1 s, whatever is marked."""
    lengths_s = dice.uniform(
        0.03,
        1.0,
        1000,
    )
    times_s = np.concatenate(([0.0], np.cumsum(lengths_s)))
    powers_w = np.where(
        np.arange(1000) % 2,
        dice.uniform(
            5.0,
            60.0,
        ),
        IDLE_W,
    )
    return Load(
        times_s,
        powers_w,
    )


def following(dice: np.random.Generator, marks: list[Span]) -> Load:
    """The worst that a workload does: its power is high exactly while it is marked."""
    times_s = np.array([0.0, *(one for both in marks for one in both), LASTS_S])
    powers_w = np.where(
        np.arange(len(times_s) - 1) % 2,
        100.0,
        0.0,
    )
    return Load(
        times_s,
        powers_w,
    )


class Case:
    """A drawn recording with marks: what the readings tell of them, and what they took."""

    def __init__(
        self,
        reading: Make,
        dice: np.random.Generator,
        make_load: Callable[[np.random.Generator, list[Span]], Load],
        length_s: float,
        late_s: float = 0.01,
        missed: float = 0.0,
    ) -> None:
        update_s = float(dice.choice(UPDATES_S))
        begin_s = dice.uniform(
            1.0,
            8.0,
        )
        pause_s = dice.uniform(
            0.2,
            4.0,
        )
        lasts_s = length_s * dice.uniform(
            0.8,
            1.2,
        )
        marks = [(begin_s, begin_s + lasts_s)]
        if dice.random() < 0.5:
            again_s = marks[0][1] + pause_s
            marks.append(
                (
                    again_s,
                    min(
                        again_s + lasts_s,
                        LASTS_S - 0.01,
                    ),
                )
            )
        load = make_load(
            dice,
            marks,
        )
        ends_s = np.arange(
            dice.uniform(
                0.0,
                update_s,
            ),
            LASTS_S,
            update_s,
        )[1:]
        joules = load.until(ends_s)
        powers_w = (joules - load.until(ends_s - update_s)) / update_s
        read_s = ends_s + dice.uniform(
            0.0,
            late_s * update_s,
            len(ends_s),
        )
        is_read = dice.random(len(ends_s)) >= missed
        is_read &= read_s < LASTS_S
        is_read[0] = True
        columns = (read_s[is_read], powers_w[is_read], joules[is_read])
        readings = [
            reading(
                at_s,
                power_w=power_w,
                energy_wh=joule / 3600.0,
            )
            for at_s, power_w, joule in zip(
                *columns,
                strict=True,
            )
        ]
        whole_wh = float(load.until(np.array([LASTS_S]))[0]) / 3600.0
        setup = Setup(
            150.0,
            0.5,
            update_s,
            0,
        )
        measured = Measurement(
            whole_wh,
            LASTS_S,
            0.0,
            LASTS_S,
            setup,
            "WT310",
            None,
        )
        self.found = PowerCourse(
            readings,
            measured,
        ).of(marks)
        edges = np.array(marks).ravel()
        self.truth_wh = math.fsum(np.diff(load.until(edges))[::2]) / 3600.0
        self.error_wh = abs(self.found.energy_wh - self.truth_wh)

    @property
    def is_held(self) -> bool:
        return self.error_wh <= self.found.edges_wh + 1e-12


def cases(seed: int, reading: Make, *how: Any, **more: float) -> list[Case]:
    dice = np.random.default_rng(seed)
    return [
        Case(
            reading,
            dice,
            *how,
            **more,
        )
        for _ in range(DRAWN)
    ]


@pytest.mark.parametrize(
    "length_s",
    LENGTHS_S,
)
@pytest.mark.parametrize(
    "make_load",
    [constant, bursty, following],
)
@pytest.mark.parametrize(
    ("late_s", "missed"), [(0.01, 0.0), (0.4, 0.0), (0.05, 0.3), (0.4, 0.6)]
)
def test_the_interval_holds_the_energy_of_a_mark(
    reading: Make,
    make_load: Callable[..., Load],
    length_s: float,
    late_s: float,
    missed: float,
) -> None:
    """Updates of 0.1 to 1 s, a punctual and a late host, a host that misses updates."""
    drawn = cases(
        7,
        reading,
        make_load,
        length_s,
        late_s=late_s,
        missed=missed,
    )
    assert np.mean([one.is_held for one in drawn]) >= 0.93


def test_work_in_step_with_the_updates_does_not_deceive(reading: Make) -> None:
    """Every reading says 20 W; the work takes 100 W for 20 of each 100 ms, and is marked for exactly these."""
    times_s = np.arange(
        0.1,
        LASTS_S,
        0.1,
    )
    readings = [
        reading(
            float(at_s),
            power_w=20.0,
            energy_wh=float(20.0 * at_s / 3600.0),
        )
        for at_s in times_s
    ]
    marks = [(float(at_s) + 0.04, float(at_s) + 0.06) for at_s in times_s[:100]]
    setup = Setup(
        150.0,
        0.5,
        0.1,
        0,
    )
    whole_wh = 20.0 * LASTS_S / 3600.0
    measured = Measurement(
        whole_wh,
        LASTS_S,
        0.0,
        LASTS_S,
        setup,
        "WT310",
        None,
    )
    found = PowerCourse(
        readings,
        measured,
    ).of(marks)
    truth_wh = 100 * 0.02 * 100.0 / 3600.0
    assert abs(found.energy_wh - truth_wh) <= found.edges_wh + 1e-12


def test_the_interval_is_no_wider_than_the_worst_load_needs(reading: Make) -> None:
    """A load that follows its mark reaches more than 80 % of the limit; bursts of others need less than half of it."""
    for make_load, least, most in ((following, 0.8, 1.0), (bursty, 0.2, 0.5)):
        drawn = cases(
            9,
            reading,
            make_load,
            1.0,
        )
        needed = [one.error_wh / one.found.edges_wh for one in drawn]
        assert (
            least
            <= np.quantile(
                needed,
                0.95,
            )
            <= most + 1e-9
        )
