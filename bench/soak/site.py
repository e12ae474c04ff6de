"""The processes of a soaked contest and the cables between them; whatever ends is started again."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import requests

from bench.house import HERE, free_port, run
from bench.soak.relay import Relay
from lpirc_testsets import synthesize
from tests.contest_day import descendants_of

WINDOW_S = 60
DISK = "256m"
STATIONS = {"north": 36.0, "south": 9.0}  # what its board draws, in watts
TEAMS = ("ant", "bee")
PASSWORD = "six legs"  # noqa: S105 - guards nothing
LEAST_AWAY_S = 0.1
END_TIMEOUT_S = 60.0
PEACE_S = 15.0
STATION = """[[stations]]
name = "{name}"
meter = "TCPIP::127.0.0.1,{port}::INSTR"
voltage_range_v = 150
current_range_a = 0.5
"""


class Process:
    """A command that is started again whenever it ends, `away_s` later, until it is ended for good."""

    def __init__(
        self,
        log: Path,
        *command: object,
        **environment: str,
    ) -> None:
        self._command = [*map(str, command)]
        self._log = log
        self._environment = os.environ | environment
        self.away_s = 0.0
        self._wanted = True
        self._start()
        self._keeper = threading.Thread(target=self._keep, daemon=True)
        self._keeper.start()

    def _start(self) -> None:
        with self._log.open("a") as log:
            self._now = subprocess.Popen(  # noqa: S603
                self._command, stdout=log, stderr=log, env=self._environment
            )

    def _keep(self) -> None:
        while self._now.wait() is not None and self._wanted:
            time.sleep(max(self.away_s, LEAST_AWAY_S))
            self._start()

    @property
    def pid(self) -> int:
        """The process as it is now."""
        return self._now.pid

    def forget(self) -> None:
        """Do not start it again."""
        self._wanted = False

    def kill(self) -> None:
        """Kill it as it stands."""
        self._now.kill()

    def end(self, timeout_s: float = END_TIMEOUT_S) -> None:
        """Ask it to end, and wait; kill it if it does not."""
        self._wanted = False
        self._now.terminate()
        self._keeper.join(timeout_s)
        self._now.kill()


class Meter:
    """A simulated meter at ports that stay, behind a cable."""

    def __init__(
        self,
        folder: Path,
        name: str,
        power_w: float,
    ) -> None:
        port = free_port()
        self._control = free_port()
        words = [
            "simulate",
            "--port",
            port,
            "--control",
            self._control,
            "--serial",
            name,
        ]
        words += ["--parent", os.getpid()]
        log = folder / f"meter-{name}.log"
        load = f"constant:{power_w:g}W"
        self.process = Process(log, HERE / "meter", *words, "--load", load)
        self.cable = Relay(port)

    def tell(self, line: str) -> None:
        """A line for its control socket, see `meter fault`. Raises OSError when it is away."""
        with socket.create_connection(("127.0.0.1", self._control), 5.0) as connection:
            connection.sendall(line.encode() + b"\n")
            connection.recv(100)


class Site:
    """The contest folder on a small disk of its own where one can be mounted, its server, two meters, two teams."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.disk = folder / "disk"
        self.shift = folder / "clock"
        self.contest = self.disk / "contest"
        self.disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(self.disk)]
        self.is_small = (
            subprocess.run(mount, capture_output=True, check=False).returncode == 0  # noqa: S603
        )
        self.set_clock(0)
        synthesize(
            folder / "testset",
            images=40,
            categories=3,
            seed=1,
        )
        self.meters = [
            Meter(folder, name, power_w) for name, power_w in STATIONS.items()
        ]
        self._make_contest()
        port = free_port()
        self._url = f"http://127.0.0.1:{port}"
        self.cable = Relay(port)
        words = [
            HERE / "referee",
            "serve",
            self.contest,
            "--port",
            port,
            "--parent",
            os.getpid(),
        ]
        path = f"{Path(__file__).with_name('clock')}:{os.environ.get('PYTHONPATH', '')}"
        clock = {"SOAK_CLOCK": str(self.shift), "PYTHONPATH": path}
        self.server = Process(folder / "server.log", *words, **clock)
        self.teams = {team: self._team(team) for team in TEAMS}

    def _make_contest(self) -> None:
        init = [
            "init",
            self.contest,
            "--testset",
            self.folder / "testset",
            "--window",
            WINDOW_S,
        ]
        run(HERE / "referee", *init, "--auto-arm", "--attempts", 0)
        settings = self.contest / "contest.toml"
        password = self.folder / "password"
        named = zip(STATIONS, self.meters, strict=True)
        stations = "".join(
            STATION.format(name=name, port=meter.cable.port) for name, meter in named
        )
        settings.write_text(
            settings.read_text().partition("[[stations]]")[0] + stations
        )
        password.write_text(PASSWORD)
        for team in TEAMS:
            run(
                HERE / "referee",
                "team",
                "add",
                team,
                "--password-file",
                password,
                "--contest",
                self.contest,
            )

    def _team(self, team: str) -> Process:
        url = f"http://127.0.0.1:{self.cable.port}"
        journal = self.journal(team)
        words = [
            sys.executable,
            "-m",
            "bench.soak.client",
            url,
            team,
            PASSWORD,
            journal,
            os.getpid(),
        ]
        return Process(self.folder / f"team-{team}.log", *words)

    def set_clock(self, shift_s: int) -> None:
        """Let the server's wall clock be so far off, in one piece: it reads the file at any moment."""
        new = self.shift.with_suffix(".new")
        new.write_text(str(shift_s))
        new.replace(self.shift)

    def journal(self, team: str) -> Path:
        """What the team has sent, and the answers."""
        return self.folder / f"{team}.jsonl"

    def meter(self, chance: random.Random) -> Meter:
        """One of the meters."""
        return chance.choice(self.meters)

    def parts(self) -> dict[str, list[int]]:
        """The server's processes by their part: supervisor, worker, live scores, judge."""
        found: dict[str, list[int]] = {
            "supervisor": [self.server.pid],
            "worker": [],
            "live": [],
            "judge": [],
        }
        for process in descendants_of(self.server.pid):
            with suppress(OSError):  # it has ended
                line = Path(f"/proc/{process}/cmdline").read_bytes()
                part = (
                    "live"
                    if b"live_process" in line
                    else "judge"
                    if b"\0judge\0" in line
                    else "worker"
                )
                found[part].append(process)
        return found

    def ask_to_judge(self) -> None:
        """Let the server judge what is over; it may be away."""
        bearing = {
            "Authorization": f"Bearer {(self.contest / 'operator-key').read_text().strip()}"
        }
        with suppress(requests.RequestException):
            requests.post(
                f"{self._url}/operator/judge",
                headers=bearing,
                json={},
                timeout=5,
            )

    def finish(self) -> None:
        """End the teams after the runs that they are in, then the server, after one more start in peace; judge."""
        for process in self.teams.values():
            process.end(3 * WINDOW_S)
        self.server.kill()
        time.sleep(PEACE_S)  # it reads the energies that were left in the meters
        self.server.end()
        # The table shows what was not judged.
        with suppress(subprocess.CalledProcessError):
            run(HERE / "referee", "judge", "--all", "--contest", self.contest)

    def close(self) -> None:
        """End what is left, and give the disk back."""
        for process in [
            *self.teams.values(),
            self.server,
            *(meter.process for meter in self.meters),
        ]:
            process.end(5.0)
        if self.is_small:
            shutil.copytree(self.contest, self.folder / "contest")
            subprocess.run(["umount", "-l", str(self.disk)], check=False)  # noqa: S603, S607
