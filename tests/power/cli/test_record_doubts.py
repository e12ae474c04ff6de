"""Recordings whose energy is not to be trusted, or that cannot be begun: what is printed, and the exit code."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.visa.link import Link
from tests.power.cli.conftest import one_line, went_well
from tests.timeouts import TIMEOUT_S

FIXED = ("--voltage-range", "150", "--current-range", "0.5", "--update", "0.1")
CLIPPED = ("--voltage-range", "150", "--current-range", "0.1", "--update", "0.1")


def lines_in(path: Path) -> int:
    return path.read_text().count("\n") if path.exists() else 0


@pytest.fixture
def recording(
    started: Any,
    tmp_path: Path,
    until: Any,
) -> Any:
    """Start a recording and wait for its first rows."""

    def start(address: str, *options: str) -> Any:
        process = started(
            "record", address, "-o", "run.csv", "--json", *FIXED, *options
        )
        until(lambda: lines_in(tmp_path / "run.csv") > 8)
        return process

    return start


def ended(process: Any) -> tuple[dict[str, Any], str]:
    """End a recording; return its facts and the last line it told on stderr."""
    process.send_signal(signal.SIGINT)
    told, complaint = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 1
    assert "Traceback" not in complaint
    return json.loads(told), complaint.splitlines()[-1]


def test_a_meter_that_was_switched_off_gives_no_energy(
    simulate: Any,
    meter: Any,
    recording: Any,
) -> None:
    box = simulate("--control", "0")
    control = box.process.stdout.readline().split()[1]
    process = recording(box.address)
    assert meter("fault", control, "restart", "lose", "0.5").returncode == 0
    for _ in range(50):
        if "is back" in process.stderr.readline():
            break
    facts, last = ended(process)
    assert facts["energy_wh"] is None
    assert facts["energy_j"] is None
    assert facts["mean_power_w"] is None
    assert last.startswith("meter: There is no energy of the meter YOKOGAWA WT310")
    assert facts["no_energy"] in last


def test_another_meter_at_the_end_is_a_failure(
    simulate: Any,
    recording: Any,
) -> None:
    box = simulate("--serial", "S1")
    process = recording(box.address)
    box.kill()
    simulate("--serial", "S2", "--port", str(box.port))
    process.send_signal(signal.SIGINT)
    told, complaint = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 1
    assert told == ""
    assert "Another meter answers" in complaint.splitlines()[-1]


def test_a_recording_that_takes_the_meter_over_spoils_the_other_and_it_is_told(
    simulate: Any,
    meter: Any,
    recording: Any,
) -> None:
    address = simulate("--load", "constant:36W").address
    process = recording(address)
    other = meter(
        "record", address, "-o", "other.csv", "--duration", "1", "--take-over", *FIXED
    )
    assert went_well(other), other.stderr
    facts, last = ended(process)
    assert facts["energy_wh"] is None
    assert "There is no energy" in last


def test_a_stop_at_the_panel_needs_review(
    simulate: Any,
    recording: Any,
    tmp_path: Path,
    until: Any,
) -> None:
    address = simulate("--load", "constant:36W").address
    process = recording(address)
    with contextlib.closing(Link(address)) as panel:
        panel.write(":INTEGRATE:STOP")
    until(lambda: ",STOP," in (tmp_path / "run.csv").read_text())
    facts, last = ended(process)
    assert facts["needs_review"] is True
    assert facts["energy_wh"] > 0
    assert "The energy needs review: " in last
    assert "integrator-stopped" in last


def test_a_failed_check_is_exit_code_1_and_stands_beside_the_energy(
    simulate: Any,
    meter: Any,
) -> None:
    address = simulate("--load", "constant:36W").address
    failed = meter("record", address, "-o", "run.csv", "--duration", "1", *CLIPPED)
    assert failed.returncode == 1
    assert one_line(failed.stderr)
    assert "The energy needs review: " in failed.stderr
    energy = failed.stdout.splitlines()[0]
    assert "over-range, peak-clipping" in energy.split(", needs review: ")[1]


def test_a_programs_own_failure_is_the_exit_code(
    simulate: Any,
    meter: Any,
) -> None:
    address = simulate("--load", "constant:36W").address
    for own, code in ((7, 7), (0, 1)):
        program = (
            sys.executable,
            "-c",
            f"import time; time.sleep(0.5); raise SystemExit({own})",
        )
        ran = meter(
            "record",
            address,
            "-o",
            "run.csv",
            "--force",
            "--json",
            *CLIPPED,
            "--",
            *program,
        )
        assert ran.returncode == code
        assert one_line(ran.stderr)
        assert json.loads(ran.stdout)["needs_review"] is True


def test_a_short_program_has_an_energy_but_no_mean_power(
    simulate: Any,
    meter: Any,
) -> None:
    address = simulate("--load", "constant:36W").address
    program = (sys.executable, "-c", "import time; time.sleep(1.2)")
    ran = meter("record", address, "-o", "run.csv", *FIXED[:-1], "0.5", "--", *program)
    assert "energy           0.0" in ran.stderr
    assert "mean power       unknown: " in ran.stderr
    assert "for start and stop" in ran.stderr


def test_a_dash_is_no_file(
    meter: Any,
    tmp_path: Path,
) -> None:
    refused = meter("record", "sim:", "-o", "-", "--duration", "1")
    assert refused.returncode == 2
    assert "meter watch" in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told_with_the_file_and_how_much_is_in_it(
    simulate: Any,
    meter: Any,
) -> None:
    full = meter(
        "record",
        simulate().address,
        "-o",
        "/dev/full",
        "--force",
        "--duration",
        "1",
        *FIXED,
    )
    assert full.returncode == 1
    assert one_line(full.stderr)
    assert "/dev/full is incomplete: it holds 0 of " in full.stderr
    assert "recording        0 of " in full.stdout


def test_ctrl_c_before_a_result_is_one_sentence_and_130(started: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        probing = started("probe", f"TCPIP::127.0.0.1,{silent.getsockname()[1]}::INSTR")
        connection, _ = silent.accept()
        with connection:
            probing.send_signal(signal.SIGINT)
            _, complaint = probing.communicate(timeout=TIMEOUT_S)
    assert probing.returncode == 130
    assert complaint == "meter: Ended by Ctrl-C, before there was a result.\n"


def test_a_server_of_another_kind_is_told_as_such(meter: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as web:

        def answer() -> None:
            connection, _ = web.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(
                    b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
                )

        server = threading.Thread(target=answer)
        server.start()
        told = meter("probe", f"TCPIP::127.0.0.1,{web.getsockname()[1]}::INSTR")
        server.join()
    assert told.returncode == 1
    assert one_line(told.stderr)
    assert "does not speak VXI-11" in told.stderr
