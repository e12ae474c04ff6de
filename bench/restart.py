"""From kill -9 to the first image served again in an open run: 20,000 images, and a day's runs in the database."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import requests

from bench.figures import processor_s, row, show
from bench.house import HERE, PASSWORD, TEAM, free_port, run
from lpirc_testsets import load_test_set, synthesize
from lpirc_testsets.folder import IMAGES, Category, Image
from lpirc_testsets.writing import ObjectRecord, new_folder, write_records
from tests.contest_day import children_of, descendants_of, is_running

COUNT = 20_000
DRAWN = 100
SIZE_PX = (320, 240)
# Of the day: two million detections.
RUNS = 40
POSTS = 50
ROWS = 1000
TURNS = 5
TARGET_S = 2.0
LOOK_S = 0.005
TIMEOUT_S = 300.0


def measure() -> list[dict[str, Any]]:
    """Kill all processes of a server, its supervisor alone, and its worker alone; print the table, return its rows."""
    ways = {
        "server, all processes, to an image": _all,
        "server, supervisor alone, to an image": lambda pid: [pid],
        "worker, to an image": children_of,
    }
    with tempfile.TemporaryDirectory(prefix="restart-") as name:
        folder = Path(name)
        _many_images(folder / "drawn", folder / "testset")
        served = _Served(folder / "contest", folder / "testset")
        try:
            served.start()
            served.live_a_day()
            token = served.log_in()
            times: dict[str, list[tuple[float, float]]] = {}
            for what, victims in ways.items():
                times[what] = [served.restarted_s(victims, token) for _ in range(TURNS)]
            served.log_out(token)
            times["server, all processes, no run open, to an answer"] = [
                served.restarted_s(_all, {}, "/v1/health") for _ in range(TURNS)
            ]
        finally:
            served.kill(_all(served.process.pid))
        size_mb = (
            sum(
                file.stat().st_size for file in (folder / "contest").glob("contest.db*")
            )
            / 1e6
        )
    rows = []
    for what, several in times.items():
        waited, processor = zip(*several, strict=True)
        rows.append(row(f"kill -9 of the {what}: median (s)", median(waited), TARGET_S))
        rows += [
            row("its worst (s)", max(waited)),
            row("its processor time, median (s)", median(processor)),
        ]
    rows += [
        row("images", COUNT),
        row("database (MB)", size_mb),
        row("load average of the host", os.getloadavg()[0]),
    ]
    show("restart", rows)
    return rows


def _many_images(drawn: Path, out: Path) -> None:
    """A test set of many different files of a usual size: a hundred drawings, each with a number behind its end."""
    synthesize(
        drawn,
        images=DRAWN,
        categories=10,
        seed=1,
        size=SIZE_PX,
    )
    few = load_test_set(drawn)
    jpegs = [few.image_path(number).read_bytes() for number in range(1, DRAWN + 1)]
    images = []
    with new_folder(out) as partial:
        for number in range(1, COUNT + 1):
            jpeg = jpegs[number % DRAWN] + number.to_bytes(4, "big")
            file = f"{number:06d}.jpg"
            (partial / IMAGES / file).write_bytes(jpeg)
            images.append(
                Image(
                    number,
                    file,
                    *SIZE_PX,
                    hashlib.sha256(jpeg).hexdigest(),
                    str(number),
                )
            )
        objects = [
            ObjectRecord(number, 1, (1.0, 1.0, 50.0, 50.0), 2500.0)
            for number in range(1, COUNT + 1)
        ]
        write_records(
            partial,
            "many",
            images,
            [Category(one.id, one.name) for one in few.categories],
            objects,
        )


class _Served:
    """A contest and the process that serves it, on the same port at every start."""

    def __init__(self, folder: Path, testset: Path) -> None:
        self._folder = folder
        self._url = f"http://127.0.0.1:{free_port()}"
        many = ["--window", 3600, "--auto-arm", "--attempts", 0]
        run(HERE / "referee", "init", folder, "--testset", testset, *many)
        password = folder / "password"
        password.write_text(PASSWORD)
        run(
            HERE / "referee",
            "team",
            "add",
            TEAM,
            "--password-file",
            password,
            "--contest",
            folder,
        )

    def start(self) -> None:
        """Start the server; what it says goes to a file."""
        words = [
            HERE / "referee",
            "serve",
            self._folder,
            "--port",
            self._url.rpartition(":")[2],
        ]
        with (self._folder / "log").open("a") as log:
            self.process = subprocess.Popen(  # noqa: S603 - ours
                list(map(str, words)), stdout=log, stderr=log, env=_as_usual()
            )

    def live_a_day(self) -> None:
        """Let the team have its runs, each with a reading of its meter and many posts."""
        body = np.tile(np.array([1, 1, 0.5, 10, 20, 30, 40], "<f4"), ROWS).tobytes()
        kind = {"Content-Type": "application/octet-stream"}
        for _ in range(RUNS):
            token = self.log_in()
            for _ in range(POSTS):
                requests.post(
                    f"{self._url}/v1/detections",
                    body,
                    headers=token | kind,
                    timeout=60,
                ).raise_for_status()
            self.log_out(token)

    def log_in(self) -> dict[str, str]:
        """Open a run; returns what its requests carry."""
        deadline_s = time.monotonic() + TIMEOUT_S
        while True:
            with suppress(requests.ConnectionError):
                team = {"team": TEAM, "password": PASSWORD}
                answer = requests.post(f"{self._url}/v1/session", json=team, timeout=60)
                answer.raise_for_status()
                return {"Authorization": f"Bearer {answer.json()['token']}"}
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"no server answers at {self._url}")
            time.sleep(LOOK_S)

    def log_out(self, token: dict[str, str]) -> None:
        """Close the run."""
        requests.delete(
            f"{self._url}/v1/session",
            headers=token,
            timeout=60,
        ).raise_for_status()

    def restarted_s(
        self,
        victims: Any,
        token: dict[str, str],
        path: str = f"/v1/images/{COUNT}",
    ) -> tuple[float, float]:
        """Kill, start again if the supervisor was killed, wait for an answer; how long, and the new processes' time."""
        time.sleep(3.0)  # it has loaded its images
        former = self.process
        formerly = children_of(self.process.pid)
        started_s = time.monotonic()
        self.kill(victims(self.process.pid))
        if self.process.poll() is not None:
            self.start()
        while time.monotonic() < started_s + TIMEOUT_S:
            with suppress(requests.ConnectionError):
                answer = requests.get(f"{self._url}{path}", headers=token, timeout=60)
                answer.raise_for_status()
                # They answer until they notice that their supervisor has gone.
                if not any(map(is_running, formerly)):
                    now_s = time.monotonic()
                    new = children_of(self.process.pid)
                    new += [] if self.process is former else [self.process.pid]
                    return now_s - started_s, sum(map(processor_s, new))
            time.sleep(LOOK_S)
        raise TimeoutError(f"no server answers at {self._url}")

    def kill(self, victims: list[int]) -> None:
        """Kill these processes; if the supervisor is one, wait until it is gone."""
        for victim in victims:
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
        if self.process.pid in victims:
            self.process.wait()


def _all(supervisor: int) -> list[int]:
    return [supervisor, *descendants_of(supervisor)]


def _as_usual() -> dict[str, str]:
    """The environment with compiled modules kept, as on any operator's machine."""
    return {
        name: value
        for name, value in os.environ.items()
        if name != "PYTHONDONTWRITEBYTECODE"
    }
