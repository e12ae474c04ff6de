"""A measurement, what differs given by name, and its checks by their codes.

All for the session: hypothesis takes no fixture that is made for one test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.energy import Check, Measurement, energy_checks
from lpirc_power.meter import Reading, Setup

SOUND = Measurement(
    integrator_wh=6.0 * 10 / 3600,
    integrator_s=10.0,
    start_s=0.0,
    end_s=10.0,
    setup=Setup(
        voltage_range_v=150.0,
        current_range_a=0.1,
        update_interval_s=1.0,
        integrator_timer_s=10,
    ),
    model="WT310E",
    limits=limits_of("WT310E"),
)


@pytest.fixture(scope="session")
def measurement() -> Callable[..., Measurement]:
    """Ten seconds of 6 W by a WT310E in the ranges 150 V and 0.1 A; `setup` takes what differs in the setup.

    `power_w` is another mean power of the energy.
    """

    def make(
        setup: dict[str, object] | None = None,
        power_w: float = 6.0,
        **different: object,
    ) -> Measurement:
        made = replace(SOUND, setup=replace(SOUND.setup, **(setup or {})))  # type: ignore[arg-type]
        made = replace(made, **({"integrator_wh": power_w * 10 / 3600} | different))  # type: ignore[arg-type]
        return replace(made, limits=limits_of(made.model))

    return make


@pytest.fixture(scope="session")
def checks() -> Callable[[Sequence[Reading], Measurement], dict[str, Check]]:
    """The checks of a measurement, by their codes."""
    return lambda readings, measured: {
        check.code: check for check in energy_checks(readings, measured)
    }
