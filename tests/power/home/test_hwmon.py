from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from lpirc_power.errors import MeterError
from lpirc_power.home.hwmon import Hwmon, channels
from lpirc_power.meter import UNOFFICIAL

Plant = Callable[[dict[str, object]], Path]
HWMON = "class/hwmon"


def ina3221(folder: str, rails: dict[int, tuple[str, int, int]]) -> dict[str, object]:
    """Mainline's layout: label, mV, mA of each channel; shunt voltages and sums beside them."""
    place = f"{HWMON}/{folder}"
    files: dict[str, object] = {
        f"{place}/name": "ina3221",
        f"{place}/in7_label": "sum of shunt voltages",
    }
    for number, (label, millivolts, milliamperes) in rails.items():
        files |= {
            f"{place}/in{number}_label": label,
            f"{place}/in{number}_enable": 1,
            f"{place}/in{number}_input": millivolts,
            f"{place}/curr{number}_input": milliamperes,
            f"{place}/in{number + 3}_input": 8,
        }
    return files | {f"{place}/in7_input": 20, f"{place}/curr4_input": 4000}


XAVIER_NX = {
    f"{HWMON}/hwmon0/name": "thermal_fan_est",
    **ina3221(
        "hwmon4",
        {
            1: ("VDD_IN", 4976, 1200),
            2: ("VDD_CPU_GPU_CV", 4960, 400),
            3: ("VDD_SOC", 4968, 300),
        },
    ),
}
AGX_ORIN = {
    **ina3221(
        "hwmon3",
        {
            1: ("VDD_GPU_SOC", 19904, 200),
            2: ("VDD_CPU_CV", 19896, 100),
            3: ("VIN_SYS_5V0", 5008, 900),
        },
    ),
    **ina3221(
        "hwmon10",
        {
            1: ("NC", 0, 0),
            2: ("VDDQ_VDD2_1V8AO", 19904, 50),
            3: ("NC", 0, 0),
        },
    ),
}
INA219 = {
    f"{HWMON}/hwmon1/name": "ina219",
    f"{HWMON}/hwmon1/in0_input": 12,
    f"{HWMON}/hwmon1/in1_input": 5000,
    f"{HWMON}/hwmon1/curr1_input": 400,
    f"{HWMON}/hwmon1/power1_input": 1_980_000,
}
TX2 = {
    "bus/i2c/drivers/ina3221x/0-0041/iio:device1/rail_name_0": "VDD_IN",
    "bus/i2c/drivers/ina3221x/0-0041/iio:device1/in_voltage0_input": 19152,
    "bus/i2c/drivers/ina3221x/0-0041/iio:device1/in_current0_input": 160,
    "bus/i2c/drivers/ina3221x/0-0041/iio:device1/in_power0_input": 3064,
    "bus/i2c/drivers/ina3221x/0-0041/iio:device1/rail_name_1": "VDD_SYS_CPU",
    "bus/i2c/drivers/ina3221x/0-0041/iio:device1/in_voltage1_input": 19144,
    "bus/i2c/drivers/ina3221x/0-0041/iio:device1/in_current1_input": 20,
    "bus/i2c/drivers/ina3221x/0-0041/iio:device1/in_power1_input": 382,
}


def put(
    root: Path,
    name: str,
    value: int,
) -> None:
    (root / name).write_text(f"{value}\n")


def test_channels_are_bus_voltages_with_their_currents(plant: Plant) -> None:
    assert [str(channel) for channel in channels(plant(XAVIER_NX))] == [
        "ina3221/VDD_IN", "ina3221/VDD_CPU_GPU_CV", "ina3221/VDD_SOC"
    ]  # fmt: skip


def test_channels_that_lead_nowhere_are_left_out(plant: Plant) -> None:
    root = plant({**AGX_ORIN, f"{HWMON}/hwmon3/in2_enable": 0})
    assert [channel.label for channel in channels(root)] == [
        "VDD_GPU_SOC",
        "VIN_SYS_5V0",
        "VDDQ_VDD2_1V8AO",
    ]


@pytest.mark.parametrize(
    ("files", "choice", "serial"),
    [
        (XAVIER_NX, "", "ina3221/VDD_IN"),
        (XAVIER_NX, "ina3221", "ina3221/VDD_IN"),
        (XAVIER_NX, "ina3221/VDD_SOC", "ina3221/VDD_SOC"),
        (XAVIER_NX, "hwmon4/vdd_soc", "ina3221/VDD_SOC"),
        (XAVIER_NX, "VDD_SOC", "ina3221/VDD_SOC"),
        (TX2, "", "ina3221/VDD_IN"),
        (TX2, "0-0041/VDD_SYS_CPU", "ina3221/VDD_SYS_CPU"),
        (INA219, "", "ina219/1"),
        (INA219, "ina219", "ina219/1"),
        (AGX_ORIN, "hwmon10", "ina3221/VDDQ_VDD2_1V8AO"),
        (AGX_ORIN, "VDD_GPU_SOC+VDD_CPU_CV", "ina3221/VDD_GPU_SOC+ina3221/VDD_CPU_CV"),
    ],
)
def test_channels_are_chosen_by_name(
    plant: Plant,
    files: dict[str, object],
    choice: str,
    serial: str,
) -> None:
    identity = Hwmon(choice, plant(files)).identity
    assert identity.maker == UNOFFICIAL
    assert identity.model == "hwmon"
    assert identity.serial == serial


def test_a_channel_without_a_power_of_its_own_multiplies(plant: Plant) -> None:
    sample = Hwmon("", plant(XAVIER_NX)).look(0.0)
    assert sample.voltage_v == 4.976
    assert sample.current_a == 1.2
    assert sample.power_w == pytest.approx(5.9712)
    assert sample.power_factor == pytest.approx(1.0)


def test_the_power_of_the_chip_is_preferred(plant: Plant) -> None:
    sample = Hwmon("", plant(INA219)).look(0.0)
    assert sample.power_w == 1.98
    assert sample.apparent_va == pytest.approx(2.0)
    assert sample.power_factor == pytest.approx(0.99)


def test_the_older_layout_of_jetson_boards_has_milliwatts(plant: Plant) -> None:
    sample = Hwmon("", plant(TX2)).look(0.0)
    assert sample.voltage_v == 19.152
    assert sample.current_a == 0.16
    assert sample.power_w == 3.064


def test_of_a_sum_only_the_power_is_known(plant: Plant) -> None:
    sample = Hwmon("VDD_GPU_SOC+VDD_CPU_CV+VIN_SYS_5V0", plant(AGX_ORIN)).look(0.0)
    assert sample.power_w == pytest.approx(19.904 * 0.2 + 19.896 * 0.1 + 5.008 * 0.9)
    assert math.isnan(sample.voltage_v)
    assert math.isnan(sample.current_a)
    assert math.isnan(sample.power_factor)


def test_energy_is_the_trapezoid_from_look_to_look(plant: Plant) -> None:
    root = plant(INA219)
    hwmon = Hwmon("", root)
    first = hwmon.look(5.0)
    put(root, f"{HWMON}/hwmon1/power1_input", 4_020_000)
    second = hwmon.look(7.0)
    assert second.energy_wh - first.energy_wh == pytest.approx(
        (1.98 + 4.02) / 2 * 2 / 3600
    )
    third = hwmon.look(17.0)
    assert third.energy_wh - second.energy_wh == pytest.approx(4.02 * 10 / 3600)


def test_without_current_there_is_no_power_factor(plant: Plant) -> None:
    dark = {
        **INA219,
        f"{HWMON}/hwmon1/curr1_input": 0,
        f"{HWMON}/hwmon1/power1_input": 0,
    }
    assert math.isnan(Hwmon("", plant(dark)).look(0.0).power_factor)


@pytest.mark.parametrize(
    ("files", "choice", "said"),
    [
        (
            XAVIER_NX,
            "ina226",
            "ina3221/VDD_IN, ina3221/VDD_CPU_GPU_CV, ina3221/VDD_SOC",
        ),
        (XAVIER_NX, "ina3221/VDD_GPU", "is not a channel"),
        (AGX_ORIN, "", "may be any of several"),
        (AGX_ORIN, "ina3221", "VDD_GPU_SOC"),
        (XAVIER_NX, "VDD_SOC+vdd_soc", "twice"),
    ],
)
def test_a_choice_that_is_none_is_told_with_those_there_are(
    plant: Plant,
    files: dict[str, object],
    choice: str,
    said: str,
) -> None:
    with pytest.raises(MeterError) as caught:
        Hwmon(choice, plant(files))
    assert caught.value.code == "meter-wrong-address"
    assert said in caught.value.sentence


def test_chips_of_one_name_are_told_apart_by_their_folders(plant: Plant) -> None:
    second = {
        name.replace("hwmon1/", "hwmon2/"): content for name, content in INA219.items()
    }
    root = plant({**INA219, **second})
    with pytest.raises(MeterError, match="hwmon1/1, hwmon2/1"):
        Hwmon("ina219", root)
    assert Hwmon("hwmon2/1", root).identity.serial == "hwmon2/1"


def test_a_machine_without_sensors_says_so(plant: Plant) -> None:
    with pytest.raises(MeterError, match="shows no INA current sensor") as caught:
        Hwmon("", plant({f"{HWMON}/hwmon0/name": "coretemp"}))
    assert caught.value.code == "meter-unreachable"


def test_a_sensor_for_root_only_is_told_with_the_remedy(
    open_folder: Path,
    request: pytest.FixtureRequest,
) -> None:
    for name, content in INA219.items():
        path = open_folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}\n")
        path.chmod(0o444)
    (open_folder / HWMON / "hwmon1/curr1_input").chmod(0)
    request.getfixturevalue("unprivileged")
    with pytest.raises(
        MeterError,
        match=r"curr1_input may not be read by this user; to allow that, run `sudo chmod a\+r`",
    ) as caught:
        Hwmon("", open_folder)
    assert caught.value.code == "meter-permission"


def test_a_sensor_that_was_taken_off_is_a_lost_meter(plant: Plant) -> None:
    root = plant(INA219)
    hwmon = Hwmon("", root)
    (root / HWMON / "hwmon1/curr1_input").unlink()
    with pytest.raises(MeterError, match="No such file") as caught:
        hwmon.look(0.0)
    assert caught.value.code == "meter-lost"
