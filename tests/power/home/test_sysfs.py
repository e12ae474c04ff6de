"""Whatever is in the files of a sensor, it is measured with or told as a MeterError."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_power.addresses.meter_address import MeterAddress
from lpirc_power.clocks import Clocks
from lpirc_power.errors import MeterError
from lpirc_power.home import sysfs
from lpirc_power.meter import Meter, Setup
from tests.forbidden import LOOP, loop_at
from tests.power.home.conftest import HandClock

Plant = Callable[[dict[str, object]], Path]
SENSOR = "class/hwmon/hwmon1"
ZONE = "class/powercap/intel-rapl:0"
FILES = {
    f"{SENSOR}/name": "ina219",
    f"{SENSOR}/in1_input": "5000",
    f"{SENSOR}/curr1_input": "400",
    f"{SENSOR}/power1_input": "2000000",
    f"{ZONE}/name": "package-0",
    f"{ZONE}/energy_uj": "1000",
    f"{ZONE}/max_energy_range_uj": "65532610987",
}
CONTENTS = st.one_of(
    st.sampled_from(
        [
            "",
            "-1",
            "1_0",
            "+7",
            "0x10",
            "1e3",
            "٣",
            "18446744073709551615",
            "9" * 400,
            "9" * 5000,
        ]
    ),
    st.integers().map(str),
    st.text(max_size=20),
)


def opened(
    address: str,
    root: Path,
    clocks: Clocks,
) -> Meter:
    """Return the meter of a machine whose sysfs is at `root`."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("METER_SYSFS", str(root))
        return MeterAddress(address).connect(clocks)


@pytest.mark.parametrize(
    "content",
    ["9" * 400, "9" * 21, "1_0", "1.5", "", "0x10", "٣"],
)
@pytest.mark.parametrize(
    ("address", "file"),
    [
        ("hwmon:", f"{SENSOR}/curr1_input"),
        ("rapl:", f"{ZONE}/energy_uj"),
    ],
)
def test_what_is_no_whole_number_is_told_with_file_and_content(
    plant: Plant,
    clocks: Clocks,
    address: str,
    file: str,
    content: str,
) -> None:
    root = plant({**FILES, file: content})
    with pytest.raises(MeterError) as caught:
        opened(address, root, clocks)
    assert caught.value.code == "meter-answer"
    assert str(root / file) in caught.value.sentence
    assert "holds '" in caught.value.sentence
    assert content.isascii() is (content[:20] in caught.value.sentence)
    assert len(caught.value.sentence) < 200 + len(str(root))


@given(changed=st.dictionaries(st.sampled_from(sorted(FILES)), CONTENTS, max_size=3))
@pytest.mark.parametrize("address", ["hwmon:", "rapl:"])
def test_a_sensor_fails_with_meter_errors_only(
    tmp_path_factory: pytest.TempPathFactory,
    address: str,
    changed: dict[str, str],
) -> None:
    root = tmp_path_factory.mktemp("sys")
    hand = HandClock()

    def put(files: dict[str, str]) -> None:
        for name, content in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(content, encoding="utf-8", errors="replace")

    put(FILES)
    meter = opened(address, root, hand.clocks())
    put(changed)
    with contextlib.suppress(MeterError):
        opened(address, root, hand.clocks()).read()
    meter.configure(Setup(None, None, 0.25, 0))
    for act in (
        meter.start,
        meter.read_update,
        meter.read_update,
        meter.stop,
        meter.read_final,
    ):
        hand.passes(0.5)
        with contextlib.suppress(MeterError):
            act()


@pytest.mark.usefixtures("as_on_python_3_14")
def test_a_folder_that_may_not_be_entered_is_told(
    open_folder: Path,
    request: pytest.FixtureRequest,
) -> None:
    (open_folder / "class" / "hwmon" / "hwmon1").mkdir(parents=True)
    (open_folder / "class" / "hwmon").chmod(0o444)
    request.getfixturevalue("unprivileged")
    with pytest.raises(MeterError, match="cannot be read") as caught:
        sysfs.folders(open_folder / "class" / "hwmon", "hwmon*")
    assert caught.value.code == "meter-lost"
    with pytest.raises(MeterError, match="cannot be read"):
        sysfs.exists(open_folder / "class" / "hwmon" / "hwmon1" / "name")


def test_a_folder_that_may_not_be_listed_is_told_and_not_taken_for_empty(
    open_folder: Path,
    request: pytest.FixtureRequest,
) -> None:
    (open_folder / "drivers" / "1-0040" / "iio:device0").mkdir(parents=True)
    (open_folder / "drivers" / "1-0040").chmod(0o111)
    request.getfixturevalue("unprivileged")
    with pytest.raises(MeterError, match="1-0040 cannot be read"):
        sysfs.folders(open_folder / "drivers", "*", "iio:device*")


def test_files_and_folders_that_are_not_there_are_no_failure(plant: Plant) -> None:
    root = plant(
        {
            "drivers/bind": "",
            "drivers/1-0041/iio:device10/name": "",
            "drivers/1-0041/iio:device2/name": "",
        }
    )
    assert sysfs.folders(root / "nowhere", "hwmon*") == []
    found = sysfs.folders(root / "drivers", "*", "iio:device*")
    assert [one.name for one in found] == ["iio:device2", "iio:device10"]
    assert not sysfs.exists(root / "drivers" / "bind" / "name")


def test_a_sensor_behind_a_loop_of_links_is_told(tmp_path: Path) -> None:
    with pytest.raises(MeterError, match=LOOP):
        sysfs.exists(loop_at(tmp_path / "name"))
    with pytest.raises(MeterError, match=LOOP):
        sysfs.folders(tmp_path, "name")
