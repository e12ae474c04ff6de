"""Device facts from a made-up /proc and /sys."""

from __future__ import annotations

from pathlib import Path

from lpirc_client.harness.device import device_facts, temperature_c, throttle_count


def put(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_a_board_is_named_by_its_device_tree_else_by_its_processor(
    tmp_path: Path,
) -> None:
    put(tmp_path, proc__cpuinfo="processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n")
    assert device_facts(0, tmp_path)["processor"] == "Some CPU @ 2 GHz"
    put(tmp_path / "proc/device-tree", model="Raspberry Pi 4 Model B\0")
    assert device_facts(0, tmp_path)["processor"] == "Raspberry Pi 4 Model B"


def test_the_governor_is_that_of_the_core_in_use(tmp_path: Path) -> None:
    assert device_facts(1, tmp_path)["governor"] is None
    put(
        tmp_path / "sys/devices/system/cpu/cpu1/cpufreq",
        scaling_governor="performance\n",
    )
    assert device_facts(1, tmp_path)["governor"] == "performance"
    assert device_facts(0, tmp_path)["governor"] is None


def test_the_temperature_is_the_processors_else_the_highest(tmp_path: Path) -> None:
    assert temperature_c(tmp_path) is None
    thermal = tmp_path / "sys/class/thermal"
    put(thermal / "thermal_zone0", type="acpitz\n", temp="61000\n")
    put(thermal / "thermal_zone1", type="iwlwifi\n", temp="-5000\n")
    assert temperature_c(tmp_path) == 61.0
    put(thermal / "thermal_zone2", type="cpu-thermal\n", temp="48312\n")
    assert temperature_c(tmp_path) == 48.312


def test_throttling_is_summed_over_the_cores(tmp_path: Path) -> None:
    assert throttle_count(tmp_path) is None
    put(
        tmp_path / "sys/devices/system/cpu/cpu0/thermal_throttle",
        core_throttle_count="3\n",
    )
    put(
        tmp_path / "sys/devices/system/cpu/cpu1/thermal_throttle",
        core_throttle_count="4\n",
    )
    assert throttle_count(tmp_path) == 7
