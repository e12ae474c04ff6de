"""Contests on one's own machine: when to use `demo`, `practice` or `rehearse`, and the code that they share.

Each command makes a folder with a test set and a contest, serves it with a simulated or a given meter, and registers
teams with a password. All child processes end with this process.
"""

from __future__ import annotations

import os
import re
import threading
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from lpirc_power.addresses.meter_address import MeterAddress
from lpirc_power.clocks import Clocks
from lpirc_score.files.atomic_write import write_atomically
from referee.auth.passwords import hash_password
from referee.cli.child_processes import Child, own_child, program
from referee.clock import Clock
from referee.contest import open_contest
from referee.errors import RefereeError
from referee.presence import is_free
from referee.web.listener import Listen

WHICH_TO_TAKE = (
    "To see board and console: demo. To develop a client over days: practice. "
    "To check a client or a meter with one judged run: rehearse."
)
RANGES = (150.0, 0.1)  # volts and amperes: enough for the loads that are simulated
URL = re.compile(r"https?://\S+")


def require_unused(folder: Path, advice: str) -> None:
    """Raise RefereeError `folder-in-use`, with `advice`, unless the folder is missing or empty."""
    if not is_free(folder):
        raise RefereeError("folder-in-use", f"{folder} is not empty; {advice}.")


def keep_password(file: Path, password: str) -> None:
    """Write a password to a file that only this user can read, in the form that contestants use."""
    write_atomically(file, f"{password}\n".encode(), mode=0o600)


def register_team(folder: Path, team: str, password: str) -> None:
    """Register a team in the contest in `folder`, unless it is registered already."""
    with open_contest(folder) as contest:
        if team not in contest.store.teams.all():
            contest.store.teams.add(team, hash_password(password), Clock().utc())


def try_meter(address: str) -> None:
    """Raise MeterError if no meter answers at the address, or if a simulated meter's load is invalid.

    It is called before anything is created.
    """
    clock = Clock()
    never = threading.Event()

    def sleep(seconds: float) -> None:
        clock.wait(never, clock.monotonic_s() + seconds)

    clocks = Clocks(clock.monotonic_s, clock.utc, sleep)
    with closing(MeterAddress(address)) as meter:
        meter.connect(clocks).close()


@dataclass(frozen=True)
class HomeMeter:
    """The address of the meter, and the address of the simulated meter's control; "" for a real meter."""

    address: str
    control: str = ""


def simulated_meter(processes: ExitStack, folder: Path, load: str) -> HomeMeter:
    """Start a meter that measures this load and runs until `processes` ends.

    A server that is restarted finds the same meter again.
    """
    simulate = ("simulate", "--load", load, "--control", "0")
    process = processes.enter_context(own_child(folder, "meter", "meter", *simulate))
    address = process.first_line()
    control = process.first_line().removeprefix("control ")
    return HomeMeter(address, control)


@dataclass(frozen=True)
class HomeServer:
    """A process that serves a contest folder, and the line that it printed when it was ready."""

    process: Child
    serving: str

    @property
    def urls(self) -> list[str]:
        """The URLs of the server."""
        return URL.findall(self.serving)


def serve(folder: Path, listen: Listen) -> HomeServer:
    """Start a server; the caller must end it. Raises RefereeError `child-failed`."""
    where = ("--host", listen.host, "--port", str(listen.port))
    process = own_child(folder, "server", "referee", "serve", str(folder), *where)
    try:
        return HomeServer(process, process.first_line())
    except BaseException:
        process.end()
        raise


def contestant(team: str, password_file: Path) -> tuple[str, ...]:
    """Return the options with which a sample client logs in as this team and ends when this process ends."""
    login = ("--team", team, "--password-file", str(password_file))
    return (*login, "--parent", str(os.getpid()))


def client_program() -> str:
    """Return the path of the sample client. Raises RefereeError `program-missing`."""
    return program("lpirc-client")
