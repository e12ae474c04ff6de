"""MLPerf Power's own harness, unmodified, on `meter ptd`: opt-in, since it takes a minute and is not ours.

MLPERF_POWER_DEV names a checkout of github.com/mlcommons/power-dev. The harness asks an NTP server at port 123 for the
time; the test is one, on an address of the loopback, so it needs the right to listen there.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.ports import own_port
from tests.timeouts import TIMEOUT_S

PAGE = Path(__file__).parents[3] / "docs" / "mlperf.md"
HERE = "127.0.0.1"
NTP = "127.0.0.123"
SINCE_1900_S = 2_208_988_800
LONGEST_S = 240.0
OWN_BINARY = "Check PTD commands and replies"
"""The one check that demands SPEC's version."""
CHECKS = {
    "Check client sources checksum", "Check server sources checksum", OWN_BINARY, "Check UUID", "Check session name",
    "Check time difference", "Check client server messages", "Check results checksum",
    "Check errors and warnings from PTD logs", "Check PTD configuration", "Check debug is disabled on server-side",
}  # fmt: skip
LOAD = "steps:30W@2s,36W@4s"
WORKLOAD = """#!/bin/sh
mkdir -p loadgen && sleep 1
echo power_begin $(date -u +"%m-%d-%Y %T.%3N") > loadgen/mlperf_log_detail.txt
sleep 4
echo power_end $(date -u +"%m-%d-%Y %T.%3N") >> loadgen/mlperf_log_detail.txt
touch loadgen/mlperf_log_summary.txt
"""

pytestmark = pytest.mark.timeout(LONGEST_S)


@pytest.fixture
def harness() -> Path:
    named = os.environ.get("MLPERF_POWER_DEV")
    if not named:
        pytest.skip("MLPERF_POWER_DEV names no checkout of mlcommons/power-dev")
    return Path(named)


@pytest.fixture
def ntp() -> Iterator[str]:
    """A server of this machine's own time."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        try:
            server.bind((NTP, 123))
        except OSError as error:
            pytest.skip(f"no NTP server can be had at {NTP}: {error.strerror}")

        def answer() -> None:
            while True:
                asked, client = server.recvfrom(48)
                if not client[1] or len(asked) < 48:
                    return
                now = time.time() + SINCE_1900_S
                stamp = struct.pack("!II", int(now), int(now % 1 * 2**32))
                server.sendto(
                    struct.pack("!BBBb11x", 0x24, 1, 4, -20)
                    + bytes(9)
                    + asked[40:48]
                    + stamp * 2,
                    client,
                )

        thread = threading.Thread(target=answer)
        thread.start()
        yield NTP
        server.sendto(b"", (NTP, 123))
        thread.join()


@dataclass(frozen=True)
class Analyzer:
    """A section [analyzerN] of the server's configuration."""

    address: str
    device_type: int
    more: str = ""

    def section(
        self,
        number: int,
    ) -> str:
        return (
            f"[analyzer{number}]\ninterfaceFlag:\ndeviceType: {self.device_type}\ndevicePort: {self.address}\n"
            f"networkPort: {own_port()}\n{self.more}"
        )


@pytest.fixture
def run(
    harness: Path,
    ntp: str,
    tmp_path: Path,
) -> Callable[..., Path]:
    """Run server.py and client.py through a ranging and a testing run; return the folder of the results."""
    return functools.partial(ran, harness, ntp, tmp_path)


def ran(
    harness: Path,
    ntp: str,
    tmp_path: Path,
    *analyzers: Analyzer,
) -> Path:
    ptd = tmp_path / "ptd"
    ptd.write_text(
        f'#!/bin/sh\nexec "{Path(sys.executable).with_name("meter")}" ptd "$@"\n'
    )
    ptd.chmod(0o755)
    workload = tmp_path / "workload.sh"
    workload.write_text(WORKLOAD)
    workload.chmod(0o755)
    port = own_port()
    config = tmp_path / "server.conf"
    sections = "".join(
        one.section(number) for number, one in enumerate(analyzers, start=1)
    )
    config.write_text(
        f"[server]\nntpServer: {ntp}\nlisten: {HERE} {port}\n[ptd]\nptd: {ptd}\n"
        f"analyzerCount: {len(analyzers)}\n{sections}"
    )
    environment = {
        name: value for name, value in os.environ.items() if name != "MLPP_DEBUG"
    } | {"TZ": "UTC"}
    programs = harness / "ptd_client_server"
    serve = [sys.executable, str(programs / "server.py"), "-c", str(config)]
    with contextlib.ExitStack() as stack:
        said = stack.enter_context((tmp_path / "server.txt").open("w+"))
        server = stack.enter_context(
            subprocess.Popen(
                serve,
                stderr=said,
                env=environment,
                cwd=tmp_path,
            )
        )
        stack.callback(server.terminate)
        while (
            "Ready to accept connections" not in (tmp_path / "server.txt").read_text()
        ):
            assert server.poll() is None, (tmp_path / "server.txt").read_text()
            time.sleep(0.1)
        ask = [
            sys.executable,
            str(programs / "client.py"),
            "-a",
            HERE,
            "-p",
            str(port),
            "-n",
            ntp,
            "-T",
            "-S",
        ]
        ask += ["-w", str(workload), "-L", "loadgen", "-o", "out"]
        client = subprocess.run(
            ask,
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert client.returncode == 0, (
            client.stderr + (tmp_path / "server.txt").read_text()
        )
        assert server.wait(TIMEOUT_S) == 0
    return tmp_path / "out"


def checked(
    harness: Path,
    results: Path,
    known_version: str | None = None,
) -> dict[str, bool]:
    """What each check of compliance/check.py says; it may be told to know one more version."""
    program = "import sys, check; sys.exit(check.check(sys.argv[1]))"
    if known_version is not None:
        program = f"import check; check.SUPPORTED_VERSION.append({known_version!r}); {program}"
    ended = subprocess.run(
        [sys.executable, "-c", program, str(results)],
        cwd=harness / "compliance",
        capture_output=True,
        text=True,
        check=False,
    )
    print(ended.stderr)  # noqa: T201 - what each check says, for whoever runs this with -rP
    assert "Warnings encountered" not in ended.stderr, ended.stderr
    return {
        name: mark == "x" for mark, name in re.findall(r"\[([x ])\] (.*)", ended.stderr)
    }


def known_version(
    results: Path,
) -> str:
    """The version that the daemon gave, which the check does not know."""
    replies = json.loads((results / "power/server.json").read_text())["ptd_messages"]
    version = re.search(r"version=(.+?)-", replies[1]["reply"])
    assert version
    assert version[1].startswith("lpirc meter")
    return version[1]


def rows_of(
    file: Path,
) -> list[list[str]]:
    return [line.split(",") for line in file.read_text().splitlines() if line]


def test_every_check_passes_but_the_one_that_demands_the_binary_of_spec(
    harness: Path,
    simulate: Any,
    run: Any,
) -> None:
    meter = simulate("--model", "WT310E", "--load", LOAD)
    results = run(Analyzer(meter.address, 49))
    assert checked(harness, results) == {name: name != OWN_BINARY for name in CHECKS}
    # Nothing else is hidden behind the version: were it known, all would pass.
    assert checked(harness, results, known_version(results)) == dict.fromkeys(
        CHECKS, True
    )
    rows = rows_of(results / "run_1/spl.txt")
    assert len(rows) > 10
    assert {row[10] for row in rows} == {"Mark"}
    assert all(30.0 <= float(row[3]) <= 36.0 for row in rows)


def test_channels_of_one_meter_pass_the_same_checks_as_one_meter(
    harness: Path,
    simulate: Any,
    run: Any,
) -> None:
    meter = simulate("--model", "WT333E", "--load", LOAD)
    results = run(Analyzer(meter.address, 77, "channel: 1,2\n"))
    assert checked(harness, results) == {name: name != OWN_BINARY for name in CHECKS}
    assert checked(harness, results, known_version(results)) == dict.fromkeys(
        CHECKS, True
    )
    rows = rows_of(results / "run_1/spl.txt")
    assert len(rows) > 10
    for row in rows:
        assert [row[at] for at in (10, 12, 21)] == ["Mark", "Ch1", "Ch2"]
        # Each of three elements has a third of the load.
        total, first, second = (float(row[at]) for at in (3, 14, 23))
        assert 10.0 <= first <= 12.0
        assert total == pytest.approx(first + second)


def test_two_analyzers_are_merged_and_each_on_its_own_passes_the_same_checks(
    harness: Path,
    simulate: Any,
    run: Any,
) -> None:
    loads = (LOAD, "constant:12W")
    meters = [simulate("--model", "WT310E", "--load", load) for load in loads]
    results = run(*(Analyzer(meter.address, 49) for meter in meters))
    expected = {name: name != OWN_BINARY for name in CHECKS}
    assert checked(harness, results) == expected
    # Were the version known, the same check would fail on what it makes of two analyzers: it counts the Stops of both
    # as those of one, whose third has nothing to stop. On the messages of each alone it passes.
    version = known_version(results)
    assert checked(harness, results, version) == expected
    record = results / "power/server.json"
    whole = json.loads(record.read_text())
    messages = whole["ptd_messages"]
    second = max(at for at, one in enumerate(messages) if one["cmd"] == "Hello")
    assert second > 0
    # The harness merges before the first analyzer gets its ranges back, which the last two messages do.
    for part in (messages[:second] + messages[-2:], messages[second:]):
        record.write_text(json.dumps({**whole, "ptd_messages": part}))
        assert checked(harness, results, version) == dict.fromkeys(CHECKS, True)
    rows = rows_of(results / "run_1/spl.txt")
    assert len(rows) > 10
    for row in rows:
        assert (row[12], row[25]) == ("Analyzer1", "Analyzer2")
        total, first, second = (float(row[at]) for at in (3, 16, 29))
        assert total == pytest.approx(first + second)
        assert second == pytest.approx(12.0)


def page_commands() -> str:
    """The commands of the page, from the clone to the report, word for word."""
    text = (
        PAGE.read_text()
        .partition("## From nothing to a report")[2]
        .partition("## Several meters")[0]
    )
    blocks = re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, re.MULTILINE)
    return "\n".join(
        re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in blocks
    )


def test_the_commands_of_the_page_lead_from_nothing_to_a_report(
    harness: Path,
    ntp: str,
    tmp_path: Path,
) -> None:
    script = page_commands().replace("NTP=pool.ntp.org", f"NTP={ntp}")
    assert script.count(ntp) == 1
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        # The address of the page leads to the checkout.
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{harness.resolve()}.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/mlcommons/power-dev",
    }
    environment.pop("MLPP_DEBUG", None)
    ended = subprocess.run(
        ["bash", "-c", script],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1, ended.stderr
    marks = re.findall(r"\[([x ])\] (.*)", ended.stderr)
    assert {name: mark == "x" for mark, name in marks} == {
        name: name != OWN_BINARY for name in CHECKS
    }
    assert "Not all checks passed" in ended.stderr
    table = PAGE.read_text()
    for name in CHECKS:
        assert name in table
    for file in re.findall(r"`out/((?:power|ranging|run_1)/[\w.*]+)`", table):
        assert [*(tmp_path / "out").glob(file)], file
