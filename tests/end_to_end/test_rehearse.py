"""`referee rehearse`: the whole day on this machine, and nothing left behind but its report."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests import warm_programs
from tests.contest_day import (
    KEYS,
    TIMEOUT_S,
    called,
    descendants_of,
    is_running,
    processes_naming,
    refers,
    shared,
    until,
)


def rehearsed(folder: Path, *options: str) -> dict[str, Any]:
    """The document of a rehearsal that left nothing running."""
    result = refers("rehearse", "--out", str(folder), "--json", *options)
    assert result.returncode == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    assert processes_naming(str(folder)) == []
    for log in folder.glob("*.log"):
        assert "Traceback" not in log.read_text()
    return document


def figures(document: dict[str, Any], code: str) -> dict[str, float]:
    found: dict[str, float] = next(
        check["figures"] for check in document["checks"] if check["code"] == code
    )
    return found


def start_stop_share(document: dict[str, Any]) -> float:
    """The meter starts before the window and stops after it: by how much, as the run itself has measured it."""
    return figures(document, "integrator-trapezoid")["start_stop_s"] / float(
        document["elapsed_s"]
    )


def failed(document: dict[str, Any]) -> list[str]:
    """The checks that failed, but for updates that a busy machine missed."""
    missed = figures(document, "reading-gaps")["gaps"] == 0
    codes = [check["code"] for check in document["checks"] if not check["ok"]]
    return [code for code in codes if not (missed and code == "reading-gaps")]


def test_a_rehearsal_gives_a_score_with_every_check_ok_but_that_its_meter_is_simulated(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "rehearsal"
    document = rehearsed(folder, "--images", "12")
    assert document.keys() >= KEYS
    assert failed(document) == ["official-meter"]
    assert document["needs_review"] is False
    assert document["official"] is False
    assert 0 < document["map"] < 1
    assert document["images"] == 12
    assert document["detections"] > 0
    assert document["energy_wh"] > 0
    assert document["score"] == document["map"] / document["energy_wh"]
    assert 0 < document["elapsed_s"] < 60
    assert 2 <= document["mean_power_w"] <= 9 * (1 + start_stop_share(document)) + 0.01
    assert document["signature"]
    assert json.loads((folder / "report.json").read_text()) == document
    assert [
        path for path in document["paths"].values() if not Path(path).exists()
    ] == []
    assert [*document["paths"].values()][-2:] == [
        str(folder / "report.html"),
        str(folder / "bundle.zip"),
    ]

    again = refers("rehearse", "--images", "12", "--out", str(folder), "--json")
    assert again.returncode == 1
    assert again.stdout == ""
    assert again.stderr.splitlines()[-1].startswith("referee: ")
    assert "not empty" in again.stderr.splitlines()[-1]
    judged = refers("judge", "1", "--contest", str(folder), "--json")
    assert json.loads(judged.stdout)["map"] == document["map"]


def test_a_recording_of_a_real_meter_is_measured_as_it_was(tmp_path: Path) -> None:
    recording = shared("lpirc2015", "wt310_readings_user_330.csv")
    document = rehearsed(
        tmp_path / "rehearsal", "--images", "2", "--load", f"csv:{recording}"
    )
    watts = [
        float(line.split(",")[2])
        for line in recording.read_text().split()
        if "+037" not in line
    ]
    assert (
        min(watts)
        <= document["mean_power_w"]
        <= max(watts) * (1 + start_stop_share(document))
    )


def test_a_recording_of_meter_record_is_a_load(tmp_path: Path) -> None:
    recording = tmp_path / "rec.csv"
    options = [
        "--duration",
        "2",
        "--update",
        "0.25",
        "--voltage-range",
        "150",
        "--current-range",
        "0.5",
    ]
    for load, file in (
        ("constant:36W", recording),
        (f"csv:{recording}", tmp_path / "again.csv"),
    ):
        recorded = warm_programs.run(
            ["meter", "record", f"sim:{load}", "-o", str(file), *options, "--json"]
        )
        assert recorded.returncode == 0, recorded.stderr
        facts = json.loads(recorded.stdout)
        assert facts["mean_power_w"] == pytest.approx(36, rel=0.001)
        assert facts["energy_j"] == pytest.approx(36 * 2, rel=0.001)


@pytest.mark.parametrize(
    ("load", "told"),
    [
        ("bogus", "'sim:bogus' is not the address of a meter. There is no load"),
        (
            "constant:many",
            "'sim:constant:many' is not the address of a meter. The load",
        ),
        ("csv:none.csv", "No simulated meter: "),
        ("cpu:x", "'sim:cpu:x' is not the address of a meter. The load"),
    ],
)
def test_a_load_that_there_is_not_is_told_once_before_anything_is_made(
    tmp_path: Path, load: str, told: str
) -> None:
    folder = tmp_path / "rehearsal"
    result = refers("rehearse", "--out", str(folder), "--load", load)
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.startswith(f"referee: {told}")
    assert result.stderr.count("\n") == 1
    assert not folder.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_rehearsal_stopped_in_mid_run_leaves_no_process(
    tmp_path: Path,
    number: signal.Signals,
) -> None:
    folder = tmp_path / "rehearsal"
    arguments = [
        "rehearse",
        "--images",
        "12",
        "--out",
        str(folder),
        "--load",
        "constant:36W",
    ]
    process = warm_programs.start(["referee", *arguments])
    until(lambda: is_open(folder))
    family = descendants_of(process.pid)
    os.kill(process.pid, number)
    _, stderr = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == (-signal.SIGKILL if number == signal.SIGKILL else 130)
    assert "Traceback" not in stderr
    assert len(family) >= 4  # client, meter, server and its worker
    until(
        lambda: not any(map(is_running, family)) and not processes_naming(str(folder))
    )


HANGING = """\
import http.client, json, sys, time
from urllib.parse import urlsplit
url, team, file, password = sys.argv[1:]
assert open(file).read().strip() == password
print("the client is at", url, flush=True)
connection = http.client.HTTPConnection(urlsplit(url).netloc)
connection.request("POST", "/v1/session", json.dumps({"team": team, "password": password}))
print(b"not in UTF-8: \\xff", connection.getresponse().status, flush=True)
time.sleep(1000)
"""


def test_any_program_is_the_contestant_and_one_that_hangs_is_ended_and_judged(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("referee.cli.rehearsed_client.CLIENT_END_S", 3.0)
    (tmp_path / "hanging.py").write_text(HANGING)
    folder = tmp_path / "rehearsal"
    words = [
        sys.executable,
        str(tmp_path / "hanging.py"),
        "{url}",
        "{team}",
        "{password_file}",
        "{password}",
    ]
    sizes = ["--images", "2", "--window", "1", "--json"]
    result = called(
        "rehearse", "--out", str(folder), *sizes, "--client", shlex.join(words)
    )
    document = json.loads(result.stdout)
    assert result.returncode == 1
    assert document["exit_code"] == -signal.SIGKILL
    assert document["closed_by"] == "deadline"
    assert document["map"] == 0.0
    told = [
        "The client still ran 3 s after its window of 1 s, and was killed.",
        "The client did not log out: the run lasted until the end of its window.",
    ]
    assert document["remarks"] == told
    assert result.stderr.splitlines()[-2:] == told
    log = (folder / "client.log").read_text()
    assert log.startswith("the client is at http://127.0.0.1:")
    assert log in result.stderr
    assert log.endswith(" 201\n")
    assert "receipts" not in document["paths"]
    assert processes_naming(str(folder)) == processes_naming("hanging.py") == []


def test_a_program_that_there_is_not_is_told_before_anything_is_made(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "rehearsal"
    result = called(
        "rehearse", "--out", str(folder), "--client", "./there-is-none {url}"
    )
    told = (
        "referee: There is no program './there-is-none' that can be executed; "
        "check its name, and write its path if PATH does not lead to it\n"
    )
    assert result.returncode == 1
    assert result.stderr == told
    assert folder.exists() is False


def is_open(folder: Path) -> bool:
    """Whether the rehearsal's run is open, by a look that changes nothing."""
    try:
        with closing(
            sqlite3.connect(f"file:{folder / 'contest.db'}?mode=ro", uri=True)
        ) as database:
            return bool(
                database.execute("SELECT 1 FROM runs WHERE state = 'open'").fetchall()
            )
    except sqlite3.OperationalError:
        return False
