"""What the client does on Windows and macOS, as far as Linux can pretend to be them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.client.referee_double import PASSWORD, Referee
from tests.pretended_system import imported, run, run_code

DETECTOR = (
    "def detect(jpeg, categories):\n    yield categories[0].id, 0.5, 1, 2, 3, 4\n"
)
NO_MODELS = "models run on Linux and other POSIX systems, not on Windows; use WSL 2"
SYSTEMS = ("win32", "darwin")
ENDED = """
import sys, threading
from lpirc_client.errors import ClientError
from lpirc_client.parent import ending_with
try:
    with ending_with(int(sys.argv[1])):
        for _ in range(1000):
            threading.Event().wait(0.1)
except ClientError as gone:
    print(gone.code)
"""
CONNECTED = """
import select, socket
from lpirc_client.conformance.proxy import _has_ended
with socket.create_server(("127.0.0.1", 0)) as listener:
    ours = socket.create_connection(listener.getsockname())
    theirs, _ = listener.accept()
print(_has_ended(ours), ours.gettimeout())
theirs.send(b"x")
select.select([ours], [], [])
print(_has_ended(ours), ours.recv(1))
theirs.close()
select.select([ours], [], [])
print(_has_ended(ours))
"""


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_module_is_imported(system: str, tmp_path: Path) -> None:
    assert "lpirc_client.conformance.proxy" in imported(
        system,
        tmp_path,
        "lpirc_client",
    )


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_run_is_done_with_all_its_files(
    system: str,
    referee: Referee,
    tmp_path: Path,
) -> None:
    (tmp_path / "mine.py").write_text(DETECTOR)
    (tmp_path / "password").write_text(PASSWORD)
    files = (
        "--password-file",
        "password",
        "--receipts",
        "receipts.jsonl",
        "--timeline",
        "timeline.json",
    )
    options = ("--team", "alpha", "--detector", "mine:detect", "--json", *files)
    done = run(system, tmp_path, "lpirc-client", "run", referee.url, *options)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["images"] == 5
    assert len(referee.posts) == 1
    assert referee.phase == "closed"
    assert json.loads((tmp_path / "timeline.json").read_bytes())


def test_a_model_is_refused_in_one_sentence_on_windows(tmp_path: Path) -> None:
    refused = run(
        "win32",
        tmp_path,
        "lpirc-harness",
        "validate",
        "m.tflite",
        "--task",
        "detection",
    )
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert refused.stderr == f"lpirc-harness: {NO_MODELS}\n"


def test_a_device_with_windows_takes_no_work(referee: Referee, tmp_path: Path) -> None:
    refused = run(
        "win32", tmp_path, "lpirc-client", "work", referee.url, "--name", "laptop"
    )
    assert refused.returncode == 1
    assert refused.stderr == f"lpirc-client: {NO_MODELS}\n"
    assert not referee.requests


@pytest.mark.parametrize("system", SYSTEMS)
def test_it_ends_with_the_process_that_it_is_told(system: str, tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as ended:
        pass
    assert run_code(system, tmp_path, ENDED, ended.pid) == "parent-gone\n"


@pytest.mark.parametrize("system", SYSTEMS)
def test_an_end_of_a_connection_is_seen_without_waiting_or_reading(
    system: str,
    tmp_path: Path,
) -> None:
    assert run_code(system, tmp_path, CONNECTED) == "False None\nFalse b'x'\nTrue\n"
