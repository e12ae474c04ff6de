"""Meters by address scheme: one of another maker as a process of its own, and drivers that are broken."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.addresses.driver_registry import GROUP, problems
from lpirc_power.addresses.meter_address import (
    MeterAddress,
    is_loopback,
    limits_of,
    open_meter,
    standing,
)
from lpirc_power.clocks import Clocks
from lpirc_power.energy import Measurement, energy_of
from lpirc_power.energy.accuracy_checks import accuracy
from lpirc_power.errors import MeterError
from lpirc_power.meter import Identity, Setup
from lpirc_power.meter_standing import Standing
from lpirc_power.sampling.sampler import Sampler
from tests.plugins_installed import Installer, plugins_in
from tests.power.plug import MODEL, POWER_W, plugged

SAMPLE = Path(__file__).parents[2] / "plugin_sample" / "lpirc_sample" / "meters.py"
MINIMAL = """
from lpirc_power.scheme import Scheme

class Minimal(Scheme):
    def connect(self, clocks):
        return {returned}
"""


@pytest.fixture
def installer(tmp_path: Path) -> Iterator[Installer]:
    with plugins_in(tmp_path) as found:
        yield found


@pytest.fixture
def shelly(installer: Installer) -> None:
    source = SAMPLE.read_text("utf-8")
    installer.install("shelly_meters", GROUP, "shelly = shelly_meters:Shelly", source)


@pytest.fixture
def plug() -> Iterator[str]:
    with plugged() as host:
        yield host


def meter(
    installer: Installer,
    *arguments: str,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Run the command `meter` as users do, beside the plug-ins."""
    return subprocess.run(
        [sys.executable, "-m", "lpirc_power", *arguments],
        env=os.environ | {"PYTHONPATH": str(installer.folder)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.usefixtures("shelly")
def test_a_meter_of_a_scheme_works_with_the_commands(
    installer: Installer,
    plug: str,
    tmp_path: Path,
) -> None:
    address = f"shelly:{plug}"
    probed = meter(installer, "probe", address, "--json")
    assert probed.returncode == 0, probed.stderr
    found = json.loads(probed.stdout)
    assert found["identity"]["maker"] == "SHELLY"
    assert found["identity"]["model"] == MODEL
    assert found["identity"]["standing"] == "other-maker"
    out = tmp_path / "run.csv"
    recorded = meter(
        installer, "record", address, "--duration", "1.5", "-o", str(out), "--json"
    )
    assert recorded.returncode == 0, recorded.stderr
    energy = json.loads(recorded.stdout)
    assert energy["mean_power_w"] == pytest.approx(POWER_W, rel=0.25)
    assert energy["accuracy"]["percent"] > 1.3  # and more for a start that took long
    assert out.read_text("utf-8").count("\n") > 3
    listed = meter(installer, "find", SHELLY_PLUGS=f"{plug} plug.example")
    assert listed.returncode == 0, listed.stderr
    assert f"{address}\n  *IDN?   not asked: listed by its driver" in listed.stdout
    assert "shelly:plug.example" in listed.stdout


@pytest.mark.usefixtures("shelly")
def test_a_driver_states_its_limits_and_a_meter_without_any_has_an_energy_without_uncertainty(
    plug: str,
    until: Any,
) -> None:
    assert limits_of("another plug") is None
    limits = limits_of(MODEL)
    assert limits is not None
    readings: list[Any] = []
    setup = Setup(None, None, 0.1, 600)
    clock = time.monotonic
    sampler = Sampler(
        f"shelly:{plug}",
        setup,
        readings.append,
        clock,
        lambda: datetime.now(UTC),
    )
    with contextlib.closing(sampler):
        assert sampler.arm().maker == "SHELLY"
        sampler.start()
        until(lambda: len(readings) >= 3)
        final = sampler.stop()
    counted = (final.energy_wh, final.integrator_s, readings[0].monotonic_s)
    for stated, said in (
        (limits, "The meter's limit of error is 1.39"),
        (
            None,
            "No driver states this meter's limits of error: the uncertainty of its energy is unknown",
        ),
    ):
        measured = Measurement(*counted, final.monotonic_s, setup, MODEL, stated)
        energy = energy_of(readings, measured)
        assert accuracy(energy).sentence.startswith(said)
        assert (energy.meter_limit is None) == (stated is None)


@pytest.mark.usefixtures("shelly")
def test_a_second_maker_counts_only_where_the_contest_names_it(plug: str) -> None:
    found = Identity("SHELLY", MODEL, "one", "1.4")
    far = "shelly:192.168.1.30"
    near = f"shelly:{plug}"
    both = ("YOKOGAWA", " Shelly ")
    assert standing(found, far) is Standing.OTHER_MAKER
    assert standing(found, far, official_makers=both) is Standing.OFFICIAL
    assert standing(found, near, official_makers=both) is Standing.LOOPBACK
    of_yokogawa = Identity("YOKOGAWA", "WT310", "C2PH13047V", "F1.03")
    only = ("SHELLY",)
    assert standing(of_yokogawa, far, official_makers=only) is Standing.OTHER_MAKER
    other_model = Identity("SHELLY", "X", "one", "1")
    unknown = standing(other_model, far, official_makers=both)
    assert unknown is Standing.UNKNOWN_MODEL


def test_no_list_of_makers_makes_a_simulated_meter_official(clocks: Clocks) -> None:
    every = ("YOKOGAWA", "UNOFFICIAL", "SIMULATED", "")
    simulated = Identity("YOKOGAWA", "WT310", "SIMULATED", "F1.03")
    genuine = Identity("YOKOGAWA", "WT310", "C2PH13047V", "F1.03")
    at_home = Identity("UNOFFICIAL", "rapl", "package-0", "6.1")
    far = "TCPIP::192.168.1.20::INSTR"
    assert standing(simulated, far, official_makers=every) is Standing.SIMULATED
    for address in ("sim:", "sim:constant:5W", "rapl:", "hwmon:x"):
        found = standing(genuine, address, loopback_meter=True, official_makers=every)
        assert found is Standing.SIMULATED
    assert standing(at_home, "rapl:", official_makers=every) is Standing.OTHER_MAKER


def test_a_maker_whose_name_has_blanks_is_one_word_on_record() -> None:
    found = Identity("ZES ZIMMER", "LMG 610", "07 11", "1.0 beta")
    read = Identity.parse(str(found))
    assert str(read) == str(found) == "ZES_ZIMMER LMG_610 07_11 1.0 beta"
    far = "shelly:192.168.1.30"
    for one in (found, read):
        standing_of_it = standing(one, far, official_makers=("zes zimmer",))
        assert standing_of_it is Standing.UNKNOWN_MODEL


def test_limits_of_a_model_whose_name_has_blanks_are_found_by_its_name_on_record(
    installer: Installer,
) -> None:
    source = WRONG.replace(
        "return 0.01", 'return LIMITS if model == "LMG 610" else None'
    )
    source = source.replace("class Sensor:", f"{LIMITS}class Sensor:")
    installer.install("zes_lmg", GROUP, "lmg = zes_lmg:Minimal", source)
    found = limits_of("LMG 610")
    assert found is not None
    assert limits_of("LMG_610") == found
    assert limits_of("LMG_611") is None


def test_an_unknown_scheme_is_named_with_those_that_are_installed() -> None:
    with pytest.raises(MeterError) as caught:
        MeterAddress("joulescope:001234")
    assert caught.value.code == "meter-wrong-address"
    said = "No driver is installed for the scheme joulescope, only for hwmon, rapl, sim"
    assert said in caught.value.sentence
    with pytest.raises(MeterError) as caught:
        MeterAddress("joulescope:192.168.1.30:80")
    assert said in caught.value.sentence
    assert "install the one that has it" in caught.value.sentence


def test_two_distributions_with_one_scheme_are_both_named_and_stop_no_other(
    installer: Installer,
    clocks: Clocks,
) -> None:
    for name in ("one_maker", "other_maker"):
        source = MINIMAL.format(returned=None)
        installer.install(name, GROUP, f"joulescope = {name}:Minimal", source)
    with pytest.raises(MeterError) as caught:
        MeterAddress("joulescope:001234")
    assert caught.value.code == "meter-driver"
    assert caught.value.sentence == (
        "Two distributions offer the scheme 'joulescope': lpirc.meters joulescope = one_maker:Minimal of one_maker 1.0 "
        "and lpirc.meters joulescope = other_maker:Minimal of other_maker 1.0; uninstall one of them."
    )
    assert problems() == (caught.value.sentence,)
    with open_meter("sim:", clocks) as opened:
        assert opened.identity.maker == "YOKOGAWA"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise RuntimeError('half installed')", "RuntimeError: half installed."),
        ("import sys; sys.exit('no licence')", "SystemExit: no licence."),
        ("x = 1", "has no attribute 'Minimal'"),
        ("Minimal = 5", "it is neither a Scheme nor a driver of VISA meters"),
        (
            "from lpirc_power.scheme import Scheme\nclass Minimal(Scheme): pass",
            "it is a Scheme without connect.",
        ),
    ],
)
def test_a_driver_that_cannot_be_used_is_named_and_stops_no_other(
    installer: Installer,
    clocks: Clocks,
    plug: str,
    request: pytest.FixtureRequest,
    source: str,
    said: str,
) -> None:
    installer.install("acme_js", GROUP, "joulescope = acme_js:Minimal", source)
    request.getfixturevalue("shelly")
    with pytest.raises(MeterError) as caught:
        MeterAddress("joulescope:001234")
    assert caught.value.code == "meter-driver"
    begins = "The plug-in lpirc.meters joulescope = acme_js:Minimal of acme_js 1.0 "
    assert caught.value.sentence.startswith(f"{begins}cannot be used: ")
    assert said in caught.value.sentence
    assert problems() == (caught.value.sentence,)
    with open_meter(f"shelly:{plug}", clocks) as opened:
        assert opened.read().power_w == POWER_W
    assert limits_of("WT310") is not None


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ("None", "opens NoneType objects, which are not meters: they lack attach"),
        ("1 / 0", "failed to open joulescope:1: ZeroDivisionError: division by zero."),
    ],
)
def test_what_a_driver_opens_must_be_a_meter(
    installer: Installer,
    clocks: Clocks,
    returned: str,
    said: str,
) -> None:
    source = MINIMAL.format(returned=returned)
    installer.install("acme_js", GROUP, "joulescope = acme_js:Minimal", source)
    with (
        contextlib.closing(MeterAddress("joulescope:1")) as address,
        pytest.raises(MeterError) as caught,
    ):
        address.connect(clocks)
    assert caught.value.code == "meter-driver"
    assert said in caught.value.sentence


LIMITS = """
from lpirc_power.meter import Limits

LIMITS = Limits(0.001, 0.0, 0.0, 0.0, 10.0)

"""
WRONG = """
from lpirc_power.home.meter import HomeMeter, Sample
from lpirc_power.meter import Identity
from lpirc_power.scheme import Scheme

class Sensor:
    identity = Identity("ACME", "JS", "1", "1")
    def look(self, now_s):
        return Sample(now_s / 3600, now_s, 1.0)

class Wrong(HomeMeter):
    def read(self):
        return {"power_w": 36.0}
    def read_update(self):
        return (self.state(), "yes")
    def peaks(self):
        raise KeyError("peak")

class Minimal(Scheme):
    def connect(self, clocks):
        return Wrong(Sensor(), clocks)
    def close(self):
        raise OSError("it is gone")
    @staticmethod
    def limits(model):
        return 0.01
    @staticmethod
    def find():
        return ["acme"]
"""


def test_what_a_meter_returns_must_be_what_the_protocol_says(
    installer: Installer,
    clocks: Clocks,
    caplog: pytest.LogCaptureFixture,
) -> None:
    installer.install("acme_js", GROUP, "joulescope = acme_js:Minimal", WRONG)
    plugin = "The plug-in lpirc.meters joulescope = acme_js:Minimal of acme_js 1.0"
    with open_meter("joulescope:1", clocks) as opened:
        for call, said in (
            (opened.read, "returns {'power_w': 36.0} from `read` instead of Reading."),
            (
                opened.read_update,
                "from `read_update` instead of a tuple of Reading and bool",
            ),
            (opened.peaks, "failed to do `peaks`: KeyError: 'peak'."),
        ):
            with pytest.raises(MeterError) as caught:
                call()
            assert caught.value.code == "meter-driver"
            assert caught.value.sentence.startswith(plugin)
            assert said in caught.value.sentence
    assert f"{plugin} failed to close joulescope:1: OSError: it is gone." in caplog.text
    assert limits_of("JS") is None
    assert f"{plugin} returns 0.01 from `limits`" in caplog.text
    listed = meter(installer, "find")
    not_searched = listed.stderr.split("Not searched: ")[1]
    assert f"{plugin} failed to list its meters: TypeError" in not_searched


EXITS = """
import sys
from lpirc_power.scheme import Scheme

class Exits(Scheme):
    def connect(self, clocks):
        sys.exit(0)
    def close(self):
        sys.exit(0)
    @staticmethod
    def find():
        sys.exit(0)
    @staticmethod
    def limits(model):
        sys.exit(0)
    @staticmethod
    def is_simulated(rest):
        raise ValueError(rest)
    is_loopback = limits
"""


def test_a_driver_that_exits_ends_nothing_and_counts_in_no_contest(
    installer: Installer,
    clocks: Clocks,
    caplog: pytest.LogCaptureFixture,
) -> None:
    installer.install("acme_js", GROUP, "joulescope = acme_js:Exits", EXITS)
    plugin = "The plug-in lpirc.meters joulescope = acme_js:Exits of acme_js 1.0"
    with (
        contextlib.closing(MeterAddress("joulescope:1")) as address,
        pytest.raises(MeterError, match="failed to open joulescope:1: SystemExit: 0"),
    ):
        address.connect(clocks)
    assert f"{plugin} failed to close joulescope:1: SystemExit: 0." in caplog.text
    assert limits_of("JS") is None
    genuine = Identity("YOKOGAWA", "WT310", "1", "1")
    assert standing(genuine, "joulescope:1") is Standing.SIMULATED
    assert f"{plugin} failed to do `is_simulated`: ValueError: 1." in caplog.text
    assert is_loopback("joulescope:1")
    listed = meter(installer, "find")
    not_searched = listed.stderr.split("Not searched: ")[1]
    assert f"{plugin} failed to list its meters: SystemExit" in not_searched


def test_a_driver_without_a_search_is_not_said_to_be_searched(
    installer: Installer,
) -> None:
    source = MINIMAL.format(returned=None)
    installer.install("my_plug", GROUP, "homesensor = my_plug:Minimal", source)
    told = meter(installer, "find").stderr
    searched, _, not_searched = told.partition("Not searched: ")
    assert "homesensor" not in searched
    assert "homesensor:, whose driver has no search" in not_searched


def test_a_built_in_scheme_cannot_be_taken_over(
    installer: Installer,
    clocks: Clocks,
) -> None:
    source = MINIMAL.format(returned=None)
    installer.install("acme_js", GROUP, "sim = acme_js:Minimal", source)
    with open_meter("sim:", clocks) as opened:
        assert opened.identity.is_simulated
    (said,) = problems()
    assert said.startswith("The scheme 'sim' is built in, so lpirc.meters sim = ")
