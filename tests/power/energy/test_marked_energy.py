"""The energy of stretches of a recording against loads whose energy is known."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from itertools import pairwise

import pytest

from lpirc_power.energy.marked_energy import PowerCourse
from lpirc_power.energy.measurement import Measurement
from lpirc_power.meter import Reading, Setup

Make = Callable[..., Reading]
UPDATE_S = 0.1
LASTS_S = 60.0


def measured(lasts_s: float = LASTS_S) -> Measurement:
    setup = Setup(
        150.0,
        0.5,
        UPDATE_S,
        0,
    )
    return Measurement(
        0.1,
        lasts_s,
        0.0,
        lasts_s,
        setup,
        "WT310",
        None,
    )


class Load:
    """A load that is constant between the times at which it changes."""

    def __init__(self, changes: list[tuple[float, float]]) -> None:
        self.changes = changes

    def energy_ws(self, begin_s: float, end_s: float) -> float:
        total = 0.0
        for (from_s, power_w), (to_s, _) in pairwise([*self.changes, (math.inf, 0.0)]):
            total += power_w * max(
                min(
                    to_s,
                    end_s,
                )
                - max(
                    from_s,
                    begin_s,
                ),
                0.0,
            )
        return total

    def readings(
        self, reading: Make, phase_s: float, late: Callable[[], float]
    ) -> list[Reading]:
        """Read the mean of each update, up to some time after it."""
        found = []
        at_s = phase_s
        while at_s < LASTS_S:
            power_w = (
                self.energy_ws(
                    max(
                        at_s - UPDATE_S,
                        0.0,
                    ),
                    at_s,
                )
                / UPDATE_S
            )
            wh = (
                self.energy_ws(
                    0.0,
                    at_s,
                )
                / 3600.0
            )
            found.append(
                reading(
                    at_s + late(),
                    power_w=power_w,
                    energy_wh=wh,
                )
            )
            at_s += UPDATE_S
        return found


@pytest.mark.parametrize(
    "seed",
    range(200),
)
def test_the_limit_of_the_edges_holds_when_marks_change_the_load(
    reading: Make, seed: int
) -> None:
    """The worst that a workload does: its phases begin and end exactly where the power jumps."""
    dice = random.Random(seed)  # noqa: S311
    changes = [(0.0, 2.0)]
    stretches = []
    at_s = dice.uniform(
        0.5,
        2.0,
    )
    longest_s = dice.choice([0.02, 0.15, 1.0, 8.0])
    while at_s < LASTS_S - 10.0 and len(stretches) < 100:
        end_s = (
            at_s
            + dice.uniform(
                0.2,
                1.0,
            )
            * longest_s
        )
        changes += [
            (
                at_s,
                dice.uniform(
                    5.0,
                    60.0,
                ),
            ),
            (end_s, 2.0),
        ]
        stretches.append((at_s, end_s))
        at_s = (
            end_s
            + dice.uniform(
                0.01,
                1.0,
            )
            * longest_s
        )
    load = Load(changes)
    readings = load.readings(
        reading,
        dice.uniform(
            0.01,
            UPDATE_S,
        ),
        lambda: dice.uniform(
            0.0,
            0.01,
        ),
    )
    found = PowerCourse(
        readings,
        measured(),
    ).of(stretches)
    truth_wh = math.fsum(load.energy_ws(*one) for one in stretches) / 3600.0
    assert abs(found.energy_wh - truth_wh) <= found.edges_wh
    assert found.duration_s == pytest.approx(sum(e - b for b, e in stretches))


def test_a_steady_load_has_exactly_its_energy_wherever_the_edges_are(
    reading: Make,
) -> None:
    readings = [
        reading(0.1 * number)
        for number in range(
            1,
            601,
        )
    ]
    found = PowerCourse(
        readings,
        measured(),
    ).of([(1.234, 5.678)])
    assert found.energy_wh == pytest.approx(6.0 * (5.678 - 1.234) / 3600.0)
    # 0.66 of one update of 6 W and 0.78 of another are counted: all of that may be wrong.
    assert found.edges_wh == pytest.approx((0.66 + 0.78) * 0.1 * 6.0 / 3600.0)


def test_stretches_that_overlap_or_nest_count_their_energy_once(reading: Make) -> None:
    readings = [
        reading(0.1 * number)
        for number in range(
            1,
            601,
        )
    ]
    course = PowerCourse(
        readings,
        measured(),
    )
    one = course.of([(1.0, 5.0), (2.0, 3.0), (4.0, 9.0), (1.0, 5.0)])
    assert one == course.of([(1.0, 9.0)])


def test_what_lies_outside_the_window_has_no_energy(reading: Make) -> None:
    readings = [
        reading(0.1 * number)
        for number in range(
            1,
            601,
        )
    ]
    course = PowerCourse(
        readings,
        measured(),
    )
    assert course.of([(-5.0, -1.0), (61.0, 70.0)]).energy_wh == 0.0
    whole = course.of([(-math.inf, math.inf)])
    assert whole.energy_wh == pytest.approx(
        0.1,
        rel=1e-9,
    )
    assert whole.edges_wh == 0.0


def test_many_edges_in_one_update_put_no_more_than_its_energy_in_doubt(
    reading: Make,
) -> None:
    readings = [
        reading(0.1 * number)
        for number in range(
            1,
            601,
        )
    ]
    stretches = [
        (1.01 + 0.001 * number, 1.0105 + 0.001 * number) for number in range(80)
    ]
    found = PowerCourse(
        readings,
        measured(),
    ).of(stretches)
    # 40 of its 100 ms are marked: at most the energy of the 60 others is lost.
    assert found.edges_wh == pytest.approx(0.06 * 6.0 / 3600.0)


def test_in_a_gap_the_power_is_what_wh_implies(reading: Make) -> None:
    """From 10 s to 20 s nothing was read; the load drew 20 W there."""
    readings = []
    for number in range(
        1,
        601,
    ):
        at_s = 0.1 * number
        if 10.0 < at_s <= 20.0:
            continue
        extra_wh = 140.0 / 3600.0 if at_s > 20.0 else 0.0
        readings.append(
            reading(
                at_s,
                energy_wh=6.0 * at_s / 3600.0 + extra_wh,
            )
        )
    found = PowerCourse(
        readings,
        measured(),
    ).of([(12.0, 18.0)])
    assert found.energy_wh == pytest.approx(
        20.0 * 6.0 / 3600.0,
        rel=0.01,
    )
    # Both edges are in the gap: all of its energy may belong to them, or nothing.
    assert found.edges_wh >= 20.0 * 6.0 / 3600.0


def test_another_clocks_doubt_is_counted_at_each_edge(reading: Make) -> None:
    readings = [
        reading(0.1 * number)
        for number in range(
            1,
            601,
        )
    ]
    course = PowerCourse(
        readings,
        measured(),
    )
    more_wh = (
        course.of(
            [(1.0, 2.0), (3.0, 4.0)],
            0.5,
        ).edges_wh
        - course.of([(1.0, 2.0), (3.0, 4.0)]).edges_wh
    )
    assert more_wh == pytest.approx(
        4 * 0.5 * 6.0 / 3600.0,
        rel=0.1,
    )


def test_without_a_power_there_is_no_energy(reading: Make) -> None:
    blind = [
        reading(
            0.1 * number,
            power_w=math.nan,
        )
        for number in range(
            1,
            601,
        )
    ]
    for readings in ([], blind):
        found = PowerCourse(
            readings,
            measured(),
        ).of([(1.0, 2.0)])
        assert math.isnan(found.energy_wh)
        assert found.duration_s == 1.0


def test_what_wh_rose_by_behind_the_last_reading_is_the_energy_there(
    reading: Make,
) -> None:
    """The link was lost at 20 s; WH, read at the end, tells of 40 s at 100 W."""
    readings = [
        reading(
            0.1 * number,
            power_w=10.0,
            energy_wh=number / 3600.0,
        )
        for number in range(
            1,
            201,
        )
    ]
    setup = Setup(
        150.0,
        0.5,
        UPDATE_S,
        0,
    )
    whole_wh = (20.0 * 10.0 + 40.0 * 100.0) / 3600.0
    lost = Measurement(
        whole_wh,
        LASTS_S,
        0.0,
        LASTS_S,
        setup,
        "WT310",
        None,
    )
    course = PowerCourse(
        readings,
        lost,
    )
    assert course.of([(0.0, 60.0)]).energy_wh == pytest.approx(whole_wh)
    assert course.of([(10.0, 60.0)]).energy_wh == pytest.approx(4100.0 / 3600.0)
    # Nobody knows when in these 40 s the load took it.
    part = course.of([(30.0, 50.0)])
    assert part.edges_wh == pytest.approx(
        2000.0 / 3600.0,
        rel=0.01,
    )


def test_a_rise_of_wh_that_the_powers_contradict_is_still_that_of_the_gap(
    reading: Make,
) -> None:
    """WH rose by less in the gap than the reading after it says of its own update alone."""
    readings = [
        reading(
            0.1 * number,
            energy_wh=0.1
            * min(
                number,
                100,
            )
            * 6.0
            / 3600.0,
        )
        for number in range(
            1,
            601,
        )
        if not 100 < number < 200
    ]
    found = PowerCourse(
        readings,
        measured(),
    ).of([(10.0, 20.0)])
    assert found.energy_wh == pytest.approx(
        0.0,
        abs=1e-9,
    )


def test_stretches_that_overlap_each_count_their_energy_in_the_total(
    reading: Make,
) -> None:
    readings = [
        reading(
            0.1 * number,
            energy_wh=0.1 * number * 6.0 / 3600.0,
        )
        for number in range(
            1,
            601,
        )
    ]
    course = PowerCourse(
        readings,
        measured(),
    )
    assert course.total_wh([(1.0, 5.0), (2.0, 4.0)]) == pytest.approx(36.0 / 3600.0)


def test_a_counter_of_coarse_steps_does_not_hide_what_the_powers_say(
    reading: Make,
) -> None:
    """WH has not moved in the update that both edges cut; by its power it may have taken all of 6 W."""
    readings = [reading(0.1 * number, energy_wh=0.0) for number in range(1, 601)]
    found = PowerCourse(readings, measured()).of([(1.02, 1.07)])
    assert found.energy_wh == 0.0
    assert found.edges_wh == pytest.approx(0.1 * 6.0 / 3600.0)
