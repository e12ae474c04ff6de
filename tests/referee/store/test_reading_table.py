"""The power of a run over time, as pages show it."""

from __future__ import annotations

import math

from referee.store import Store
from tests.referee.factories import reading, stored_run


def test_a_reading_without_a_value_or_above_the_range_is_no_power(store: Store) -> None:
    run = stored_run(store)
    powers_w = (2.0, 4.0, math.inf, -math.inf, math.nan, 6.0)
    for second, power_w in enumerate(powers_w):
        store.readings.append(run.id, 0.0, [reading(second + 0.5, power_w=power_w)])
    course = store.readings.power_course(run.id, 6.0, 3)
    assert course == ([1.0, 5.5], [3.0, 6.0])
