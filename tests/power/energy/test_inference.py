from __future__ import annotations

import math
from dataclasses import replace

import pytest

from lpirc_power.energy.inference import inference_energy
from lpirc_power.errors import EnergyUnmeasured
from lpirc_power.meter import Identity, Reading
from tests.referee.factories import reading

METER = Identity("YOKOGAWA", "WT310", "C2VC", "F1.04")


def readings(
    power_w: float = 36.0,
    count: int = 41,
) -> list[Reading]:
    """One each tenth of a second from 100 s on."""
    return [
        replace(reading(), monotonic_s=100 + n / 10, power_w=power_w)
        for n in range(count)
    ]


def complaint(
    *changed: Reading,
    start_s: float = 101.0,
    end_s: float = 103.0,
) -> str:
    with pytest.raises(EnergyUnmeasured) as failure:
        inference_energy(changed or readings(), start_s, end_s, 100, METER, None)
    assert failure.value.code == "energy-unmeasured"
    return failure.value.sentence


def test_an_inference_has_its_share_of_the_loops_energy() -> None:
    energy = inference_energy(readings(), 101.0, 103.0, 1000, METER, None)
    assert energy["loop_wh"] == pytest.approx(36 * 2 / 3600)
    assert energy["inference_j"] == pytest.approx(0.072)
    assert energy["inference_wh"] == pytest.approx(2e-5)
    assert energy["mean_power_w"] == pytest.approx(36)
    assert energy["idle_power_w"] is None
    assert energy["inference_above_idle_j"] is None
    assert energy["meter"] == "YOKOGAWA WT310 C2VC F1.04"
    assert energy["official"] is True


def test_only_what_was_read_in_the_loop_counts() -> None:
    before = [replace(one, power_w=1000.0) for one in readings(count=8)]
    energy = inference_energy(
        [*before, *readings()[8:]],
        101.0,
        103.0,
        1000,
        METER,
        None,
    )
    assert energy["mean_power_w"] == pytest.approx(36)


def test_above_idle_is_what_the_inference_adds() -> None:
    energy = inference_energy(readings(), 101.0, 103.0, 1000, METER, 30.0)
    assert energy["inference_above_idle_j"] == pytest.approx(6 * 2 / 1000)


def test_a_loop_with_too_few_readings_tells_no_energy() -> None:
    assert "only 9 readings fell into its 0.8 s; make the loop longer" in complaint(
        start_s=101,
        end_s=101.85,
    )


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"over_range": True}, "over range or clipped"),
        ({"current_peak_over": True}, "over range or clipped"),
        ({"voltage_peak_over": True}, "over range or clipped"),
        ({"power_w": math.nan}, "a reading had no data"),
        (
            {"changed": ":HOLD OFF was set, it is 1"},
            "settings changed during the loop (:HOLD OFF was set, it is 1)",
        ),
    ],
)
def test_a_doubtful_reading_in_the_loop_tells_no_energy(
    changes: dict[str, object],
    told: str,
) -> None:
    doubtful = readings()
    doubtful[20] = replace(doubtful[20], **changes)  # type: ignore[arg-type]
    assert told in complaint(*doubtful)
    doubtful = readings()
    doubtful[2] = replace(doubtful[2], **changes)  # type: ignore[arg-type]
    inference_energy(doubtful, 101.0, 103.0, 1000, METER, None)


def test_a_loop_of_which_two_seconds_were_not_seen_tells_no_energy() -> None:
    taken = readings(count=101)
    assert "nothing was read for 2.2 s" in complaint(
        *taken[:40],
        *taken[61:],
        end_s=109.0,
    )
    assert "nothing was read for 4.0 s" in complaint(*taken[:51], end_s=109.0)
    inference_energy([*taken[:40], *taken[58:]], 101.0, 109.0, 1000, METER, None)


def test_no_power_is_no_energy() -> None:
    assert "the meter read 0 Wh" in complaint(*readings(0.0))
