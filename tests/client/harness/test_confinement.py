"""A model's process that tries to leave its namespaces, by real attempts, beside one that is not confined."""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
from pathlib import Path

import pytest

from lpirc_client.harness import confinement as confining
from lpirc_client.harness.confinement import Confinement, confinement
from lpirc_client.harness.model_process import ModelProcess, launch
from lpirc_client.harness.model_settings import Settings
from lpirc_client.harness.validator import load
from tests.client.harness.pictures import model_file
from tests.contest_day import descendants_of
from tests.deploy.deployment import program
from tests.tflite_models import classifier

pytestmark = pytest.mark.skipif(
    sys.platform != "linux",
    reason="namespaces are those of Linux",
)

OPEN = Confinement(reason="for comparison")
BREAKING_OUT = """
import json, os, socket, sys
forbidden, port, owner, *places = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:]

def attempt(action):
    try:
        action()
    except OSError as error:
        return type(error).__name__
    return "done"

print(json.dumps({
    "reads": attempt(lambda: open(forbidden).read()),
    "lists": attempt(lambda: os.listdir(os.path.dirname(forbidden))),
    "writes": [place for place in places if attempt(lambda: open(place + "/left-behind", "x").close()) == "done"],
    "connects": attempt(lambda: socket.create_connection(("127.0.0.1", port), 5)),
    "signals": attempt(lambda: os.kill(owner, 0)),
    "processes": sum(name.isdigit() for name in os.listdir("/proc")),
    "environment": os.environ.get("CLOUD_KEY"),
}))
"""


def attempts(confined: Confinement, *arguments: object) -> dict[str, object]:
    with tempfile.TemporaryFile() as log:
        process = launch(confined, ["-c", BREAKING_OUT, *map(str, arguments)], log)
        assert process.wait(60) == 0
        log.seek(0)
        return json.loads(log.read())  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def confined() -> Confinement:
    """What confines here; without it a test is skipped, but not on a CI machine."""
    program("bwrap")
    found = confinement()
    if not found.prefix:
        reason = f"models cannot be confined here: {found.reason}"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    return found


def test_code_in_a_models_process_reads_no_labels_writes_nothing_and_reaches_no_one(
    confined: Confinement,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("file,label\n1.jpg,7\n")
    monkeypatch.setenv("CLOUD_KEY", "otters' own")
    with socket.create_server(("127.0.0.1", 0)) as server:
        places = (labels, server.getsockname()[1], os.getpid(), tmp_path)
        outside = attempts(OPEN, *places)
        folders = ("/", "/tmp", "/dev", "/dev/shm", f"{sys.prefix}/lib")  # noqa: S108
        inside = attempts(confined, *places, *folders)
    done = ("reads", "lists", "connects", "signals")
    assert [outside[name] for name in done] == ["done"] * 4
    assert [inside[name] for name in done] == [
        "FileNotFoundError", "FileNotFoundError", "ConnectionRefusedError", "ProcessLookupError"
    ]  # fmt: skip
    assert inside["writes"] == []
    assert inside["processes"] == 2
    assert inside["environment"] is None
    assert outside["writes"] == [str(tmp_path)]


def test_a_model_runs_confined_with_its_limits(confined: Confinement) -> None:
    with ModelProcess("m.tflite") as process:
        assert process.confinement is confined
        load(process, model_file(classifier()), Settings("classification", "resize"))
        (model,) = [
            pid
            for pid in descendants_of(process.pid)
            if b"harness.child" in _command(pid)
        ][-1:]
        limits = Path(f"/proc/{model}/limits").read_text()
    hard = {line[:26].strip(): line[26:].split()[1] for line in limits.splitlines()}
    assert int(hard["Max processes"]) < 64
    # Code that took over the runtime cannot raise it.
    assert int(hard["Max address space"]) < 16 << 30


def _command(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (None, "bubblewrap (bwrap) is not installed"),
        (
            "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1",
            "setting up uid map: Permission denied",
        ),
        ("exit 3", "non-zero exit status 3."),
    ],
)
def test_where_it_cannot_be_confined_a_model_runs_as_before_and_the_reason_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str | None,
    reason: str,
) -> None:
    if script is not None:
        (tmp_path / "bwrap").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = confining.confinement.__wrapped__()
    assert bool(found.prefix) is False
    assert str(found.reason).endswith(reason) is True
    with ModelProcess("m.tflite", confined=found) as process:
        load(process, model_file(classifier()), Settings("classification", "resize"))
