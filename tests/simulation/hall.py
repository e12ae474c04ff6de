"""The hall of a contest day: the folder, the processes of the referee, and the way of a request to them."""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from multiprocessing.util import Finalize
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from argon2 import PasswordHasher

from lpirc_testsets import read_ground_truth, synthesize
from referee.auth import passwords
from referee.clock import Clock
from referee.config.contest_text import config_text
from referee.contest import Contest, create_contest, open_contest
from referee.errors import RefereeError
from referee.judging.board_publisher import publish
from referee.judging.judge import judge
from referee.judging.provisional_scores import follow
from referee.runs.run_control import RunControl
from referee.web import server_watches
from referee.web.app import create_app
from referee.web.app_parts import part_of
from referee.web.run_service import RunService
from tests.simulation.machines import Box, Host, installed
from tests.simulation.model import Model
from tests.simulation.scheduler import Died, Process, Scheduler, SimThread, simulated

TEAMS = ("ant", "bee", "cat", "dog")
PASSWORD = "six legs"
STATIONS = {
    "station-1": "TCPIP::192.0.2.1::INSTR",
    "station-2": "TCPIP::192.0.2.2::INSTR",
}
RAM = Path("/dev/shm")  # noqa: S108 - a disk in memory, where there is one
PLACE = "SIMULATED_IN"
"""The variable that names a folder for all processes of one simulation, so that it goes when they are killed."""
EVERY_S = 5.0  # the live process and the watch look so often: their ticks are most of a day's work


@cache
def prepared() -> Path:
    """A contest folder to copy, and its test set: made once for each process."""
    folder = (
        Path(os.environ[PLACE])
        if PLACE in os.environ
        else RAM
        if RAM.is_dir()
        else None
    )
    folder = Path(tempfile.mkdtemp(prefix="simulated-", dir=folder))
    Finalize(
        None,
        shutil.rmtree,
        (folder, True),
        exitpriority=0,
    )  # at the end also of a pool's process
    synthesize(
        folder / "set",
        images=8,
        categories=3,
        seed=4,
        size=(96, 64),
    )
    first, second = STATIONS.items()
    text = config_text(
        "A day",
        60,
        first[1],
        "../set",
        auto_arm=False,
        update_interval_s=5,
    )
    text += f'\n[[stations]]\nname = "{second[0]}"\nmeter = "{second[1]}"\nupdate_interval_s = 5\n'
    fixed = Random(1)  # noqa: S311 - to be repeated
    with patch(
        "secrets.token_hex",
        lambda count: fixed.randbytes(count).hex(),
    ):  # image orders follow from them
        create_contest(folder / "contest", text)
    hashed = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
    assert passwords.matches(
        hashed,
        PASSWORD,
    )  # known from now on, so no thread checks it
    passwords.decoy_hash()  # made once for each process, at random
    with open_contest(folder / "contest") as contest:
        for team in TEAMS:
            contest.store.teams.add(team, hashed, Clock().utc())
    return folder


@cache
def true_boxes() -> dict[int, list[list[int]]]:
    """What is on each image of the test set: [category, xmin, ymin, xmax, ymax]."""
    truth = read_ground_truth(prepared() / "set")
    found: dict[int, list[list[int]]] = {int(image): [] for image in truth.image_ids}
    for image, category, box in zip(
        truth.image,
        truth.category,
        truth.boxes,
        strict=True,
    ):
        found[int(image)].append([int(category), *map(int, box)])
    return found


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return (
            str(self.json.get("code"))
            if "problem" in self.headers.get("Content-Type", "")
            else ""
        )


class NoAnswerError(Exception):
    """The server is down, or died, or its answer was lost."""


class _Body(io.BytesIO):
    """A body that arrives after a while."""

    def __init__(
        self,
        content: bytes,
        scheduler: Scheduler,
        takes_s: float,
    ) -> None:
        super().__init__(content)
        self._scheduler = scheduler
        self._takes_s = takes_s

    def read(self, size: int | None = -1) -> bytes:
        takes_s = self._takes_s
        self._takes_s = 0.0
        if takes_s:
            self._scheduler.sleep(takes_s)
        return super().read(size)


@dataclass
class Server:
    process: Process
    contest: Contest
    control: RunControl
    app: Any
    ended: threading.Event
    watcher: SimThread
    resources: ExitStack
    under_way: int = 0


@dataclass
class Live:
    process: Process
    stop: threading.Event


@dataclass
class Hall:
    folder: Path
    scheduler: Scheduler
    host: Host
    boxes: dict[str, Box]
    log: list[str]
    random: Random
    model: Model = field(default_factory=Model)
    server: Server | None = None
    live: Live | None = None
    is_over: bool = False
    on_step: Callable[[], object] = lambda: None
    steps: list[str] = field(default_factory=list)
    _kept: list[object] = field(
        default_factory=list
    )  # what died must not be collected at a moment that no seed decides

    def step(self, what: str) -> None:
        line = f"{self.scheduler.now_s:9.3f} {what}"
        self.steps.append(line)
        self.scheduler.note(line)
        self.on_step()

    @property
    def is_well(self) -> bool:
        """Whether nothing is wrong now."""
        is_wrong = (
            self.host.disk_is_full or self.host.has_little_room or self.server is None
        )
        return not is_wrong and all(
            box.is_reachable and not box.is_silent for box in self.boxes.values()
        )

    # Processes

    def start_server(self, *, with_live: bool = True) -> None:
        """As `referee.web.server` does in its worker."""
        process = Process("server")
        clock = self.host
        self.step("the server starts")
        try:
            with self.scheduler.inside(process):
                resources = ExitStack()
                self._kept.append(resources)
                contest = resources.enter_context(open_contest(self.folder))
                control = RunControl(contest, clock)
                control.recover()
                app = create_app(contest, control, clock)
                ended = threading.Event()
                # Made now, under no real lock.
                _ = part_of(app, RunService).category_ids
                watches = part_of(app, server_watches.ServerWatches)
                watcher = SimThread(
                    server_watches.watch_files,
                    "watch-files",
                    (watches, contest.store, clock, ended),
                )
                watcher.start()
        except RefereeError as error:
            self.step(f"the server does not start: {error.code}")
            self.scheduler.kill(process)
            return
        self.server = Server(
            process,
            contest,
            control,
            app.wsgi_app,
            ended,
            watcher,
            resources,
        )
        self._kept.append(self.server)
        if with_live:
            self.start_live()

    def start_live(self) -> None:
        """As `referee.web.live_process` does."""
        process = Process("live")
        with self.scheduler.inside(process):
            stop = threading.Event()

        def run() -> None:
            try:
                with open_contest(self.folder) as contest:
                    contest.store.forgo_durability()
                    publisher = SimThread(
                        publish,
                        "publish-board",
                        (contest, self.host, stop),
                    )
                    publisher.start()
                    follow(contest, self.host, stop)
                    publisher.join()
            except RefereeError as error:
                self.step(f"the live process ends: {error.code}")

        self.live = Live(process, stop)
        self.scheduler.spawn("live", run, process)

    def kill_live(self) -> None:
        if self.live is not None:
            live = self.live
            self.live = None
            self.scheduler.kill(live.process)

    def kill_server(self) -> None:
        """Its power to act ends between two instructions; the live process ends with it."""
        server = self.server
        self.server = None
        if server is not None:
            self.scheduler.kill(server.process)
        self.kill_live()

    def stop_server(self) -> None:
        """As SIGTERM does: what is under way is answered first."""
        server = self.server
        self.server = None
        if server is None:
            return
        while server.under_way:
            self.scheduler.sleep(0.1)
        live = self.live
        self.live = None
        if live is not None:
            with self.scheduler.inside(live.process):
                live.stop.set()
        with suppress(Died), self.scheduler.inside(server.process):
            server.ended.set()
            server.watcher.join()
            server.control.shutdown()
            server.resources.close()
        self.scheduler.kill(server.process)

    def reboot(self, down_s: float) -> None:
        self.kill_server()
        self.scheduler.sleep(down_s)
        self.host.boots_s.append(self.scheduler.now_s)

    def judge(self, run: int) -> str | None:
        """As `referee judge` does; the code of what refused it."""
        process = Process("judge")
        try:
            with self.scheduler.inside(process), open_contest(self.folder) as contest:
                judge(contest, run, self.host)
        except RefereeError as error:
            return error.code
        finally:
            self.scheduler.kill(process)
        return None

    # Requests

    def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        token: str | None = None,
        query: str = "",
        kind: str = "application/json",
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """One request over a network that delays and sometimes loses the answer. Raises NoAnswerError."""
        chance = self.random
        scheduler = self.scheduler
        scheduler.sleep(chance.choice((0.0, 0.001, 0.05)))
        server = self.server
        if server is None:
            raise NoAnswerError
        is_lost = chance.random() < 0.03
        takes_s = chance.choice((0.0, 0.0, 0.003, 0.3))
        environ = {
            "REQUEST_METHOD": method,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "SERVER_PROTOCOL": "HTTP/1.1",
            "SERVER_NAME": "referee",
            "SERVER_PORT": "80",
            "HTTP_HOST": "referee",
            "REMOTE_ADDR": "192.0.2.50",
            "CONTENT_LENGTH": str(len(body)),
            "CONTENT_TYPE": kind,
            "wsgi.url_scheme": "http",
            "wsgi.input": _Body(body, scheduler, takes_s),
            "wsgi.errors": sys.stderr,
            **(headers or {}),
        }
        if token is not None:
            environ["HTTP_AUTHORIZATION"] = f"Bearer {token}"
        server.under_way += 1
        try:
            with scheduler.inside(server.process):
                answer = _answer(server.app, environ)
        except Died:
            raise NoAnswerError from None
        finally:
            server.under_way -= 1
        if answer.status == 500 and answer.code:
            scheduler.failures.append(f"{method} {path} is answered {answer.body!r}")
        scheduler.sleep(chance.choice((0.0, 0.001, 0.05)))
        if is_lost:
            raise NoAnswerError
        return answer

    def operate(self, path: str, **document: str) -> Answer:
        key = self.operator_key
        return self.ask(
            "POST",
            f"/operator{path}",
            json.dumps(document).encode(),
            token=key,
        )

    @property
    def operator_key(self) -> str:
        return (self.folder / "operator-key").read_text().strip()

    @cached_property
    def database(self) -> sqlite3.Connection:
        """The database as another program sees it."""
        connection = sqlite3.connect(
            self.folder / "contest.db",
            factory=sqlite3.Connection,
            check_same_thread=False,
        )
        connection.row_factory = sqlite3.Row
        return connection


def _answer(app: Any, environ: dict[str, Any]) -> Answer:
    found: list[Any] = []
    parts = app(
        environ,
        lambda status, headers, *_: found.extend((int(status[:3]), dict(headers))),
    )
    body = b"".join(parts)
    if hasattr(parts, "close"):
        parts.close()
    return Answer(found[0], found[1], body)


@contextmanager
def hall(random: Random) -> Iterator[Hall]:
    """A hall before anything is started; its folder is gone at the end."""
    template = prepared()
    folder = Path(tempfile.mkdtemp(prefix="day-", dir=template))
    try:
        shutil.copytree(template / "contest", folder / "contest")
        text = folder.joinpath("contest", "contest.toml")
        text.write_text(_settings(text.read_text(), random))
        with simulated(random) as (scheduler, log):
            host = Host(scheduler)
            serials = ("C2PH13047V", "C2PH13048V")
            boxes = {
                address: Box(address, serial, scheduler)
                for address, serial in zip(STATIONS.values(), serials, strict=True)
            }
            with installed(host, boxes), _seldom():
                made = Hall(folder / "contest", scheduler, host, boxes, log, random)
                try:
                    yield made
                finally:
                    made.database.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _seldom() -> Iterator[None]:
    """What looks each second looks less often: a day is mostly that."""
    with (
        patch("referee.judging.board_publisher.TICK_S", EVERY_S),
        patch("referee.judging.provisional_scores.TICK_S", EVERY_S),
        patch.object(server_watches, "WATCH_S", EVERY_S),
        patch("lpirc_power.sampling.polling.LONGEST_POLL_S", 1.0),
    ):
        yield


def _settings(text: str, random: Random) -> str:
    """The contest.toml of this day: what may differ between contests."""
    text = text.replace('testset = "../set"', 'testset = "../../set"')
    text = text.replace("window_s = 60 ", f"window_s = {random.choice((20, 40, 60))} ")
    text = text.replace(
        "auto_arm = false",
        f"auto_arm = {random.choice(('true', 'false'))}",
    )
    if random.random() < 0.3:
        text = text.replace("# per_attempt = 100", "per_attempt = 5").replace(
            "# [images]",
            "[images]",
        )
    if random.random() < 0.2:
        text = text.replace("# count_unserved", "count_unserved")
    if random.random() < 0.3:
        text = text.replace("# attempts = 3", "attempts = 4")
    return text
