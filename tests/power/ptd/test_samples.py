"""The lines of samples, from readings whose channels all differ."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime

from lpirc_power.channels import Channel, SummedReading, summed
from lpirc_power.meter import IntegratorState, Reading, Setup
from lpirc_power.ptd.device import Device
from lpirc_power.ptd.samples import listed, sample_of, summary
from lpirc_power.wt300.models import model_named

SETUP = Setup(300, 5, 1.0, 0, element="1+2")
TWO = Device(("1", "2"), (1, 2), is_multichannel=True)
LIMITS = model_named("WT333E").limits  # type: ignore[union-attr]
FIRST = Channel("1", 230.0, 1.0, 230.0, 207.0, 0.9, 0.1, False)
SECOND = Channel("2", 231.0, 0.5, 115.5, 92.4, 0.8, 0.2, False)
PLAIN = Reading(
    1.0, datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC), 230.0, 1.0, 230.0, 207.0, 0.9, 0.1, 1.0,
    IntegratorState.RESET, False, False, False,
)  # fmt: skip
TIME = "Time,01-02-2026 03:04:05.678"
SUM = f"{TIME},Watts,299.400000,Volts,-1.000000,Amps,-1.000000,PF,-1.000000"
CH1 = "Watts,207.000000,Volts,230.000000,Amps,1.000000,PF,0.900000"
CH2 = "Watts,92.400000,Volts,231.000000,Amps,0.500000,PF,0.800000"
NOTHING = "Watts,-1.000000,Volts,-1.000000,Amps,-1.000000,PF,-1.000000"


def reading(*channels: Channel) -> SummedReading:
    return summed(PLAIN, channels)


def test_a_sample_of_channels_is_their_sum_and_each_of_them() -> None:
    sample = sample_of(reading(FIRST, SECOND), TWO, SETUP, LIMITS)
    assert sample.line == SUM
    assert sample.logged("the_mark") == f"{SUM},Mark,the_mark,Ch1,{CH1},Ch2,{CH2}"
    assert (
        listed([sample], with_channels=True) == f"Last 1 samples\r\n{SUM},{CH1},{CH2}"
    )
    assert listed([sample], with_channels=False) == f"Last 1 samples\r\n{SUM}"
    assert (
        summary("Watts", [sample], 0) == "Watts,299.400000,299.400000,299.400000,1,0,1"
    )
    assert summary("Volts", [sample], 0).startswith("Volts,-1.000000,")


def test_the_log_numbers_channels_as_the_meter_does() -> None:
    device = Device(("2", "3"), (2, 3), is_multichannel=True)
    third = replace(SECOND, element="3")
    logged = sample_of(reading(FIRST, third), device, SETUP, LIMITS).logged("m")
    assert ",Mark,m,Ch2,Watts,207" in logged
    assert ",Ch3,Watts,92.4" in logged


def test_one_channel_of_a_multichannel_device_has_a_sum_too() -> None:
    device = Device(("2",), (2,), is_multichannel=True)
    sample = sample_of(PLAIN, device, replace(SETUP, element="2"), LIMITS)
    total = SUM.replace("299.4", "207.0")
    assert sample.logged("m") == f"{total},Mark,m,Ch2,{CH1}"


def test_the_limit_of_error_of_a_sum_is_the_sum_of_its_channels_limits() -> None:
    both = sample_of(reading(FIRST, SECOND), TWO, SETUP, LIMITS).uncertainty
    alone = Device(("1",), (1,), is_multichannel=True)
    one = sample_of(reading(FIRST), alone, SETUP, LIMITS).uncertainty
    other = sample_of(reading(SECOND), alone, SETUP, LIMITS).uncertainty
    assert both is not None
    assert one is not None
    assert other is not None
    assert math.isclose(both * 299.4, one * 207.0 + other * 92.4)


def test_a_clipped_channel_spoils_the_sum_and_not_the_other_channel() -> None:
    clipped = replace(SECOND, is_flagged=True)
    sample = sample_of(reading(FIRST, clipped), TWO, SETUP, LIMITS)
    assert sample.is_bad
    assert sample.logged("m") == f"{TIME},{NOTHING},Mark,m,Ch1,{CH1},Ch2,{NOTHING}"
    assert summary("Watts", [sample], 0).endswith(",1,1,0")


def test_a_channel_without_a_load_has_no_power_factor_and_spoils_nothing() -> None:
    idle = Channel("2", 231.0, 0.0, 0.0, 0.0, math.inf, 0.0, False)
    sample = sample_of(reading(FIRST, idle), TWO, SETUP, LIMITS)
    assert not sample.is_bad
    assert sample.line.startswith(f"{TIME},Watts,207.000000,Volts,-1")
    assert sample.logged("m").endswith(
        "Watts,0.000000,Volts,231.000000,Amps,0.000000,PF,-1.000000"
    )


def test_a_channel_without_data_or_over_range_is_a_bad_sample() -> None:
    for value in (math.nan, math.inf):
        lost = replace(SECOND, power_w=value, current_a=value)
        assert sample_of(reading(FIRST, lost), TWO, SETUP, LIMITS).is_bad


def test_a_meter_of_unknown_accuracy_has_no_uncertainty() -> None:
    assert sample_of(reading(FIRST, SECOND), TWO, SETUP, None).uncertainty is None
