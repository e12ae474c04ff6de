from __future__ import annotations

import math
import platform
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_power.errors import MeterError
from lpirc_power.home.rapl import Rapl, counted_uj, zones
from lpirc_power.meter import UNOFFICIAL
from lpirc_power.meter_standing import counts_by_identity

RANGE_UJ = 262143328850
Plant = Callable[[dict[str, object]], Path]


def zone(
    folder: str,
    name: str,
    energy_uj: int,
) -> dict[str, object]:
    place = f"class/powercap/{folder}"
    return {
        f"{place}/name": name,
        f"{place}/energy_uj": energy_uj,
        f"{place}/max_energy_range_uj": RANGE_UJ,
        f"{place}/enabled": 1,
    }


LAPTOP = {
    "class/powercap/intel-rapl/enabled": 1,
    **zone("intel-rapl:0", "package-0", 1_000_000),
    **zone("intel-rapl:0:0", "core", 500_000),
    **zone("intel-rapl:0:2", "dram", 70_000),
    **zone("intel-rapl:1", "psys", 5_000_000),
    **zone("intel-rapl-mmio:0", "package-0", 1_000_000),
}
SERVER = {
    **{
        k: v
        for n in range(12)
        for k, v in zone(f"intel-rapl:{n}", f"package-{n}", 0).items()
    },
    **zone("intel-rapl:0:0", "core", 0),
    **zone("intel-rapl:11:0", "core", 0),
}


def count(
    root: Path,
    folder: str,
    energy_uj: int,
) -> None:
    (root / "class/powercap" / folder / "energy_uj").write_text(f"{energy_uj}\n")


def test_zones_have_names_and_parts_know_their_package(plant: Plant) -> None:
    assert [str(zone) for zone in zones(plant(LAPTOP))] == [
        "package-0", "psys", "package-0/core", "package-0/dram"
    ]  # fmt: skip


def test_without_a_choice_every_package_counts_and_nothing_twice(plant: Plant) -> None:
    laptop = Rapl("", plant(LAPTOP))
    assert laptop.identity.serial == "package-0"
    assert laptop.identity.maker == UNOFFICIAL
    assert laptop.identity.model == "rapl"
    assert laptop.identity.firmware == platform.release()
    assert not counts_by_identity(laptop.identity)
    server = Rapl("", plant(SERVER))
    assert server.identity.serial == "+".join(
        f"package-{number}" for number in range(12)
    )


@pytest.mark.parametrize(
    ("choice", "serial"),
    [
        ("psys", "psys"),
        ("package-0", "package-0"),
        ("core", "package-0/core"),
        ("package-0/core", "package-0/core"),
        ("package-0+dram", "package-0+package-0/dram"),
    ],
)
def test_zones_are_chosen_by_name(
    plant: Plant,
    choice: str,
    serial: str,
) -> None:
    assert Rapl(choice, plant(LAPTOP)).identity.serial == serial


def test_a_name_that_several_packages_have_means_all_of_them(plant: Plant) -> None:
    serial = Rapl("core", plant(SERVER)).identity.serial
    assert serial == "package-0/core+package-11/core"


def test_energy_is_what_the_counters_counted_and_power_its_mean(plant: Plant) -> None:
    root = plant(LAPTOP)
    rapl = Rapl("package-0+dram", root)
    first = rapl.look(10.0)
    assert math.isnan(first.power_w)
    count(root, "intel-rapl:0", 1_000_000 + 36_000_000)
    count(root, "intel-rapl:0:2", 70_000 + 4_000_000)
    second = rapl.look(12.0)
    assert second.energy_wh - first.energy_wh == pytest.approx(40 / 3600, rel=1e-12)
    assert second.power_w == pytest.approx(20.0)
    assert math.isnan(second.voltage_v)
    assert math.isnan(second.current_a)


def test_a_look_right_after_another_keeps_the_power_and_loses_no_energy(
    plant: Plant,
) -> None:
    root = plant(LAPTOP)
    rapl = Rapl("", root)
    rapl.look(0.0)
    count(root, "intel-rapl:0", 3_000_000)
    assert rapl.look(1.0).power_w == pytest.approx(2.0)
    count(root, "intel-rapl:0", 4_000_000)
    third = rapl.look(1.001)
    assert third.power_w == pytest.approx(2.0)
    assert third.energy_wh == pytest.approx(3 / 3600)
    assert rapl.look(2.0).power_w == pytest.approx(1.0)


def test_a_counter_that_begins_anew_loses_nothing(plant: Plant) -> None:
    root = plant({**LAPTOP, **zone("intel-rapl:0", "package-0", RANGE_UJ - 1_000_000)})
    rapl = Rapl("", root)
    before = rapl.look(0.0)
    count(root, "intel-rapl:0", 2_000_000)
    assert rapl.look(1.0).energy_wh - before.energy_wh == pytest.approx(
        3 / 3600,
        rel=1e-12,
    )


@given(st.integers(1, 2**63), st.data())
def test_less_than_a_round_is_always_counted(
    range_uj: int,
    data: st.DataObject,
) -> None:
    before_uj = data.draw(st.integers(0, range_uj - 1))
    used_uj = data.draw(st.integers(0, range_uj - 1))
    assert counted_uj(before_uj, (before_uj + used_uj) % range_uj, range_uj) == used_uj


@given(st.lists(st.integers(0, 999), max_size=50), st.integers(0, 999))
def test_rounds_add_up(steps_uj: list[int], first_uj: int) -> None:
    counts_uj = [first_uj]
    for step_uj in steps_uj:
        counts_uj.append((counts_uj[-1] + step_uj) % 1000)
    pairs = pairwise(counts_uj)
    assert sum(
        counted_uj(before_uj, after_uj, 1000) for before_uj, after_uj in pairs
    ) == sum(steps_uj)


@pytest.mark.parametrize(
    "choice",
    ["gpu", "package-1", "core/package-0", "package-0+", "0"],
)
def test_a_zone_that_is_not_there_is_told_with_those_that_are(
    plant: Plant,
    choice: str,
) -> None:
    with pytest.raises(
        MeterError,
        match="package-0, psys, package-0/core, package-0/dram",
    ) as caught:
        Rapl(choice, plant(LAPTOP))
    assert caught.value.code == "meter-wrong-address"


@pytest.mark.parametrize("choice", ["package-0+core", "psys+package-0", "dram+dram"])
def test_energy_is_not_counted_twice(
    plant: Plant,
    choice: str,
) -> None:
    with pytest.raises(MeterError, match="counts energy twice") as caught:
        Rapl(choice, plant(LAPTOP))
    assert caught.value.code == "meter-wrong-address"


def test_a_machine_without_counters_says_so(plant: Plant) -> None:
    with pytest.raises(MeterError, match="shows no energy counters") as caught:
        Rapl("", plant({"class/thermal/x": ""}))
    assert caught.value.code == "meter-unreachable"


def test_a_machine_without_packages_names_what_it_has(plant: Plant) -> None:
    with pytest.raises(MeterError, match="after `rapl:` give one of psys"):
        Rapl("", plant(zone("intel-rapl:0", "psys", 0)))


def test_counters_for_root_only_are_told_with_the_remedy(
    open_folder: Path,
    request: pytest.FixtureRequest,
) -> None:
    place = open_folder / "class/powercap/intel-rapl:0"
    place.mkdir(parents=True)
    (place / "name").write_text("package-0\n")
    (place / "max_energy_range_uj").write_text(f"{RANGE_UJ}\n")
    (place / "energy_uj").write_text("1\n")
    (place / "energy_uj").chmod(0)
    request.getfixturevalue("unprivileged")
    with pytest.raises(MeterError) as caught:
        Rapl("", open_folder)
    assert caught.value.code == "meter-permission"
    assert "sudo chmod a+r" in caught.value.sentence
    assert 'SUBSYSTEM=="powercap"' in caught.value.sentence
    assert "\n" not in caught.value.sentence


def test_a_counter_that_goes_away_is_a_lost_meter(plant: Plant) -> None:
    root = plant(LAPTOP)
    rapl = Rapl("", root)
    path = root / "class/powercap/intel-rapl:0/energy_uj"
    path.unlink()
    with pytest.raises(MeterError, match="cannot be read") as caught:
        rapl.look(0.0)
    assert caught.value.code == "meter-lost"
    path.mkdir()
    with pytest.raises(MeterError, match="Is a directory"):
        rapl.look(0.0)
    path.rmdir()
    path.write_text("much\n")
    with pytest.raises(MeterError, match="'much'") as caught:
        rapl.look(0.0)
    assert caught.value.code == "meter-answer"
