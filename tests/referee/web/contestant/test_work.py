"""The device queue over real HTTP: the client as a process with the real harness, leases on a clock that is moved."""

from __future__ import annotations

import io
import json
import signal
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests
from werkzeug.serving import make_server

from lpirc_testsets import TestSet
from referee.store.records import JobState, Submission
from referee.tracks.submissions.measuring_queue import LEASE_S, queue_model
from referee.tracks.submissions.open_track import open_track
from referee.tracks.submissions.submitting import Order
from referee.web.app import create_app
from tests import tflite_models as models
from tests import warm_programs
from tests.contest_day import called, descendants_of, is_running, problem, until
from tests.lpirc_client.referee_double import free_port
from tests.patience import PATIENCE_S
from tests.referee.factories import TEAM, House
from tests.referee.tracks.submissions.model_days import colour_set, packed, result

SET = ("red", models.RED), ("green", models.GREEN), ("blue", models.BLUE), ("red", models.GREEN)
HELLO = {"name": "pixel-4", "version": "0.1.7"}


@dataclass
class Desk:
    """A served contest with a model track, and the devices on the desk."""

    house: House
    test_set: TestSet
    keys: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def referee(self, *words: object) -> str:
        done = called(*map(str, words), "--contest", str(self.house.folder))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def add(self, name: str) -> None:
        self.keys[name] = self.referee("device", "add", name).strip()

    def model(self, data: bytes) -> Path:
        path = self.house.folder.parent / "handed in.tflite"
        path.write_bytes(data)
        return path

    def queue(self, data: bytes) -> Submission:
        contest = self.house.contest
        return queue_model(
            contest, open_track(contest, "phones"), Order(TEAM, self.model(data), "b"), self.house.clock
        )

    def submission(self, number: int = 1) -> Submission:
        return self.house.store.submission(number)

    def sentence(self, number: int = 1) -> str:
        outcome = self.submission(number).measurement
        return "" if outcome is None else outcome.sentence

    def serve(self) -> None:
        server = make_server(
            "127.0.0.1", self.port, create_app(self.house.contest, self.house.control, self.house.clock), True
        )
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        for end in (server.server_close, thread.join, server.shutdown):
            self.house.stack.callback(end)

    def ask(self, method: str, path: str = "", name: str = "pixel-4", **more: Any) -> requests.Response:
        bearing = {"Authorization": f"Bearer {self.keys[name]}"}
        return requests.request(method, f"{self.url}/v1/work{path}", headers=bearing, timeout=60, **more)

    def lease(self, name: str = "pixel-4") -> dict[str, Any]:
        answer = self.ask("POST", name=name, json=HELLO | {"name": name})
        assert answer.status_code == 200, answer.text
        work: dict[str, Any] = answer.json()
        return work

    def hand_in(self, work: dict[str, Any], document: bytes, name: str = "pixel-4") -> requests.Response:
        return self.ask("POST", f"/{work['job']}/result", name, data=document)

    def device(self, *options: str) -> Any:
        """The client, as a process."""
        folder = self.house.folder.parent
        words = ["lpirc-client", "work", self.url, "--name", "pixel-4", "--images", str(folder / "kept")]
        environment = {"LPIRC_PASSWORD": self.keys["pixel-4"], "PATH": "/usr/bin:/bin"}
        process = warm_programs.start([*words, *options], cwd=folder, env=environment)
        self.house.stack.callback(process.wait)
        self.house.stack.callback(process.kill)
        return process


@pytest.fixture
def desk(build: Callable[..., House], tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    def make(*devices: str, **track: object) -> Desk:
        test_set = colour_set(tmp_path, *SET)
        settings = {"name": "phones", "rule": "lpirc2018-track1", "testset": str(test_set.folder)}
        made = Desk(build(tracks=[settings | track]), test_set)
        for name in devices:
            made.add(name)
        return made

    yield make


def test_a_model_goes_through_the_queue_to_the_board_though_the_referee_was_away(
    desk: Callable[..., Desk],
) -> None:
    ours = desk("pixel-4", device="pixel-4")
    handed = ("model", "submit", ours.model(models.classifier()), "--track", "phones", "--team", TEAM)
    assert "waits for a device" in ours.referee(*handed, "--queue")
    assert "waits for a device" in ours.referee("model", "list")
    client = ours.device("--once")
    assert client.stderr.readline().rstrip().endswith("waiting for the referee")
    ours.serve()
    assert client.wait(PATIENCE_S) == 0
    (told,) = client.stderr.read().splitlines()
    assert told.startswith("phones, handed in.tflite: accuracy 75")
    (line,) = json.loads(ours.referee("model", "board", "--track", "phones", "--json"))["lines"]
    assert (line["team"], line["device"]) == (TEAM, "pixel-4")
    assert "pixel-4  20" in ours.referee("device", "list")
    assert ours.ask("POST", json=HELLO).status_code == 204
