"""What `meter` does on Windows and macOS, as far as Linux can pretend to be them."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from lpirc_power import operating_system
from lpirc_power.operating_system import cpu_time_s, heeded_endings
from tests.power.conftest import first_line
from tests.pretended_system import command, environment, imported, run
from tests.timeouts import TIMEOUT_S

SYSTEMS = ("win32", "darwin")
OTHERS = "    1     0   1:00.00\n  400     1   0:09.00\n"
LISTED = (
    f"{OTHERS}  401   400   0:01.25\n  402   401   1:02.50\n  403   402   1-01:00:00\n"
)


@contextmanager
def simulated(
    system: str,
    *options: object,
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A simulated meter whose process is on that system, and its address."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command("meter", "simulate", *options),
        stdout=pipe,
        stderr=pipe,
        text=True,
        env=environment(system),
    ) as process:
        try:
            yield process, first_line(process)
        finally:
            process.kill()


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_module_is_imported(
    system: str,
    tmp_path: Path,
) -> None:
    assert "lpirc_power.simulator.simulator_process" in imported(
        system, tmp_path, "lpirc_power"
    )


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_meter_of_another_process_is_probed(
    system: str,
    simulate: Callable[..., Any],
    tmp_path: Path,
) -> None:
    probed = run(
        system,
        tmp_path,
        "meter",
        "probe",
        simulate("--load", "constant:12W").address,
    )
    assert probed.returncode == 0
    assert probed.stderr == ""
    assert "120 V, 0.1 A, 12 W" in probed.stdout


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_simulated_meter_is_started_and_recorded(
    system: str,
    tmp_path: Path,
) -> None:
    recorded = run(
        system,
        tmp_path,
        "meter",
        "record",
        "sim:",
        "--duration",
        "1",
        "--output",
        "power.csv",
    )
    assert recorded.returncode == 0, recorded.stderr
    lines = (tmp_path / "power.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) > 2


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_workload_marks_its_phases(system: str, tmp_path: Path) -> None:
    work = (
        "import time; from lpirc_power import mark\nwith mark('work'): time.sleep(0.6)"
    )
    # Windows runs only what has an ending such as .exe.
    program = tmp_path / "python.exe"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    program.chmod(0o755)
    recorded = run(
        system, tmp_path, "meter", "record", "sim:", "--output", "power.csv", "--json",
        "--", program, "-c", work,
    )  # fmt: skip
    assert recorded.stdout, recorded.stderr
    facts = json.loads(recorded.stdout.splitlines()[-1])
    assert [one["name"] for one in facts["marks"]] == ["work"]
    assert facts["marks"][0]["count"] == 1
    assert recorded.stderr.startswith("meter: The energy needs review") or (
        recorded.stderr == ""
    )


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_simulated_meter_lives_as_long_as_its_parent(
    system: str,
    tmp_path: Path,
) -> None:
    with ExitStack() as stack:
        parent = stack.enter_context(subprocess.Popen(["cat"], stdin=subprocess.PIPE))
        process, address = stack.enter_context(
            simulated(system, "--parent", parent.pid)
        )
        # Each takes longer than the pause between two looks at the parent.
        for _ in range(2):
            assert run("darwin", tmp_path, "meter", "probe", address).returncode == 0
        parent.communicate()
        assert process.wait(TIMEOUT_S) == 0


def test_a_pty_is_refused_in_one_sentence_on_windows(tmp_path: Path) -> None:
    refused = run("win32", tmp_path, "meter", "simulate", "--pty")
    sentence = (
        "meter: Windows has no ptys; leave --pty out, or simulate the meter in WSL 2.\n"
    )
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert refused.stderr == sentence


def test_a_load_that_follows_a_process_is_refused_in_one_sentence_on_windows(
    tmp_path: Path,
) -> None:
    refused = run("win32", tmp_path, "meter", "simulate", "--load", "cpu:1")
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert refused.stderr.count("\n") == 1
    assert "the CPU time of a process is not read on Windows" in refused.stderr


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("address", ["rapl:", "hwmon:"])
def test_sensors_of_linux_are_said_to_be_those_of_linux(
    system: str,
    address: str,
    tmp_path: Path,
) -> None:
    refused = run(system, tmp_path, "meter", "probe", address)
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1
    assert "Linux" in refused.stderr


def test_on_macos_the_cpu_time_of_a_process_and_its_descendants_is_what_ps_lists(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listing = subprocess.CompletedProcess([], 0, LISTED, "")
    monkeypatch.setattr(operating_system.sys, "platform", "darwin")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: listing)
    assert cpu_time_s(401) == 1.25 + 62.5 + 90_000
    assert cpu_time_s(400) == 9.0 + cpu_time_s(401)
    assert cpu_time_s(999) == 0


def test_a_hang_up_ends_a_command_unless_it_is_ignored() -> None:
    former = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        assert signal.SIGHUP in heeded_endings()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        assert signal.SIGHUP not in heeded_endings()
    finally:
        signal.signal(signal.SIGHUP, former)


@pytest.mark.skipif(
    sys.platform != "linux",
    reason="only Linux has priorities of single threads",
)
def test_a_preferred_thread_leaves_the_others_as_they_are() -> None:
    found: list[tuple[bool, int]] = []

    def go() -> None:
        preferred = operating_system.prefer_this_thread()
        found.append(
            (preferred, os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        )

    before = os.getpriority(os.PRIO_PROCESS, 0)
    thread = threading.Thread(target=go)
    thread.start()
    thread.join()
    ((preferred, nice),) = found
    assert nice == (operating_system.PREFERRED_NICE if preferred else before)
    assert os.getpriority(os.PRIO_PROCESS, 0) == before
