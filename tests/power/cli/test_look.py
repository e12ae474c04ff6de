from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lpirc_power.cli import main
from lpirc_power.visa.link import Link
from tests.power.cli.conftest import one_line


def test_probe_shows_who_answers_and_changes_no_setting(
    simulate: Any,
    meter: Any,
    knobs: Any,
) -> None:
    address = simulate("--serial", "S1").address
    before = knobs(address)[:-1]
    ended = meter("probe", address, "--json")
    assert ended.returncode == 0, ended.stderr
    facts = json.loads(ended.stdout)
    assert facts["identity"] == {
        "maker": "YOKOGAWA", "model": "WT310", "serial": "SIMULATED-S1", "firmware": "F1.03", "official": False,
        "standing": "simulated",
    }  # fmt: skip
    assert facts["settings"]["voltage_auto"] is True
    assert facts["settings"]["update_interval_s"] == 0.25
    assert facts["settings"]["synchronize"] == "voltage"
    assert facts["choices"]["voltage_ranges_v"] == [15, 30, 60, 150, 300, 600]
    assert facts["choices"]["current_ranges_a"][3] == 0.05
    assert facts["integrator"] == "RESET"
    assert facts["errors"] == []
    # The ranges are left out: on automatic they may have moved by themselves.
    assert knobs(address)[4:-1] == before[4:]


def test_probe_starts_a_meter_of_its_own_and_leaves_nothing_behind() -> None:
    ran = CliRunner().invoke(main, ["probe", "sim:constant:5W"])
    assert ran.exit_code == 0, ran.output
    assert "meter            YOKOGAWA WT310, serial SIMULATED" in ran.output
    assert (
        "standing         NOT OFFICIAL: its serial number says that it is simulated"
        in ran.output
    )
    children = (
        Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    )
    assert all(
        "simulate" not in Path(f"/proc/{pid}/cmdline").read_text() for pid in children
    )


def test_probe_tells_the_accuracy_in_the_present_ranges(
    simulate: Any,
    meter: Any,
) -> None:
    address = simulate("--load", "constant:36W").address
    with contextlib.closing(Link(address)) as knob:
        knob.write(":INPUT:VOLTAGE:RANGE 150V")
        knob.write(":INPUT:CURRENT:RANGE 20A")
    facts = json.loads(meter("probe", address, "--json").stdout)
    # 0.1 % of 36 W, 0.1 % of 3000 W
    assert facts["accuracy"]["watts"] == pytest.approx(3.036)
    assert facts["accuracy"]["percent"] == pytest.approx(100 * 3.036 / 36)


def test_probe_says_when_what_it_reads_is_over_range(
    simulate: Any,
    meter: Any,
    until: Any,
) -> None:
    address = simulate("--load", "constant:36W,crest=4").address
    with contextlib.closing(Link(address)) as knob:
        knob.write(":INPUT:VOLTAGE:RANGE 150V")
        knob.write(":INPUT:CURRENT:RANGE 0.2A")
        until(lambda: "INF" in knob.query(":NUMERIC:NORMAL:VALUE? 2"))
    ended = meter("probe", address)
    assert "over range" in ended.stdout
    assert "accuracy         unknown" in ended.stdout


def test_probe_explains_the_errors_that_the_meter_has_queued(
    simulate: Any,
    meter: Any,
) -> None:
    address = simulate().address
    with contextlib.closing(Link(address)) as knob:
        knob.write(":INTEGRATE:STOP")
    assert "errors           844 " in meter("probe", address).stdout
    assert "errors           none" in meter("probe", address).stdout


def test_zero_says_that_it_is_done_and_why_it_cannot_be(
    simulate: Any,
    meter: Any,
) -> None:
    address = simulate("--serial", "S1").address
    done = meter("zero", address)
    assert done.returncode == 0
    assert done.stderr == ""
    assert (
        done.stdout
        == "The zero level of the meter YOKOGAWA WT310 SIMULATED-S1 F1.03 is compensated.\n"
    )
    with contextlib.closing(Link(address)) as knob:
        knob.write(":INTEGRATE:START")
    refused = meter("zero", address, "--json")
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert one_line(refused.stderr)
    assert "integrating" in refused.stderr
