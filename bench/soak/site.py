"""The processes of a soaked contest and the cables between them; whatever ends is started again."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from bench.house import HERE, free_port, run
from bench.soak.relay import Relay
from testsets import synthesize

WINDOW_S, DISK = 60, "256m"
STATIONS = {"north": 36.0, "south": 9.0}  # what its board draws, in watts
TEAMS, PASSWORD = ("ant", "bee"), "six legs"
LOOK_S, START_TIMEOUT_S = 0.1, 60.0
STATION = """[[stations]]
name = "{name}"
meter = "TCPIP::127.0.0.1,{port}::INSTR"
voltage_range_v = 150
current_range_a = 0.5
update_interval_s = 0.25
"""


class Process:
    """A command that is started again whenever it ends, `away_s` later, until it is ended for good."""

    def __init__(
        self, command: Sequence[object], log: Path, environment: dict[str, str] | None = None
    ) -> None:
        self._command, self.log, self._environment = (
            [str(word) for word in command],
            log,
            os.environ | (environment or {}),
        )
        self.away_s, self._wanted = 0.0, True
        self._start()
        self._keeper = threading.Thread(target=self._keep, daemon=True)
        self._keeper.start()

    @property
    def pid(self) -> int:
        """The process as it is now."""
        return self._process.pid

    def kill(self) -> None:
        """Kill it as it stands."""
        self._process.kill()

    def end(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Ask it to end, and wait; kill it if it does not."""
        self._wanted = False
        self._process.terminate()
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._keeper.join()

    def _start(self) -> None:
        with self.log.open("a") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, env=self._environment)  # noqa: S603 - ours

    def _keep(self) -> None:
        while True:
            self._process.wait()
            if not self._wanted:
                return
            time.sleep(max(self.away_s, LOOK_S))
            self._start()


class Meter:
    """A simulated meter at ports that stay, behind a cable."""

    def __init__(self, folder: Path, name: str, power_w: float) -> None:
        self.port, self.control = free_port(), free_port()
        words = [
            "--port",
            self.port,
            "--control",
            self.control,
            "--load",
            f"constant:{power_w:g}W",
            "--serial",
            name,
        ]
        self.process = Process(
            [HERE / "meter", "simulate", *words, "--parent", os.getpid()], folder / f"meter-{name}.log"
        )
        self.cable = Relay(self.port)

    def tell(self, line: str) -> str:
        """A line for its control socket, see `meter fault`; what it answers, or nothing when it is away."""
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.control), 5.0) as connection:
            connection.sendall(line.encode() + b"\n")
            return connection.makefile().readline()
        return ""


class Site:
    """The contest folder on a small disk of its own where that can be mounted, its server, two meters, two teams."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.contest = folder, folder / "disk" / "contest"
        self.disk, self.shift = self.contest.parent, folder / "clock"
        self.disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(self.disk)]
        self.is_small = subprocess.run(mount, capture_output=True, check=False).returncode == 0  # noqa: S603 - ours
        self.shift.write_text("0")
        synthesize(folder / "testset", images=40, categories=3, seed=1)
        self.meters = {name: Meter(folder, name, power_w) for name, power_w in STATIONS.items()}
        self._make_contest()
        port = free_port()
        clock = {"SOAK_CLOCK": str(self.shift), "PYTHONPATH": str(Path(__file__).with_name("clock"))}
        self._words = [HERE / "referee", "serve", self.contest, "--port", port, "--parent", os.getpid()]
        self._clock, self._url = clock, f"http://127.0.0.1:{port}"
        self.server = Process(self._words, folder / "server.log", clock)
        self.cable = Relay(port)
        self.teams = {team: self._team(team) for team in TEAMS}

    def _make_contest(self) -> None:
        run(
            HERE / "referee",
            "init",
            self.contest,
            "--testset",
            self.folder / "testset",
            "--window",
            WINDOW_S,
            "--auto-arm",
        )
        settings, password = self.contest / "contest.toml", self.folder / "password"
        text = re.sub(r"(?m)^update_interval_s.*\n", "", settings.read_text())
        head, _, rest = text.partition("[[stations]]")
        stations = "".join(
            STATION.format(name=name, port=meter.cable.port) for name, meter in self.meters.items()
        )
        del rest
        settings.write_text(head + stations)
        password.write_text(PASSWORD)
        for team in TEAMS:
            run(HERE / "referee", "team", "add", team, "--password-file", password, "--contest", self.contest)

    def _team(self, team: str) -> Process:
        url, journal = f"http://127.0.0.1:{self.cable.port}", self.journal(team)
        words = [sys.executable, "-m", "bench.soak.client", url, team, PASSWORD, journal, os.getpid()]
        return Process(words, self.folder / f"team-{team}.log")

    def journal(self, team: str) -> Path:
        """What the team has sent and was told."""
        return self.folder / f"{team}.jsonl"

    def descendants(self) -> dict[str, list[int]]:
        """The server's processes by their part: supervisor, worker, live, judge."""
        found: dict[str, list[int]] = {"supervisor": [self.server.pid], "worker": [], "live": [], "judge": []}
        waiting = children(self.server.pid)
        while waiting:
            process = waiting.pop()
            waiting += children(process)
            with suppress(OSError):
                line = Path(f"/proc/{process}/cmdline").read_bytes()
                part = "live" if b"live_process" in line else "judge" if b"\0judge\0" in line else "worker"
                if b"resource_tracker" not in line:
                    found[part].append(process)
        return found

    def ask_to_judge(self) -> None:
        """Let the server judge what is over; it may be away."""
        import requests

        key = (self.contest / "operator-key").read_text().strip()
        with suppress(requests.RequestException):
            requests.post(
                f"{self._url}/operator/judge", headers={"Authorization": f"Bearer {key}"}, json={}, timeout=5
            )

    def finish(self) -> None:
        """End the teams after the runs that they are in, then the server, after one more start in peace."""
        for process in self.teams.values():
            process.end(3 * WINDOW_S)
        self.server.kill()
        time.sleep(START_TIMEOUT_S / 4)  # it reads the energies that were left in the meters
        self.server.end()
        run(HERE / "referee", "judge", "--all", "--contest", self.contest)

    def close(self) -> None:
        """End what is left, and give the disk back."""
        for process in [
            *self.teams.values(),
            self.server,
            *(meter.process for meter in self.meters.values()),
        ]:
            process.end(5.0)
        if self.is_small:
            subprocess.run(["umount", "-l", str(self.disk)], check=False)  # noqa: S603, S607 - the system's


def children(process: int) -> list[int]:
    """The children of a process; none when it is gone."""
    with suppress(OSError):
        return [
            int(one)
            for file in Path(f"/proc/{process}/task").glob("*/children")
            for one in file.read_text().split()
        ]
    return []
