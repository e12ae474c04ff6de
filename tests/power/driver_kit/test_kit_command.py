"""`python -m lpirc_power.driver_kit` as authors run it, with meters behind real sockets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.power.foreign import served
from tests.power.plug import plugged
from tests.timeouts import TIMEOUT_S

ROOT = Path(__file__).parents[3]
METERS = ROOT / "tests" / "meter_sample"
SAMPLE = ROOT / "tests" / "plugin_sample"
FAMILY = "lpirc_power.wt300.driver:Wt300Family"


def kit(
    *arguments: str,
    beside: Path = ROOT,
) -> subprocess.CompletedProcess[str]:
    """Run the kit in a folder with the author's module."""
    return subprocess.run(
        [sys.executable, "-m", "lpirc_power.driver_kit", *arguments],
        cwd=beside,
        env=os.environ | {"PYTHONPATH": str(beside)},
        capture_output=True,
        text=True,
        timeout=2 * TIMEOUT_S,
        check=False,
    )


def verdicts(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """Return the verdict of each demand, from JSON on stdout."""
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)["findings"]
    return {one["code"]: one["verdict"] for one in found}


def test_the_driver_of_the_wt300_family_holds_before_the_simulated_meter(
    simulate: Callable[..., Any],
) -> None:
    control = "0"
    simulator = simulate("--control", control)
    port = simulator.process.stdout.readline().split()[-1]
    restart = f"{sys.executable} -m lpirc_power fault {port} restart lose"
    options = ["--scpi", "--seconds", "2", "--json"]
    done = kit(
        FAMILY, simulator.address, "--load", "36W", "--restart", restart, *options
    )
    found = verdicts_after(done, "ok\n")
    failed = [code for code, verdict in found.items() if verdict == "fails"]
    assert failed == []
    assert done.returncode == 0
    for code in ("lost", "back", "silent", "restart", "headers", "no-data"):
        assert found[code] == "holds", code


def verdicts_after(
    done: subprocess.CompletedProcess[str],
    said: str,
) -> dict[str, str]:
    """Return the verdicts behind what a command of the author has said on stdout."""
    done.stdout = done.stdout.removeprefix(said)
    return verdicts(done)


def test_the_samples_plug_has_no_fault_over_http() -> None:
    with plugged() as host:
        done = kit(
            "lpirc_sample.meters",
            f"shelly:{host}",
            "--load",
            "36W",
            "--seconds",
            "2",
            "--json",
            beside=SAMPLE,
        )
    found = verdicts(done)
    assert [code for code, verdict in found.items() if verdict == "fails"] == []
    assert found["silent"] == found["back"] == found["uncertainty"] == "holds"
    assert done.returncode == 0


def test_of_the_simulated_meter_by_its_address_only_a_wrong_load_fails_with_exit_code_1() -> (
    None
):
    done = kit("sim:constant:9W", "--load", "10W", "--seconds", "2")
    assert done.returncode == 1
    assert "fails      load: 9 W are shown for a load of 10 W;" in done.stdout
    assert "holds      recording: The sampler recorded" in done.stdout
    assert " 1 fails" in done.stdout
    assert done.stderr.endswith("To mend: load.\n")


@pytest.fixture
def acme(tmp_path: Path) -> Path:
    """A family of VISA meters that takes every number for a number."""
    source = (METERS / "acme_meter.py").read_text("utf-8")
    spoiled = source.replace("map(number, ", "map(float, ")
    assert spoiled != source
    (tmp_path / "acme_meter.py").write_text(spoiled)
    half = "from lpirc_power.scheme import Scheme\n\nclass Half(Scheme):\n    pass\n"
    (tmp_path / "half_meter.py").write_text(half)
    return tmp_path


@pytest.fixture
def pm100() -> Iterator[str]:
    """Their meter, behind VXI-11."""
    began_s = time.monotonic()
    answers = {
        "*IDN?": lambda: "ACME,PM100,0815,1.0",
        "MEASURE?": lambda: f"36.0,{36.0 * (time.monotonic() - began_s) / 3600:.9f}",
    }
    with served(answers) as address:
        yield address


def test_a_family_that_reads_the_number_for_no_data_as_a_power_is_named(
    acme: Path,
    pm100: str,
) -> None:
    done = kit("acme_meter", pm100, "--scpi", "--seconds", "2", "--json", beside=acme)
    found = {one["code"]: one for one in json.loads(done.stdout)["findings"]}
    assert done.returncode == 1
    assert [code for code, one in found.items() if one["verdict"] == "fails"] == [
        "no-data",
        "over-range",
    ]
    assert found["no-data"]["sentence"] == "9.91E+37 is read as a number, 9.91e+37 W."


MISSING = """
from lpirc_power.maker_library import library
from lpirc_power.scheme import Scheme

class Mine(Scheme):
    def connect(self, clocks):
        {imported}
        raise SystemExit
"""


@pytest.mark.parametrize(
    ("imported", "verdict", "said"),
    [
        (
            'library("json.decoder", "pip install json")',
            "holds",
            "This meter needs the library json, which is not installed: pip install json",
        ),
        ("import json.decoder", "fails", "`connect` raises ModuleNotFoundError"),
    ],
)
def test_a_library_that_is_not_installed_is_one_sentence_with_its_command(
    tmp_path: Path,
    imported: str,
    verdict: str,
    said: str,
) -> None:
    (tmp_path / "mine.py").write_text(MISSING.format(imported=imported))
    done = kit("mine", "mine:1", "--library", "json", beside=tmp_path)
    line = next(one for one in done.stdout.splitlines() if " library: " in one)
    assert line.startswith(verdict)
    assert said in line


def test_a_library_at_the_top_of_the_module_is_named(tmp_path: Path) -> None:
    source = "import json.decoder\n" + MISSING.format(imported="pass")
    (tmp_path / "mine.py").write_text(source)
    done = kit("mine", "mine:1", "--library", "json", beside=tmp_path)
    assert (
        "fails      library: Without json the module cannot be imported" in done.stdout
    )


def test_a_module_alone_tells_what_can_be_told_without_a_meter(acme: Path) -> None:
    done = kit("acme_meter", beside=acme)
    assert done.returncode == 0
    assert "not tried  meter: Give an address" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no_such_module"], "There is no module 'no_such_module'"),
        (["json"], "The module json has no driver: neither a subclass of Scheme"),
        (["lpirc_power.home.home_schemes"], "has several drivers: RaplAddress, Hwmon"),
        (
            ["acme_meter.py"],
            "is a file: give the name that Python imports, 'acme_meter'",
        ),
        (
            ["acme_meter", "sim:"],
            "Acme is a family of VISA meters: give a VISA resource",
        ),
        (["half_meter", "half:1"], "The scheme Half of half_meter lacks connect"),
        (["acme_meter:Other"], "The module acme_meter has no 'Other'"),
        (["acme_meter", "x", "--load", "much"], "'much' is not a power; write 36W"),
        (["acme_meter", "x", "--plug", "true"], "--unplug and --plug belong together"),
        ([], "Missing argument 'MODULE[:CLASS]'"),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_code_2(
    acme: Path,
    arguments: list[str],
    said: str,
) -> None:
    done = kit(*arguments, beside=acme)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_meter_that_integrates_is_left_alone(
    simulate: Callable[..., Any],
) -> None:
    from lpirc_power.addresses.meter_address import open_meter
    from lpirc_power.clocks import real_clocks
    from lpirc_power.meter import Setup

    simulator = simulate()
    with open_meter(simulator.address, real_clocks()) as meter:
        meter.configure(Setup(150.0, 0.5, 0.1, 0))
        meter.start()
        done = kit(FAMILY, simulator.address)
        assert done.returncode == 1
        assert "is integrating; end what uses it" in done.stderr
        assert meter.state().value == "START"


def test_a_meter_that_another_driver_takes_proves_nothing_of_the_one_under_test(
    acme: Path,
    simulate: Callable[..., Any],
) -> None:
    done = kit("acme_meter", simulate().address, beside=acme)
    assert done.returncode == 1
    assert "is taken by lpirc_power.wt300.driver:Wt300Family" in done.stdout
    assert "holds      calls" not in done.stdout


def test_a_device_that_is_not_there_fails_once_and_the_rest_is_not_tried() -> None:
    done = kit("my_meter", "thin:127.0.0.1:1", beside=METERS)
    assert done.returncode == 1
    assert done.stdout.count("fails ") == 1
    assert "Is the device there, and the address right?" in done.stdout
    assert "not tried  recording: Nothing else was tried" in done.stdout
