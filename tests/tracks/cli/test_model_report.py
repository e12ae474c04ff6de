"""What people read of a measured model."""

from __future__ import annotations

from lpirc_tracks.cli.model_report import energy_rows

ENERGY = {
    "official": True,
    "inference_j": 0.012,
    "mean_power_w": 6.0,
    "idle_power_w": None,
    "inference_above_idle_j": None,
}


def test_the_idle_power_and_what_an_inference_adds_to_it_are_told_where_they_were_measured() -> (
    None
):
    told = [
        ("energy", "0.012 J an inference"),
        ("mean power", "6.000 W"),
    ]
    assert energy_rows(ENERGY) == told
    idle = [
        ("idle power", "4.000 W"),
        ("above idle", "0.004 J an inference"),
    ]
    assert (
        energy_rows(ENERGY | {"idle_power_w": 4.0, "inference_above_idle_j": 0.004})
        == told + idle
    )


def test_an_unofficial_meter_is_marked() -> None:
    assert energy_rows(ENERGY | {"official": False})[0][1].endswith(
        "(unofficial meter)"
    )
