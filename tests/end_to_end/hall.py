"""A hall for a whole day: the referee by one command line, real meters, and the boards, which speak HTTP."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import requests

from lpirc_testsets import read_ground_truth
from referee.contest import open_contest
from referee.store import Store
from tests.contest_day import Meter, Program, is_running, program, until, workers_of
from tests.ports import own_port
from tests.timeouts import TIMEOUT_S

KNOCK_AGAIN_S = 0.5
WINDOW_S = 600
METERED_S = 1.5
"""The shortest run of a board: fifteen updates of its meter."""


class Referee(Program):
    """`referee serve` of a folder; a second one with the same command line goes on where the first one died."""

    def __init__(self, folder: Path, port: int) -> None:
        where = ["--port", str(port), "--parent", str(os.getpid())]
        arguments = [program("referee"), "serve", str(folder), *where]
        super().__init__(arguments, folder.parent / "server.log")
        self.ready = self.first_line()

    def kill_all(self) -> None:
        """SIGKILL, and wait until nothing of it is left."""
        workers = workers_of(self.process.pid)
        self.kill()
        until(lambda: not any(map(is_running, workers)))


@dataclass
class Hall:
    """An empty folder that is being served, two meters, and what the sheets say."""

    folder: Path
    referee: Referee
    meters: list[Meter]
    passwords: dict[str, str] = field(default_factory=dict)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def set_up_at(self) -> str:
        """The address with the code, as the terminal shows it."""
        return re.findall(r"http://\S+code=\S+", self.referee.ready)[0]

    def restart(self) -> None:
        """The same command line once more."""
        self.referee.process.stdout.close()  # type: ignore[union-attr]
        self.referee = Referee(self.folder, self.port)

    def switch_on(self, station: int, load: str) -> None:
        """Switch the meter of a station off, if it is on, and on again: what it had integrated is gone."""
        before = self.meters[station - 1]
        before.close()
        self.meters[station - 1] = Meter(before.log, before.port, load)

    def ask(self, method: str, path: str, **more: Any) -> requests.Response:
        with requests.Session() as session:
            session.trust_env = False
            return session.request(method, self.url + path, timeout=TIMEOUT_S, **more)

    @contextmanager
    def store(self) -> Iterator[Store]:
        with open_contest(self.folder) as contest:
            yield contest.store


@contextmanager
def hall_with_two_meters(root: Path) -> Iterator[Hall]:
    """The hall in the morning: nothing is set up. At the end no log has a traceback."""
    folder = root / "contest"
    folder.mkdir()
    log = root / "meters.log"
    port = own_port()
    meters = [Meter(log), Meter(log, load="constant:9W")]
    hall = Hall(folder, Referee(folder, port), meters, port=port)
    try:
        yield hall
    finally:
        hall.referee.end()
        for process in (hall.referee, *hall.meters):
            process.close()
        said = (root / "server.log").read_text()
        assert "Traceback" not in said, said


@dataclass
class Board:
    """A team's board: it logs in, fetches all images and posts the first `share` of the true boxes."""

    hall: Hall
    team: str
    share: float
    run: int = 0
    token: str = ""

    def knock(self) -> int:
        """Log in; returns the status. While a heat has not started it is 409."""
        body = {"team": self.team, "password": self.hall.passwords[self.team]}
        answer = self.hall.ask("POST", "/v1/session", json=body)
        if answer.status_code == 201:
            given = answer.json()
            self.run = given["run"]
            self.token = given["token"]
        return answer.status_code

    def enter(self) -> None:
        assert self.knock() == 201

    def enter_at_the_start(self) -> None:
        """Knock like a client, again and again, until the heat has started."""
        until(lambda: self.knock() == 201, pause_s=KNOCK_AGAIN_S)

    def _ask(self, method: str, path: str, **more: Any) -> requests.Response:
        bearing = {"Authorization": f"Bearer {self.token}"}
        answer = self.hall.ask(method, path, headers=bearing, **more)
        assert answer.ok, answer.text
        return answer

    def fetch(self) -> None:
        self._ask("GET", "/v1/images?count=1000")

    def post(self) -> None:
        truth = read_ground_truth(self.hall.folder / "testset")
        with self.hall.store() as store:
            order = store.runs.image_order(self.run)
        images = np.argsort(order)[truth.image - 1] + 1
        certain = np.full(len(images), 0.9)
        rows = np.column_stack([images, truth.category, certain, truth.boxes])
        shown = rows[: int(len(rows) * self.share)]
        self._ask("POST", "/v1/detections", json=shown.tolist())

    def leave(self) -> None:
        self._ask("DELETE", "/v1/session")

    def work_and_leave(self) -> None:
        """Work, and leave when the meter has been read often enough: no board is as fast as this program."""
        self.fetch()
        self.post()
        until(self.has_been_metered, pause_s=KNOCK_AGAIN_S)
        self.leave()

    def has_been_metered(self) -> bool:
        left_s = self._ask("GET", "/v1/session").json()["remaining_s"]
        return bool(left_s < WINDOW_S - METERED_S)
