from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.cli.certifying import Certification
from lpirc_power.cli.transcript import Transcript
from lpirc_power.errors import MeterTimeout
from lpirc_power.meter import Identity, Setup
from lpirc_power.visa.link_failures import no_host
from tests.power.cli.conftest import METER, Run, one_line
from tests.power.wt300.conversations.conversation import parse
from tests.power.wt300.conversations.test_conversations import play
from tests.timeouts import TIMEOUT_S

RANGES = ("--voltage-range", "150", "--current-range", "0.5")


class Person:
    """Reads what the program asks, and presses Enter."""

    def __init__(self, program: subprocess.Popen[bytes]) -> None:
        self._program = program
        self.seen = ""

    def asked(
        self,
        word: str,
    ) -> None:
        assert self._program.stdout is not None
        while word not in self.seen:
            part = os.read(self._program.stdout.fileno(), 4096).decode()
            assert part, f"it ended without {word!r}: {self.seen}"
            self.seen += part

    def enters(self) -> None:
        assert self._program.stdin is not None
        self._program.stdin.write(b"\n")
        self._program.stdin.flush()


def test_a_meter_is_tried_with_its_link_pulled_and_the_driver_plays_what_it_said(
    simulate: Any,
    relay: Any,
    asked: Any,
    knobs: Any,
    until: Any,
    tmp_path: Path,
) -> None:
    box = simulate("--load", "constant:36W")
    cable = relay(box.port)
    file = tmp_path / "box.json"
    before = knobs(box.address)
    command = [
        *METER,
        "certify",
        cable.address,
        "--seconds",
        "5",
        "--load-w",
        "40",
        "--out",
        str(file),
        *RANGES,
    ]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as program:
        person = Person(program)
        for question in ("load off", "load on", "unplug"):
            person.asked(question)
            person.enters()
        # In mid-run: the start has been confirmed.
        until(
            lambda: (
                float(
                    asked(box.address, ":NUMERIC:NORMAL:ITEM255 TIME,1;VALUE? 255")[0]
                )
                >= 1
            )
        )
        cable.cut()
        noticed = cable.accepted
        until(lambda: cable.accepted > noticed)
        cable.mend()
        person.asked("Everything is in")
        assert program.wait(TIMEOUT_S) == 1  # the load is not the one that was named

    text = file.read_text()
    assert cable.address not in text
    facts = json.loads(text)
    found = {one["code"]: one for one in facts["findings"]}
    assert not found["load-power"]["ok"]
    assert found["load-power"]["sentence"] == "36 W measured, 40 W known."
    # On a busy machine some updates may be missed.
    wrong = {
        code
        for code, one in found.items()
        if not one["ok"] and not code.endswith("-reading-gaps")
    }
    assert wrong == {"load-power"}
    assert {
        "restored",
        "stopped",
        "idle-integrator-trapezoid",
        "link-integrator-trapezoid",
        "link-back",
    } <= set(found)
    assert "its integrator went on" in found["link-back"]["sentence"]
    assert set(facts["recordings"]) == {"idle", "load", "link"}
    assert facts["skipped"] == []
    named = next(one for one in facts["exchanges"] if one["sent"] == "*IDN?")
    assert named["answer"].startswith("YOKOGAWA,WT310,SIMULATED")
    assert named["answer"].endswith("\n")
    assert named["took_ms"] > 0
    assert knobs(box.address)[4:] == before[4:]  # automatic ranges move by themselves

    said = parse("certified", "\n".join(facts["conversation"]))
    play(said)
    steps = {step.action.split()[0] for step in said.steps}
    assert {
        "identify",
        "look",
        "status",
        "choices",
        "peaks",
        "zero",
        "attach",
        "configure",
        "changes",
    } <= steps
    assert {"start", "read_update", "stop", "read_final", "restore"} <= steps


@pytest.mark.parametrize(
    ("serial", "kept"),
    [
        ("C2PH13047V", False),
        ("SIMULATED-1", True),
        ("10", True),
        ("", True),
    ],
)
def test_the_file_names_no_address_and_the_serial_number_only_of_a_simulated_meter(
    serial: str,
    kept: bool,
) -> None:
    address = "USB0::0x0B21::0x0025::43325048313330343756::INSTR"
    tried = Certification(
        address,
        Setup(None, None, 0.25, 0),
        identity=Identity("M", "WT310", serial, "F1"),
    )
    masked = tried.masked(f"M,WT310,{serial},F1.10; {address}; {serial}")
    assert (serial in masked) == kept
    assert address not in masked


def test_the_file_names_neither_resource_nor_host_where_a_sentence_does() -> None:
    tried = Certification(
        "TCPIP::box.lab.example::INSTR@py",
        Setup(None, None, 0.25, 0),
    )
    found = tried.masked(
        str(no_host("TCPIP::box.lab.example::INSTR", "box.lab.example"))
    )
    assert "box.lab" not in found


def test_a_file_that_cannot_be_written_is_said_before_anything_is_tried(
    meter: Any,
) -> None:
    ended = meter(
        "certify", "sim:", "--yes", "--seconds", "5", "--out", "/proc/certified.json"
    )
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert one_line(ended.stderr)


def test_a_meter_that_integrates_is_left_alone(
    simulate: Any,
    meter: Any,
    asked: Any,
    tmp_path: Path,
) -> None:
    address = simulate().address
    asked(address, ":INTEGRATE:START;:INTEGRATE:STATE?")
    ended = meter("certify", address, "--yes")
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert one_line(ended.stderr)
    assert "is integrating" in ended.stderr
    assert asked(address, ":INTEGRATE:STATE?")[0].startswith("STAR")
    assert list(tmp_path.iterdir()) == []


def test_a_meter_that_cannot_be_set_up_so_is_not_started(
    simulate: Any,
    meter: Any,
    asked: Any,
    tmp_path: Path,
) -> None:
    address = simulate().address
    ended = meter("certify", address, "--yes", "--seconds", "5", "--element", "sum")
    assert ended.returncode == 1
    assert "has element 1 only" in ended.stdout
    assert asked(address, ":INTEGRATE:STATE?")[0].startswith("RES")
    assert (tmp_path / "meter-certify.json").exists()


def test_a_file_that_is_there_already_is_kept(
    meter: Any,
    tmp_path: Path,
) -> None:
    (tmp_path / "meter-certify.json").write_text("mine")
    ended = meter("certify", "sim:", "--yes")
    assert ended.returncode == 1
    assert "meter-certify.json exists already" in ended.stderr
    assert (tmp_path / "meter-certify.json").read_text() == "mine"


def test_a_part_is_skipped_however_a_person_writes_it(tmp_path: Path) -> None:
    file = tmp_path / "box.json"
    command = [*METER, "certify", "sim:", "--out", str(file)]
    subprocess.run(
        command,
        input="S\n s \nskip\n",
        text=True,
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert json.loads(file.read_text())["skipped"] == ["idle", "load", "link"]


def test_a_question_without_a_terminal_says_so(meter: Run, tmp_path: Path) -> None:
    ended = meter("certify", "sim:constant:36W", "--seconds", "5", "--out", "a.json")
    assert ended.returncode == 1
    assert "Nobody answers, since stdin is no terminal" in ended.stderr
    assert "or add --yes." in ended.stderr
    assert "Aborted" not in ended.stderr
    assert (tmp_path / "a.json").exists()


def test_a_folder_that_is_not_there_is_told_before_the_meter_is_touched(
    meter: Any,
) -> None:
    ended = meter("certify", "sim:", "--yes", "--out", "none/x.json")
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert "no folder 'none'" in ended.stderr


def test_a_question_without_an_answer_and_a_call_that_fails_are_marked() -> None:
    transcript = Transcript()
    link = logging.getLogger("lpirc_power.visa.link")
    with transcript.opened():
        with transcript.step("attach", "1"):
            link.debug("> %s", "*CLS")
            link.debug("> %s", "*IDN?")
            link.debug("< %r", b"A,B,C,D\r\n")
        with contextlib.suppress(MeterTimeout), transcript.step("state"):
            link.debug("> %s", ":INTEGRATE:STATE?")
            raise MeterTimeout("silent")
    link.debug("> %s", "*RST")
    told = ["", "= attach 1", "> *CLS", "> *IDN?", "< A,B,C,D"]
    assert transcript.conversation == [
        *told,
        "",
        "= state ! meter-timeout",
        "> :INTEGRATE:STATE?",
        "! meter-timeout",
    ]
    assert [exchange["answer"] for exchange in transcript.exchanges] == [
        None,
        "A,B,C,D\r\n",
        None,
    ]
    failure = parse("marked", "\n".join(transcript.conversation)).exchanges[-1].failure
    assert failure == "meter-timeout"


def test_ctrl_c_restores_the_meter_and_keeps_what_was_said(
    simulate: Any,
    started: Any,
    asked: Any,
    knobs: Any,
    until: Any,
    tmp_path: Path,
) -> None:
    address = simulate().address
    before = knobs(address)
    certifying = started(
        "certify", address, "--yes", "--mode", "dc", "--update", "1", *RANGES
    )
    until(lambda: asked(address, ":INTEGRATE:STATE?")[0].startswith("STAR"))
    certifying.send_signal(signal.SIGINT)
    assert certifying.wait(TIMEOUT_S) == 130
    assert asked(address, ":INTEGRATE:STATE?")[0].startswith("RES")
    assert knobs(address)[4:] == before[4:]  # automatic ranges move by themselves
    facts = json.loads((tmp_path / "meter-certify.json").read_text())
    assert "start" in {one["code"] for one in facts["findings"]}


def test_a_link_lost_between_the_calls_leaves_the_meter_as_it_was(
    simulate: Any,
    relay: Any,
    started: Any,
    asked: Any,
    knobs: Any,
    until: Any,
    tmp_path: Path,
) -> None:
    box = simulate()
    cable = relay(box.port)
    before = knobs(box.address)
    certifying = started(
        "certify", cable.address, "--yes", "--mode", "dc", "--update", "1", *RANGES
    )
    until(lambda: asked(box.address, ":INTEGRATE:STATE?")[0].startswith("STAR"))
    cable.cut()
    noticed = cable.accepted
    until(lambda: cable.accepted > noticed)
    cable.mend()
    assert certifying.wait(TIMEOUT_S) == 1
    assert one_line(certifying.stderr.read())
    assert asked(box.address, ":INTEGRATE:STATE?")[0].startswith("RES")
    assert knobs(box.address)[4:] == before[4:]
    facts = json.loads((tmp_path / "meter-certify.json").read_text())
    assert not facts["findings"][-1]["ok"]
    play(parse("lost", "\n".join(facts["conversation"])))
