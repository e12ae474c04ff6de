"""`python -m lpirc_power.driver_kit` as authors run it, with meters behind real sockets."""

from __future__ import annotations

import contextlib
import json
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import warm_programs
from tests.ports import own_port
from tests.power.conftest import first_line
from tests.power.driver_kit.kit_runs import (
    METERS,
    ROOT,
    Done,
    Kit,
    kit,
    running,
    verdicts,
)
from tests.power.foreign import served
from tests.power.plug import plugged

SAMPLE = ROOT / "tests" / "plugin_sample"
FAMILY = "lpirc_power.wt300.driver:Wt300Family"
TWO_SECONDS = ("--seconds", "2")


@contextlib.contextmanager
def wt310_that_can_restart() -> Iterator[tuple[str, str]]:
    """Give the address of a simulated meter, and the command that switches it off and on."""
    options = ["--port", str(own_port()), "--control", "0"]
    with warm_programs.start(["meter", "simulate", *options]) as process:
        try:
            address = first_line(process)
            assert process.stdout is not None
            # Both lines may have come at once: then select no longer sees the second one.
            port = process.stdout.readline().split()[-1]
            command = [sys.executable, "-m", "lpirc_power", "fault", port]
            yield address, shlex.join([*command, "restart", "lose"])
        finally:
            process.kill()


def acme_in(folder: Path) -> Path:
    """Make a family of VISA meters that takes every number for a number, and a scheme that is half done."""
    source = (METERS / "acme_meter.py").read_text("utf-8")
    spoiled = source.replace("map(number, ", "map(float, ")
    assert spoiled != source
    (folder / "acme_meter.py").write_text(spoiled)
    half = "from lpirc_power.scheme import Scheme\n\nclass Half(Scheme):\n    pass\n"
    (folder / "half_meter.py").write_text(half)
    return folder


@contextlib.contextmanager
def pm100() -> Iterator[str]:
    """Serve a meter of that family behind VXI-11, which draws 36 W; give its address."""
    began_s = time.monotonic()
    answers = {
        "*IDN?": lambda: "ACME,PM100,0815,1.0",
        "MEASURE?": lambda: f"36.0,{36.0 * (time.monotonic() - began_s) / 3600:.9f}",
    }
    with served(answers) as address:
        yield address


@pytest.fixture
def acme(tmp_path: Path) -> Path:
    return acme_in(tmp_path)


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Kit]]:
    """The kit before four whole meters, which wait together."""
    folder = acme_in(tmp_path_factory.mktemp("acme"))
    whole = ("--load", "36W", *TWO_SECONDS, "--json")
    with contextlib.ExitStack() as stack:
        address, restart = stack.enter_context(wt310_that_can_restart())
        host = stack.enter_context(plugged())
        instrument = stack.enter_context(pm100())
        kits = {
            "wt310": (FAMILY, address, "--restart", restart, "--scpi", *whole),
            "9 W": ("sim:constant:9W", "--load", "10W", *TWO_SECONDS),
        }
        found = stack.enter_context(running(kits))
        of_shelly = {"plug": ("lpirc_sample.meters", f"shelly:{host}", *whole)}
        found |= stack.enter_context(running(of_shelly, SAMPLE))
        of_acme = {"acme": ("acme_meter", instrument, "--scpi", *whole[2:])}
        found |= stack.enter_context(running(of_acme, folder))
        yield found


def test_the_driver_of_the_wt300_family_holds_before_the_simulated_meter(
    begun: dict[str, Kit],
) -> None:
    done = begun["wt310"].done()
    found = verdicts_after(done, "ok\n")
    failed = [code for code, verdict in found.items() if verdict == "fails"]
    assert failed == []
    assert done.returncode == 0
    for code in ("lost", "back", "silent", "restart", "headers", "no-data"):
        assert found[code] == "holds", code


def verdicts_after(done: Done, said: str) -> dict[str, str]:
    """Return the verdicts behind what a command of the author has said on stdout."""
    done.stdout = done.stdout.removeprefix(said)
    return verdicts(done)


def test_the_samples_plug_has_no_fault_over_http(begun: dict[str, Kit]) -> None:
    done = begun["plug"].done()
    found = verdicts(done)
    assert [code for code, verdict in found.items() if verdict == "fails"] == []
    assert found["silent"] == found["back"] == found["uncertainty"] == "holds"
    assert done.returncode == 0


def test_of_the_simulated_meter_by_its_address_only_a_wrong_load_fails_with_exit_code_1(
    begun: dict[str, Kit],
) -> None:
    done = begun["9 W"].done()
    assert done.returncode == 1
    assert "fails      load: 9 W are shown for a load of 10 W;" in done.stdout
    assert "holds      recording: The sampler recorded" in done.stdout
    assert " 1 fails" in done.stdout
    assert done.stderr.endswith("To mend: load.\n")


def test_a_family_that_reads_the_number_for_no_data_as_a_power_is_named(
    begun: dict[str, Kit],
) -> None:
    done = begun["acme"].done()
    found = {one["code"]: one for one in json.loads(done.stdout)["findings"]}
    assert done.returncode == 1
    assert [code for code, one in found.items() if one["verdict"] == "fails"] == [
        "no-data",
        "over-range",
    ]
    assert found["no-data"]["sentence"] == "9.91E+37 is read as a number, 9.91e+37 W."


def test_the_usage_names_every_demand_and_says_what_to_give(
    begun: dict[str, Kit],
) -> None:
    told = " ".join(kit("--help").stdout.replace("-\n  ", "-").split())
    *_, demands = told.partition("Demands: ")
    named = demands.removesuffix(".").split(", ")
    assert set(verdicts(begun["plug"].done())) <= set(named)
    assert {"family", "no-data", "short-words", "second-run"} <= set(named)
    assert "MODULE is the name that Python imports" in told
    alone = kit()
    assert alone.returncode == 2
    assert "or the address of an installed driver's meter" in alone.stderr


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
