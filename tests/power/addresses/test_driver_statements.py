"""What a driver states is looked at before it is used: limits of error, samples, and whose they are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.addresses.driver_registry import GROUP
from lpirc_power.addresses.meter_address import (
    limits_at,
    limits_by_identity,
    limits_of,
    open_meter,
    standing,
)
from lpirc_power.clocks import Clocks
from lpirc_power.errors import MeterError
from lpirc_power.meter import Identity
from lpirc_power.meter_standing import Standing
from tests.plugins_installed import Installer, plugins_in

BENCH = """
import os
from dataclasses import replace
from lpirc_power.home.meter import HomeMeter, Sample
from lpirc_power.meter import Identity, Limits
from lpirc_power.own_term import OwnTerm
from lpirc_power.scheme import Scheme

class Sensor:
    identity = Identity(os.environ.get("MAKER", "ACME"), "WT310", "0815", "1.0")
    def look(self, now_s):
        power_w = eval(os.environ.get("POWER", "36.0"))
        return Sample(energy_wh=36.0 * now_s / 3600, running_s=now_s, power_w=power_w)

class Bench(Scheme):
    meter = None
    def connect(self, clocks):
        self.meter = self.meter or HomeMeter(Sensor(), clocks)
        return self.meter

class Texts(HomeMeter):
    def read(self):
        return replace(super().read(), power_w="36")

class Own(Bench):
    def connect(self, clocks):
        return Texts(Sensor(), clocks)

class Unnamed(HomeMeter):
    identity = Identity("ACME", None, "0815", "1.0")

class Nameless(Bench):
    def connect(self, clocks):
        return Unnamed(Sensor(), clocks)

class Slow(Bench):
    def connect(self, clocks):
        interval_s = float(os.environ.get("INTERVAL", "0.5"))
        self.meter = self.meter or HomeMeter(Sensor(), clocks, update_interval_s=interval_s)
        return self.meter

class Stated(Bench):
    @staticmethod
    def limits(model):
        given = dict(reading_share=0.01, range_share=0.0, dc_range_share=0.0, apparent_share=0.0,
                     smallest_range_w=2300.0, source="data sheet", age_s=0.1)
        given.update(eval(os.environ.get("LIMITS", "{}"), globals()))
        return Limits(**given)
"""
ENTRIES = "\n".join(
    (
        "stated = acme_bench:Stated",
        "bare = acme_bench:Bench",
        "own = acme_bench:Own",
        "nameless = acme_bench:Nameless",
        "slow = acme_bench:Slow",
    )
)
PLUGIN = "The plug-in lpirc.meters stated = acme_bench:Stated of acme_bench 1.0"


@pytest.fixture
def installer(tmp_path: Path) -> Iterator[Installer]:
    with plugins_in(tmp_path) as found:
        found.install("acme_bench", GROUP, ENTRIES, BENCH)
        yield found


def meter(
    installer: Installer, *arguments: str, **environment: str
) -> tuple[dict[str, Any], str]:
    """Run the command `meter` as users do, and return its facts and what it said."""
    done = subprocess.run(
        [sys.executable, "-m", "lpirc_power", *arguments, "--json"],
        env=os.environ | {"PYTHONPATH": str(installer.folder)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def checks_of(facts: dict[str, Any]) -> dict[str, str]:
    return {one["code"]: one["sentence"] for one in facts["checks"]}


def recorded(
    installer: Installer, address: str, csv: Path, **environment: str
) -> tuple[dict[str, Any], str]:
    told = ("record", address, "-o", str(csv), "--duration", "0.4", "--update", "0.1")
    return meter(installer, *told, **environment)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ("dict(age_s=float('nan'))", "age_s = nan, where a number from 0 to 3600"),
        ("dict(reading_share=-0.01)", "reading_share = -0.01, where"),
        (
            "dict(own=(OwnTerm('step', 'a', 'b', energy_wh=1e300),))",
            "the own term 'step' has energy_wh = 1e+300, where",
        ),
    ],
)
def test_limits_that_cannot_be_are_told_and_the_recording_goes_on_without_an_uncertainty(
    installer: Installer, tmp_path: Path, limits: str, said: str
) -> None:
    csv = tmp_path / "run.csv"
    found, errors = recorded(installer, "stated:1", csv, LIMITS=limits)
    assert errors.startswith(f"meter: {PLUGIN} states limits of error of WT310")
    assert said in errors
    assert found["accuracy"]["percent"] is None
    again, _ = meter(installer, "check", str(csv), LIMITS=limits)
    assert again["energy_wh"] == found["energy_wh"]
    for facts in (found, again):
        why = checks_of(facts)["accuracy"]
        assert why.startswith(f"{PLUGIN} states limits of error of WT310")
        assert said in why
        assert "No driver states" not in why


def test_without_stated_limits_nothing_is_said_of_the_meters_own_error(
    installer: Installer, tmp_path: Path
) -> None:
    found, _ = recorded(installer, "bare:1", tmp_path / "run.csv")
    checks = checks_of(found)
    assert checks["accuracy"].startswith("No driver states this meter's limits")
    assert checks["negative-power"].startswith(
        "No reading was negative beyond 1 % of the largest, as the meter's own error is unknown, of "
    )
    stated, _ = recorded(installer, "stated:1", tmp_path / "stated.csv")
    said = checks_of(stated)["negative-power"]
    assert said.startswith("No reading was negative beyond the meter's own error, of ")


@pytest.mark.usefixtures("installer")
def test_a_model_of_two_schemes_has_limits_only_if_they_agree(
    installer: Installer,
) -> None:
    named = Identity("ACME", "WT310", "0815", "1.0")
    assert limits_by_identity(named) == limits_at("stated:1", named)
    other = BENCH.replace("reading_share=0.01", "reading_share=0.02")
    entry = "other = other_bench:Stated"
    installer.install("other_bench", GROUP, entry, other)
    assert limits_by_identity(named) is None


def test_limits_in_a_record_that_cannot_be_are_why_there_is_no_uncertainty(
    installer: Installer, tmp_path: Path
) -> None:
    csv = tmp_path / "run.csv"
    recorded(installer, "stated:1", csv)
    path = csv.with_suffix(".json")
    document = json.loads(path.read_text())
    document["ended"]["measured"]["limits"]["age_s"] = "NAN"
    document["address"] = "uninstalled:1"
    path.write_text(json.dumps(document))
    again, _ = meter(installer, "check", str(csv))
    why = checks_of(again)["accuracy"]
    assert why.startswith("The limits of error in the record cannot be (age_s = nan")


def test_the_limits_of_the_recording_count_if_the_driver_states_others_later(
    installer: Installer, tmp_path: Path
) -> None:
    csv = tmp_path / "run.csv"
    found, _ = recorded(installer, "stated:1", csv, LIMITS="dict(reading_share=0.03)")
    again, _ = meter(installer, "check", str(csv))
    assert again["accuracy"] == found["accuracy"]
    assert again["notes"] == [
        "The record states other limits of error of this WT310 than the driver here: reading_share = 0.03, not 0.01. "
        "Those of the record are used."
    ]


def test_limits_in_a_record_that_cannot_be_are_left_out_and_the_energy_is_read(
    installer: Installer, tmp_path: Path
) -> None:
    csv = tmp_path / "run.csv"
    found, _ = recorded(installer, "stated:1", csv)
    path = csv.with_suffix(".json")
    document = json.loads(path.read_text())
    document["ended"]["measured"]["limits"]["age_s"] = "NAN"
    path.write_text(json.dumps(document))
    again, _ = meter(installer, "check", str(csv))
    assert again["energy_wh"] == found["energy_wh"]
    assert again["accuracy"] == found["accuracy"]  # by the limits of the driver here
    assert again["notes"][0] == (
        "The limits of error in the record cannot be (age_s = nan, where a number from 0 to 3600 must be), so they "
        "are left out."
    )


def test_the_probe_shows_the_update_interval_that_a_driver_states(
    installer: Installer,
) -> None:
    for address, interval_s in (("slow:1", 0.5), ("bare:1", 0.25)):
        found, _ = meter(installer, "probe", address)
        assert found["settings"]["update_interval_s"] == interval_s


@pytest.mark.usefixtures("installer")
def test_the_name_of_a_known_model_makes_a_plug_in_neither_official_nor_accurate() -> (
    None
):
    named = Identity("YOKOGAWA", "WT310", "C3UA12345", "F1.03")
    assert limits_at("bare:1", named) is None
    assert standing(named, "bare:1") is Standing.UNKNOWN_MODEL
    stated = limits_at("stated:1", named)
    assert stated is not None
    assert stated.source == "data sheet"
    assert limits_at("TCPIP::192.168.1.20::INSTR", named) == limits_of("WT310")
    assert limits_at("sim:", named) == limits_of("WT310")


@pytest.mark.usefixtures("installer")
@pytest.mark.parametrize("value", ["'36'", "None", "True", str(10**310)])
def test_a_sample_that_holds_no_number_is_a_fault_of_the_driver(
    clocks: Clocks, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("POWER", value)
    with (
        open_meter("stated:1", clocks) as opened,
        pytest.raises(
            MeterError, match=f"power_w of a Sample is {value:.39}"
        ) as caught,
    ):
        opened.read()
    assert caught.value.sentence.startswith(f"{PLUGIN} failed to do `read`: TypeError")


@pytest.mark.usefixtures("installer")
def test_a_reading_that_holds_no_number_is_a_fault_of_the_driver(
    clocks: Clocks,
) -> None:
    said = "returns from `read` a reading that has power_w = '36', where a number must"
    with (
        open_meter("own:1", clocks) as opened,
        pytest.raises(MeterError, match=said) as caught,
    ):
        opened.read()
    assert caught.value.code == "meter-driver"


@pytest.mark.usefixtures("installer")
def test_an_identity_that_is_no_text_is_a_fault_of_the_driver(clocks: Clocks) -> None:
    with (
        pytest.raises(MeterError, match="instead of an Identity of four texts"),
        open_meter("nameless:1", clocks),
    ):
        pass
