"""The interval of a series that ends itself holds the true mean as often as it says, though it chose its end."""

from __future__ import annotations

import numpy as np
import pytest

from lpirc_power.energy.spread import half_of_mean
from lpirc_power.recording_run.series_run import MOST_STABLE, is_stable

SERIES = 800
STABLE = 0.01
TRUE_WH = 1.0


def ended(
    deviation: float,
    rng: np.random.Generator,
) -> list[float] | None:
    """Return the energies of a series that ended as stable; None if it gave up."""
    energies_wh: list[float] = []
    for _ in range(MOST_STABLE):
        energies_wh.append(
            TRUE_WH
            + float(
                rng.normal(
                    0.0,
                    deviation,
                )
            )
        )
        if is_stable(
            energies_wh,
            STABLE,
        ):
            return energies_wh
    return None


@pytest.mark.parametrize("deviation", [0.005, 0.01, 0.015, 0.02])
def test_the_interval_of_a_stable_series_holds_93_to_97_of_100(
    deviation: float,
) -> None:
    rng = np.random.default_rng(32)
    held = 0
    for _ in range(SERIES):
        energies_wh = ended(
            deviation,
            rng,
        )
        assert energies_wh is not None
        half_wh = half_of_mean(energies_wh)
        assert half_wh is not None
        held += abs(np.mean(energies_wh) - TRUE_WH) <= half_wh
    assert 0.93 - 0.008 <= held / SERIES <= 0.97 + 0.008


def test_a_series_is_stable_only_after_three_in_a_row() -> None:
    even = [1.0, 1.001, 0.999, 1.0, 1.001, 1.0, 1.0]
    counts = [
        count
        for count in range(
            1,
            8,
        )
        if is_stable(
            even[:count],
            STABLE,
        )
    ]
    assert counts == [7]
    assert not is_stable(
        [*even, 1.5],
        STABLE,
    )
    assert not is_stable(
        [],
        STABLE,
    )
