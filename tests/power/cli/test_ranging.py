from __future__ import annotations

import contextlib
import json
import signal
import sys
from typing import Any

import pytest

from lpirc_power.visa.link import Link
from tests.power.cli.conftest import one_line
from tests.timeouts import TIMEOUT_S


def test_the_smallest_ranges_that_hold_the_load_are_proposed(
    simulate: Any,
    meter: Any,
    knobs: Any,
) -> None:
    address = simulate("--load", "constant:36W", "--serial", "S1").address
    with contextlib.closing(Link(address)) as knob:
        knob.write(":INPUT:VOLTAGE:RANGE 600V")
        knob.write(":INPUT:CURRENT:RANGE 20A")
    before = knobs(address)
    ended = meter("range", address, "--duration", "3", "--update", "0.1")
    assert ended.returncode == 0
    assert ended.stderr == ""
    assert ended.stdout.splitlines()[-2:] == [
        "voltage_range_v = 150.0",
        "current_range_a = 0.5",
    ]
    assert "120 V rms x 1.2 = 144 V" in ended.stdout
    assert "accuracy         +-0.31 %" in ended.stdout
    assert knobs(address) == before


def test_headroom_and_steep_currents_ask_for_more(
    simulate: Any,
    meter: Any,
) -> None:
    address = simulate("--load", "constant:36W,crest=4.5").address
    facts = json.loads(
        meter("range", address, "--duration", "3", "--update", "0.1", "--json").stdout
    )
    # 1.35 A peak x 1.2 does not fit in 3 x 0.5 A.
    assert facts["voltage_range_v"] == 150
    assert facts["current_range_a"] == 1
    more = json.loads(
        meter(
            "range",
            address,
            "--duration",
            "2",
            "--update",
            "0.1",
            "--headroom",
            "2",
            "--json",
        ).stdout
    )
    assert more["voltage_range_v"] == 300
    assert more["current_range_a"] == 1


def test_clipped_readings_ask_for_another_run(
    simulate: Any,
    meter: Any,
) -> None:
    address = simulate("--load", "constant:36W,crest=6").address
    fixed = ("--voltage-range", "150", "--current-range")
    facts = json.loads(
        meter("range", address, "--duration", "1", *fixed, "0.5", "--json").stdout
    )
    assert "Run it again" in facts["run_again"]
    # On a busy machine one update may be of the former range, and a reading that holds is enough for a result.
    runs = (
        meter("range", address, "--duration", "1", *fixed, "0.2") for _ in range(10)
    )
    told = next(run for run in runs if run.returncode)
    assert told.returncode == 1
    assert told.stdout == ""
    assert "were over range or clipped: use larger ranges" in told.stderr


def test_the_load_may_be_a_program(
    simulate: Any,
    meter: Any,
) -> None:
    program = (
        sys.executable,
        "-c",
        "import time; time.sleep(2); print('found'); raise SystemExit(3)",
    )
    ended = meter("range", simulate().address, "--update", "0.1", "--", *program)
    assert ended.returncode == 3
    assert ended.stdout == "found\n"
    assert "current_range_a = " in ended.stderr


def test_ctrl_c_ends_the_run_with_its_result(
    simulate: Any,
    started: Any,
    until: Any,
    asked: Any,
) -> None:
    address = simulate("--load", "constant:36W").address
    ranging = started("range", address, "--update", "0.1")
    items = tuple(f":NUMERIC:NORMAL:ITEM{n}?" for n in range(1, 20))
    # The peaks are asked for with every reading: once they are among the items, there is one.
    until(lambda: "PEAK" in "".join(asked(address, *items)).upper())
    ranging.send_signal(signal.SIGINT)
    told, complaint = ranging.communicate(timeout=TIMEOUT_S)
    assert ranging.returncode == 0
    assert complaint == ""
    assert "For contest.toml" in told


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("sim:", "--duration", "1", "--element", "sum"), 2, "one element"),
        (("sim:", "--duration", "1", "--headroom", "0.5"), 2, "headroom"),
        (("sim:", "--", "no-such-program"), 1, "no-such-program"),
        (("sim:", "--duration", "0.01", "--update", "5"), 1, "last longer"),
    ],
)
def test_bad_input_is_said(
    meter: Any,
    arguments: tuple[str, ...],
    code: int,
    told: str,
) -> None:
    # An update of the meter, one in 5 s, may fall into the shortest of these runs.
    ended = next(
        one for _ in range(3) if (one := meter("range", *arguments)).returncode
    )
    assert ended.returncode == code
    assert ended.stdout == ""
    assert told in ended.stderr
    assert code == 2 or one_line(ended.stderr)


SEVERAL_READINGS_BYTES = 4000


def watched(
    asked: Any,
    address: str,
) -> bool:
    """Whether a ranging run has begun: the peaks are asked for with every reading, once they are among the items."""
    items = tuple(f":NUMERIC:NORMAL:ITEM{n}?" for n in range(1, 20))
    return "PEAK" in "".join(asked(address, *items)).upper()


def test_a_cable_that_is_out_for_a_moment_costs_readings_only(
    simulate: Any,
    relay: Any,
    started: Any,
    until: Any,
    asked: Any,
    knobs: Any,
) -> None:
    box = simulate("--load", "constant:36W")
    asked(box.address, ":INPUT:VOLTAGE:RANGE 600V;:INPUT:CURRENT:RANGE 20A;*OPC?")
    before = knobs(box.address)
    cable = relay(box.port)
    ranging = started("range", cable.address, "--update", "0.1")
    until(lambda: watched(asked, box.address))
    cable.cut()
    assert "Trying again" in ranging.stderr.readline()
    cable.mend()
    assert "is back" in ranging.stderr.readline()
    ranging.send_signal(signal.SIGINT)
    told, complaint = ranging.communicate(timeout=TIMEOUT_S)
    assert ranging.returncode == 0
    assert complaint == ""
    assert "voltage_range_v = 150.0" in told
    assert knobs(box.address) == before


def test_a_cable_that_stays_out_leaves_what_was_seen_and_says_that_the_settings_are_not_back(
    simulate: Any,
    relay: Any,
    started: Any,
    until: Any,
    asked: Any,
) -> None:
    box = simulate("--load", "constant:36W")
    cable = relay(box.port)
    ranging = started("range", cable.address, "--update", "0.1")
    until(lambda: watched(asked, box.address))
    begun = cable.passed_bytes
    until(lambda: cable.passed_bytes > begun + SEVERAL_READINGS_BYTES)
    cable.cut()
    assert "Trying again" in ranging.stderr.readline()
    ranging.send_signal(signal.SIGINT)
    told, complaint = ranging.communicate(timeout=TIMEOUT_S)
    assert ranging.returncode == 0
    assert "For contest.toml" in told
    assert "may not have its former settings" in complaint
