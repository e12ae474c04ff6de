"""The units in which the referee runs models, under a real systemd: what code that took over a model can reach."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from lpirc_testsets import synthesize
from lpirc_tracks import track_named
from lpirc_tracks.submissions import confining
from lpirc_tracks.submissions.claims import run_again
from lpirc_tracks.submissions.confining import ask_unit, confinement_of
from lpirc_tracks.submissions.harness import Limits, failure, in_unit
from referee.errors import RefereeError
from tests import onnx_models
from tests.contest_day import PASSWORD, TEAM, called, contest_day, problem, until
from tests.deploy.deployment import program
from tests.deploy.systemd import DEPLOY, changed, models_unit, models_units, running
from tests.ports import own_port
from tests.tflite_models import BLUE, GREEN, RED, classifier, detector, endless, greedy
from tests.timeouts import TIMEOUT_S
from tests.tracks.submissions.model_days import colour_set

TRACK = '\n[[tracks]]\nname = "models"\nrule = "ovic-detection"\ntestset = "{images}"\n'
UNITS = ("referee.service", "referee-models.socket", "referee-models@.service")
TAKEN_OVER = {
    "-m lpirc_client.harness.unit": '-c "import sys; exec(sys.stdin.read())"',
    "MemoryMax=5G": "MemoryMax=200M",
    "RuntimeMaxSec=300": "RuntimeMaxSec=5",
    "StandardError=journal": "StandardError=null",
}
"""Code that comes through the socket instead of the harness, and limits that a small machine reaches soon."""
REACHING = """
import json, os, socket
def attempt(action):
    try:
        action()
    except OSError as error:
        return type(error).__name__
    return "done"
def unix(path):
    socket.socket(socket.AF_UNIX).connect(path)
print(json.dumps({
    "reads": [path for path in FILES if attempt(lambda: open(path).read()) == "done"],
    "lists": [path for path in FILES if attempt(lambda: os.listdir(os.path.dirname(path))) == "done"],
    "connects": attempt(lambda: socket.create_connection(("127.0.0.1", PORT), 5)),
    "asks": attempt(lambda: unix(UNIX)),
    "signals": attempt(lambda: os.kill(OWNER, 0)),
    "processes": [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) == OWNER],
    "writes": [place for place in PLACES if attempt(lambda: open(place + "/left-behind", "x").close()) == "done"],
    "roots": attempt(lambda: os.setuid(0)),
}))
"""
FORKING = """
import os, signal, time
made = 0
try:
    for made in range(1000):
        if os.fork() == 0:
            os.setsid()
            time.sleep(1000)
except OSError:
    pass
print(made)
"""
TAKING_MEMORY = "block = [bytearray(1 << 20) for _ in range(1000)]; print('has it all')"
ENDLESS = "\nwhile True: pass\n"


@pytest.fixture(scope="module")
def taken_over(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with models_unit(tmp_path_factory.mktemp("units"), TAKEN_OVER) as unit:
        yield unit


@pytest.fixture(scope="module")
def unit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with models_unit(tmp_path_factory.mktemp("units")) as unit:
        yield unit


def said(unit: Path, code: str) -> str:
    """What code in the unit prints until it ends, or is ended."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(TIMEOUT_S)
        connection.connect(str(unit))
        connection.sendall(code.encode())
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile() as answers:
            return answers.read()


def test_the_units_are_sound() -> None:
    verified = subprocess.run(
        [program("systemd-analyze"), "verify", *(DEPLOY / name for name in UNITS)],
        capture_output=True,
        text=True,
        check=False,
    )
    # Debian 13's also says, to an ordinary user, that it cannot make a folder of its own.
    expected = ("is not executable", "Failed to create directory '/run/systemd/'")
    complaints = [
        line
        for line in verified.stderr.splitlines()
        if not any(one in line for one in expected)
    ]
    assert complaints == []


def test_code_that_took_over_a_model_reaches_neither_secrets_nor_labels_nor_anyone(
    taken_over: Path,
    tmp_path: Path,
) -> None:
    files = [tmp_path / name for name in ("secret", "contest.db", "holdout-labels.csv")]
    for file in files:
        file.write_text("kept back")
        file.chmod(0o644)  # so that only the unit hides it
    tmp_path.chmod(0o755)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as other,
    ):
        other.bind(str(tmp_path / "other.sock"))
        other.listen()
        given: dict[str, Any] = {
            "FILES": [str(file) for file in files],
            "PORT": server.getsockname()[1],
            "UNIX": str(tmp_path / "other.sock"),
            "OWNER": os.getpid(),
            "PLACES": ["/", "/tmp", "/var/tmp", "/dev/shm", "/run", str(tmp_path)],  # noqa: S108
        }
        code = (
            "".join(f"{name} = {value!r}\n" for name, value in given.items()) + REACHING
        )
        found = json.loads(said(taken_over, code))
    assert found == {
        "reads": [],
        "lists": [],
        "connects": "OSError",
        "asks": "FileNotFoundError",
        "signals": "ProcessLookupError",
        "processes": [],
        "writes": [],
        "roots": "PermissionError",
    }


def test_a_model_s_processes_memory_and_time_are_limited_by_its_control_group(
    taken_over: Path,
) -> None:
    assert int(said(taken_over, FORKING)) < 64
    assert said(taken_over, TAKING_MEMORY) == ""
    assert said(taken_over, ENDLESS) == ""
    assert said(taken_over, "print('the next one')") == "the next one\n"


def test_the_unit_proves_that_it_is_confined_before_it_runs_a_model(
    unit: Path,
    tmp_path: Path,
) -> None:
    assert ask_unit(unit, None, [], {}, [tmp_path]) == {
        "memory_bytes": 5 << 30,
        "processes": 64,
    }
    with pytest.raises(
        RefereeError,
        match="does not confine models: it sees /usr;",
    ) as refused:
        ask_unit(
            unit,
            "validate",
            [],
            {"model/m.tflite": detector()},
            [tmp_path, Path("/usr")],
        )
    assert refused.value.code == "not-confined"


def test_models_are_checked_in_the_unit_as_on_the_host(
    unit: Path,
    tmp_path: Path,
) -> None:
    cases = {
        "good.tflite": (detector(), None),
        "wrong.tflite": (classifier(), "wrong-outputs"),
        "torn.tflite": (detector()[:3000], None),
        "none.tflite": (b"nothing", "not-tflite"),
        "large.onnx": (onnx_models.classifier(), "wrong-runtime"),
        "greedy.tflite": (greedy(when_run=True), "out-of-memory"),
        "endless.tflite": (endless(), "model-timeout"),
    }
    for name, (data, code) in cases.items():
        task = (
            "classification"
            if code in ("out-of-memory", "model-timeout")
            else "detection"
        )
        options = {"task": task, "rules": "ovic", "timeout_s": 1}
        done = in_unit(unit, "validate", name, data, options, {}, [tmp_path])
        if name == "good.tflite":
            assert done.returncode == 0, done.stderr
        else:
            refused = failure(done)
            assert refused.code == code or code is None
            assert name in refused.sentence
            assert "/scratch" not in refused.sentence


def test_a_device_s_answers_are_repeated_in_the_unit(
    unit: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(confining.SOCKET_VARIABLE, str(unit))
    colours = colour_set(
        tmp_path,
        ("red", RED),
        ("green", GREEN),
        ("blue", BLUE),
        ("red", GREEN),
    )
    images = [colours.image_path(number) for number in (1, 3)]
    rule = track_named("lpirc2018-track1")
    limits = Limits(timeout_s=30, repeats=1, confined=True)
    own = run_again(classifier(), "m.tflite", rule, images, limits, [tmp_path])
    assert own.answers == ((1, RED), (2, BLUE))
    with pytest.raises(RefereeError, match=r"^m\.tflite: "):
        run_again(b"nothing", "m.tflite", rule, images, limits, [tmp_path])


def test_a_served_contest_has_models_checked_in_the_unit_and_says_so(
    unit: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(confining.SOCKET_VARIABLE, str(unit))
    images = synthesize(
        tmp_path / "set",
        images=2,
        categories=2,
        seed=4,
        size=(64, 64),
    ).folder
    with contest_day(tmp_path / "contest", images) as day:
        config = day.folder / "contest.toml"
        config.write_text(config.read_text() + TRACK.format(images=images))
        server = day.serve()

        def hand_in(model: bytes) -> Any:
            path = "/v1/entries?track=models&name=m.tflite&wait=60"
            return server.ask("POST", path, data=model, auth=(TEAM, PASSWORD))

        detail = problem(hand_in(classifier()), 422, "model-refused")["detail"]
        assert "m.tflite" in detail
        assert hand_in(detector()).status_code == 202
        told = called("doctor", str(day.folder)).stderr
        assert "Models run confined, each in its own systemd unit" in told
        log = (day.folder / "server.log").read_text()
    words = "confined, each in its own systemd unit, as a separate user, "
    words += "without network or access to the contest's files, "
    assert f"{words}at most 5120 MB of memory and 64 processes" in log


@pytest.mark.parametrize("has_models_unit", [False, True])
def test_the_documented_unit_of_the_server_confines_models_by_the_other_unit_or_takes_none(
    tmp_path: Path,
    has_models_unit: bool,
) -> None:
    images = synthesize(
        tmp_path / "set",
        images=2,
        categories=2,
        seed=4,
        size=(64, 64),
    ).folder
    with contest_day(tmp_path / "contest", images) as day:
        config = day.folder / "contest.toml"
        config.write_text(config.read_text() + TRACK.format(images=images))
        log = tmp_path / "server.log"
        port = own_port()
        places = {
            "User=referee\nGroup=referee\nStateDirectory=referee\nStateDirectoryMode=0700\n": "User=root\n",
            "WorkingDirectory=/var/lib/referee": f"WorkingDirectory={day.folder}\nReadWritePaths={tmp_path} /tmp",
            "/var/lib/referee/day": str(day.folder),
            "--port 8080": f"--port {port}",
            "/opt/lpirc/.venv/bin/referee": f"{sys.prefix}/bin/referee",
            # Here project and contest lie in /tmp and Python in a home.
            "PrivateTmp=yes": f"Environment=REFEREE_MODELS={tmp_path / 'models.sock'}",
            "ProtectHome=yes": f"StandardOutput=append:{log}\nStandardError=append:{log}",
        }
        units = {"referee.service": changed("referee.service", places)}
        if has_models_unit:
            units |= models_units(tmp_path)
        with running(
            tmp_path,
            units,
            lambda: log.exists() and "Serving" in log.read_text(),
        ):
            url = (
                f"http://127.0.0.1:{port}/v1/entries?track=models&name=m.tflite&wait=60"
            )
            answer = requests.post(
                url,
                detector(),
                auth=(TEAM, PASSWORD),
                timeout=TIMEOUT_S,
            )
            said_at_start = (
                "Models run confined, each in its own systemd unit"
                if has_models_unit
                else "takes no models: Models cannot run"
            )
            until(lambda: said_at_start in log.read_text())
    if has_models_unit:
        assert answer.status_code == 202, answer.text
    else:
        problem(answer, 503, "not-ready")
        assert "bwrap failed: " in log.read_text()


def test_a_unit_that_does_not_answer_takes_no_models(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left = tmp_path / "models.sock"
    with socket.socket(socket.AF_UNIX) as closed:
        closed.bind(str(left))
    monkeypatch.setenv(confining.SOCKET_VARIABLE, str(left))
    found = confinement_of([])
    assert not found.is_in_force
    assert (
        f"The systemd unit for models at {left} does not answer (Connection refused);"
        in found.sentence
    )
    assert "unconfined = true" in found.sentence
