"""The processes of a season's last day: a first host, one that stands by, devices of a pool, a rival."""

from __future__ import annotations

import hashlib
import os
import random
import secrets
import shutil
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import requests

from bench.house import HERE, free_port
from bench.soak.entrant import TRACK, Plan, write_plans
from bench.soak.site import LEAST_AWAY_S, PASSWORD, Process, Site
from referee.auth.passwords import hash_password
from referee.contest import open_contest
from tests.contest_day import descendants_of
from tests.onnx_models import classifier_model
from tests.tflite_models import BLUE, GREEN, RED
from tests.tracks.submissions.model_days import colour_set

DEVICES = ("board-1", "board-2", "board-3")
PICTURES = (
    ("red", RED),
    ("green", GREEN),
    ("blue", BLUE),
    (
        "red",
        GREEN,
    ),
)
COPIED = ("contest.toml", "secret", "operator-key", "signing-key")
READY_S = 60.0
HOLDERS = 128
PLANS_EACH = 25
BEFORE = 0.1  # the part of the time until the deadline in which no team comes yet
# How many teams come after the deadline, and by how much at most.
LATE = 0.1
LATE_S = 15.0
TRACK_TEXT = """
[[tracks]]
name = "{track}"
rule = "lpirc2018-track1"
runtime = "onnxruntime"
testset = "{testset}"
devices = {devices}
submissions_per_day = 5
holdout_until = {until}

[journal]
path = "{journal}"
required = true
"""


class LastDay(Site):
    """Two hosts, of which one stands by with the journal and the files on its disk; stations, devices, teams."""

    def __init__(
        self,
        folder: Path,
        teams: int,
        deadline_s: float,
    ) -> None:
        self.second = folder / "second"
        self.deadline_s = deadline_s
        self._entrants = [f"team-{number}" for number in range(1, teams + 1)]
        self._keys = {name: secrets.token_urlsafe(32) for name in DEVICES}
        super().__init__(folder)
        self.urls = [self._url]
        self.wait_until_ready(self._url)
        self._copy()
        self.devices = {name: self._device(name) for name in DEVICES}
        self.standby = self._standby()

    def _make_contest(self) -> None:
        super()._make_contest()
        now = datetime.now(UTC)
        hashed = hash_password(PASSWORD)
        with open_contest(self.contest) as contest:
            contest.store.teams.add_all(
                dict.fromkeys(self._entrants, (hashed, None)), now
            )
            for name, key in self._keys.items():
                contest.store.devices.add(
                    name,
                    hashlib.sha256(key.encode()).hexdigest(),
                    now,
                )
        (self.second / "journal").mkdir(parents=True, mode=0o700)
        until = datetime.fromtimestamp(self.deadline_s, UTC).isoformat()
        about = {
            "track": TRACK,
            "devices": [*DEVICES],
            "until": until,
            "journal": self.second / "journal",
        }
        testset = colour_set(self.folder, *PICTURES).folder
        with (self.contest / "contest.toml").open("a") as file:
            file.write(TRACK_TEXT.format(testset=testset, **about).replace("'", '"'))

    def _copy(self) -> None:
        (self.second / "contest" / "backups").mkdir(parents=True)
        for name in COPIED:
            shutil.copy(self.contest / name, self.second / "contest" / name)

    def _standby(self) -> Process:
        port = free_port()
        self.urls.append(f"http://127.0.0.1:{port}")
        words = [
            HERE / "referee",
            "standby",
            self.second / "contest",
            "--first",
            self.urls[0],
        ]
        return Process(
            self.folder / "standby.log", *words, "--port", port, "--parent", os.getpid()
        )

    def _device(self, name: str) -> Process:
        """A device of the pool, which reaches whichever host serves."""
        words = [
            HERE / "lpirc-client",
            "work",
            f"http://127.0.0.1:{self.cable.port}",
            "--name",
            name,
        ]
        words += ["--images", self.folder / f"images-{name}"]
        return Process(
            self.folder / f"device-{name}.log",
            *words,
            LPIRC_PASSWORD=self._keys[name],
        )

    def entrants(self, chance: random.Random) -> list[Process]:
        """Let the teams hand in: most shortly before the deadline, some after it, a third in parts."""
        now_s = time.time()
        plans = list[Plan]()
        left_s = self.deadline_s - now_s
        for number, team in enumerate(self._entrants, start=1):
            is_late = chance.random() < LATE
            # Two draws, the later one: the nearer the deadline, the more come.
            at_s = now_s + left_s * (
                BEFORE + (1 - BEFORE) * max(chance.random(), chance.random())
            )
            if is_late:
                at_s = self.deadline_s + chance.uniform(0.5, LATE_S)
            model = classifier_model()
            model.doc_string = f"{team} {chance.random()}"
            file = self.folder / f"{team}.onnx"
            file.write_bytes(model.SerializeToString())
            address = f"127.1.{number // 250}.{number % 250 + 1}"
            plans.append(
                Plan(team, PASSWORD, address, str(file), at_s, chance.random() < 1 / 3)
            )
        return [
            self._group(plans[first : first + PLANS_EACH], first)
            for first in range(0, len(plans), PLANS_EACH)
        ]

    def _group(self, plans: list[Plan], first: int) -> Process:
        path = self.folder / f"plans-{first}.json"
        write_plans(plans, path)
        words = [
            sys.executable,
            "-m",
            "bench.soak.entrant",
            path,
            self.entry_journal(first),
            *self.urls,
        ]
        group = Process(self.folder / f"entrants-{first}.log", *words)
        group.forget()
        return group

    def entry_journal(self, first: int) -> Path:
        """What the teams of a group were told."""
        return self.folder / f"entrants-{first}.jsonl"

    def entry_journals(self) -> list[Path]:
        """The journals of all groups."""
        return sorted(self.folder.glob("entrants-*.jsonl"))

    def switch_off(self) -> tuple[float, float]:
        """Kill all of the first host and remove its disk; when that was, and when the standby served."""
        processes = [self.server.pid, *descendants_of(self.server.pid)]
        self.server.forget()
        off_s = time.time()
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.server = self.standby
        self._url = self.urls[1]
        shutil.rmtree(self.contest, ignore_errors=True)
        self.contest = self.second / "contest"
        self.cable.lead_to(int(self._url.rpartition(":")[2]))
        self.wait_until_ready(self._url)
        return off_s, time.time()

    def wait_until_ready(self, url: str) -> None:
        """Until the contest is served there. Raises TimeoutError."""
        end_s = time.monotonic() + READY_S
        while time.monotonic() < end_s:
            with suppress(requests.RequestException):
                if (
                    requests.get(f"{url}/tracks/{TRACK}.json", timeout=5).status_code
                    == 200
                ):
                    return
            time.sleep(LEAST_AWAY_S)
        raise TimeoutError(f"{url} does not serve after {READY_S:g} s")

    def board(self) -> dict[str, Any]:
        """The track's board as anyone sees it now."""
        answer = requests.get(f"{self._url}/tracks/{TRACK}.json", timeout=30)
        answer.raise_for_status()
        return dict(answer.json())

    def close(self) -> None:
        """End the devices and the standby, too."""
        for process in [*self.devices.values(), self.standby]:
            process.end(5.0)
        super().close()


class Rival:
    """Holds half bodies, from two addresses, at the routes that take large ones; what is closed is opened again."""

    def __init__(self, cable_ports: list[int]) -> None:
        self._ports = cable_ports
        self._open = list[socket.socket]()
        self._stopped = False
        self.opened = 0
        self._thread = threading.Thread(target=self._hold, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Go home."""
        self._stopped = True
        self._thread.join(30.0)

    def _hold(self) -> None:
        while not self._stopped:
            self._open = [one for one in self._open if not _is_closed(one)]
            for number in range(HOLDERS - len(self._open)):
                with suppress(OSError):
                    self._open.append(self._half(number))
                    self.opened += 1
            time.sleep(1.0)
        for one in self._open:
            one.close()

    def _half(self, number: int) -> socket.socket:
        port = self._ports[number % len(self._ports)]
        address = f"127.9.0.{number % 2 + 1}"
        path = (
            "/v1/entries?track=models&name=a.onnx",
            "/v1/detections",
            "/result",
            "/v1/session",
        )[number % 4]
        made = socket.create_connection(("127.0.0.1", port), 2.0, (address, 0))
        head = f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\n\r\n"
        made.sendall(head.encode() + b"x" * 1000)
        made.setblocking(False)
        return made


def _is_closed(one: socket.socket) -> bool:
    try:
        while data := one.recv(65536):
            del data
    except BlockingIOError:
        return False
    except OSError:
        pass
    one.close()
    return True
