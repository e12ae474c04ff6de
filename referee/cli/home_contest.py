"""The ways to hold a contest at home: when to take which, and what `demo`, `practice` and `rehearse` share.

Each makes a folder with a test set and a contest, serves it beside a simulated meter or with a given one, and lets
teams in with a password. All processes end with this one.
"""

from __future__ import annotations

import os
import re
import threading
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from lpirc_power.clocks import Clocks
from lpirc_power.meter_address import MeterAddress
from lpirc_score.files.atomic_write import write_atomically
from referee.auth.passwords import hash_password
from referee.cli.child_processes import Child, own_child, program
from referee.clock import Clock
from referee.contest import open_contest
from referee.errors import RefereeError
from referee.presence import is_free
from referee.web.listener import Listen

WHICH_TO_TAKE = (
    "To look at board and console: demo. To develop a client over days: practice. "
    "To check a client or a meter with one judged run: rehearse."
)
RANGES = (150.0, 0.1)  # volts and amperes: enough for the loads that are simulated
URL = re.compile(r"https?://\S+")


def require_unused(folder: Path, advice: str) -> None:
    """Raise RefereeError `folder-in-use` with the advice unless the folder is new or empty."""
    if not is_free(folder):
        raise RefereeError("folder-in-use", f"{folder} is not empty; {advice}.")


def keep_password(file: Path, password: str) -> None:
    """Write a password to a file that only this user can read, as a contestant keeps it."""
    write_atomically(file, f"{password}\n".encode(), mode=0o600)


def register_team(folder: Path, team: str, password: str) -> None:
    """Add a team to the contest in `folder`, unless it is there."""
    with open_contest(folder) as contest:
        if team not in contest.store.teams.all():
            contest.store.teams.add(team, hash_password(password), Clock().utc())


def try_meter(address: str) -> None:
    """Raise MeterError, before anything is created, if no meter answers there or the load is invalid."""
    clock = Clock()
    never = threading.Event()

    def sleep(seconds: float) -> None:
        clock.wait(never, clock.monotonic_s() + seconds)

    clocks = Clocks(clock.monotonic_s, clock.utc, sleep)
    with closing(MeterAddress(address)) as meter:
        meter.connect(clocks).close()


@dataclass(frozen=True)
class HomeMeter:
    """The address of the meter, and that of the simulated one's control; "" for a given meter."""

    address: str
    control: str = ""


def simulated_meter(processes: ExitStack, folder: Path, load: str) -> HomeMeter:
    """Start a meter that measures this load, until `processes` ends; a restarted server finds it again."""
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
        """The addresses at which it is reached."""
        return URL.findall(self.serving)


def serve(folder: Path, listen: Listen) -> HomeServer:
    """Start a server, whose caller ends it. Raises RefereeError `child-failed`."""
    where = ("--host", listen.host, "--port", str(listen.port))
    process = own_child(folder, "server", "referee", "serve", str(folder), *where)
    try:
        return HomeServer(process, process.first_line())
    except BaseException:
        process.end()
        raise


def contestant(team: str, password_file: Path) -> tuple[str, ...]:
    """Return the options that log a sample client in as this team; it ends with this process."""
    login = ("--team", team, "--password-file", str(password_file))
    return (*login, "--parent", str(os.getpid()))


def client_program() -> str:
    """Return the path of the sample client. Raises RefereeError `program-missing`."""
    return program("lpirc-client")
