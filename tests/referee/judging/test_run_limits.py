"""A run's limits of error are those of the driver that measured it."""

from __future__ import annotations

import pytest

from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.meter_standing import Standing
from referee.judging.run_limits import limits_of_run
from tests.referee.factories import run_record


def test_another_makers_meter_with_the_name_of_a_known_model_has_none_of_its_limits() -> (
    None
):
    run = run_record(
        meter_identity="ACME WT310 1 F1.03", meter_standing=Standing.OTHER_MAKER
    )
    assert limits_of_run(run) is None


@pytest.mark.parametrize(
    ("standing", "has_limits"),
    [
        (Standing.OFFICIAL, True),
        (Standing.SIMULATED, True),
        (Standing.UNKNOWN_MODEL, False),
        (None, True),  # a run of an earlier form
    ],
)
def test_a_model_whose_own_driver_stated_nothing_has_no_limits_by_its_name(
    standing: Standing | None, has_limits: bool
) -> None:
    run = run_record(meter_identity="YOKOGAWA WT310 1 F1.03", meter_standing=standing)
    assert limits_of_run(run) == (limits_of("WT310") if has_limits else None)
