"""`--faults` of `practice` and `rehearse`: faults like those of real connections and processes."""

from __future__ import annotations

import random
import re
import socket
import threading
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from itertools import product
from pathlib import Path
from select import select
from urllib.parse import urlsplit

import click

from referee.cli.home_contest import HomeServer, serve
from referee.cli.number_types import WholeNumber
from referee.cli.shared_options import LONGEST_S
from referee.clock import Clock
from referee.store.records import Run, RunState
from referee.web.listener import Listen, with_free_port

EXAMPLE = "drop:5%,slow:200ms,meter-gap:10s,restart:30s"
FORM = re.compile(r"(?:(drop)|slow|meter-gap|restart):(\d+(?:\.\d+)?)((?(1)%|m?s))")
NAMES = ("drop", "slow", "meter-gap", "restart")
UNITS = {"%": 0.01, "ms": 0.001, "s": 1.0}
GAP_AFTER_S = 1.0  # of the run
Faults = dict[str, float]
"""Values of the faults by name, as in EXAMPLE: `drop` is a share of the requests, the other values are in seconds."""


def _read(ctx: click.Context, param: click.Parameter, text: str | None) -> Faults:
    found: Faults = {}
    for word in [] if text is None else text.split(","):
        match = FORM.fullmatch(word.strip())
        name = word.partition(":")[0].strip()
        value = (
            float(match[2]) * UNITS[match[3]] if match and name not in found else 0.0
        )
        if not 0 < value < (1 if name == "drop" else LONGEST_S):
            what = f"{_problem(word.strip(), found)}. Write {EXAMPLE}."
            raise click.BadParameter(what, ctx, param)
        found[name] = value
    return found


def _problem(word: str, found: Faults) -> str:
    """Return what is wrong with a fault, after those that were found."""
    name = word.partition(":")[0]
    if name in found:
        return f"The fault {name!r} is named twice"
    if name not in NAMES:
        return f"{word!r} is not a fault; faults are {', '.join(NAMES)}"
    if name == "drop":
        return f"{word!r} has no share of requests, such as 5%, below 100 %"
    return f"{word!r} has no time in s or ms, such as 2s, above 0 and below a day"


faults_option = click.option(
    "--faults", callback=_read, metavar="FAULTS", help=f"Cause faults: {EXAMPLE}."
)
seed_option = click.option(
    "--seed",
    type=WholeNumber(),
    default=1,
    show_default=True,
    help="Random seed that selects the dropped requests.",
)


def require_no_meter_gap(faults: Faults) -> None:
    """Raise UsageError for the fault `meter-gap`, which only a simulated meter can have."""
    if "meter-gap" in faults:
        raise click.UsageError(
            "meter-gap is for the simulated meter; leave it out with --meter."
        )


class Relay:
    """Relays connections to the server at `target`, with delays, and cuts off a share of the requests.

    Requests are cut off alternately before and after they take effect. It takes the first
    bytes of a client after an answer for the beginning of a request, and neither parses nor changes HTTP.
    """

    def __init__(
        self, listen: Listen, target: tuple[str, int], faults: Faults, seed: int
    ) -> None:
        self._target = target
        self._share = faults.get("drop", 0.0)
        self._slow_s = faults.get("slow", 0.0)
        self._random = random.Random(seed)  # noqa: S311 - nothing is secret
        self._lock = threading.Lock()
        self._requests = 0
        self._cut = 0
        listen = with_free_port(listen)
        self.port = listen.port
        is_any = listen.host == "::"  # of both kinds, as the server takes it
        family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
        listener = socket.create_server(
            (listen.host, self.port), family=family, dualstack_ipv6=is_any
        )
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            threading.Thread(
                target=self._join, args=(listener.accept()[0],), daemon=True
            ).start()

    def _join(self, near: socket.socket) -> None:
        is_answered = True
        fate = ""
        with near, suppress(OSError), socket.create_connection(self._target) as far:
            while source := select([near, far], [], [])[0][0]:
                data = source.recv(65536)
                if source is near and is_answered and data:
                    is_answered = False
                    fate = self._fate()
                elif (
                    source is far
                    and not is_answered
                    and not data.startswith(b"HTTP/1.1 100 ")
                ):
                    is_answered = True
                    threading.Event().wait(self._slow_s)
                    fate = (
                        fate and "before"
                    )  # the request took effect: nothing of the answer is relayed
                if not data or fate == "before":
                    return
                (far if source is near else near).sendall(data)

    def _fate(self) -> str:
        """Return what happens to the next request: cut off "before" or "after" it takes effect, or "" to relay it."""
        with self._lock:
            self._requests += 1
            is_cut = self._random.random() < self._share
            self._cut += is_cut
            return ("after", "before")[self._cut % 2] if is_cut else ""

    def account(self) -> str:
        """Return sentences that describe the faults that the relay caused."""
        sentences = ""
        if self._share:
            before = (self._cut + 1) // 2
            after = self._cut // 2
            sides = f"{before} before and {after} after they took effect"
            sentences += (
                f"{self._cut} of {self._requests} requests were cut off, {sides}. "
            )
        if self._slow_s:
            sentences += f"Each answer was {self._slow_s:g} s late."
        return sentences


class Hall:
    """A contest folder that is served with faults until `processes` ends.

    `control` is the address of the simulated meter's control socket. `pages` are the server's own URLs, `urls` those
    of the relays for clients. Raises RefereeError `child-failed`, `port-busy`.
    """

    def __init__(
        self,
        processes: ExitStack,
        folder: Path,
        listen: Listen,
        faults: Faults,
        seed: int,
        control: str,
    ) -> None:
        self._folder = folder
        self._host = listen.host
        self._faults = faults
        self._control = control
        is_relayed = bool(faults.keys() & {"drop", "slow"})
        served = self._served(0 if is_relayed else listen.port)
        self._server = served.process
        processes.callback(lambda: self._server.end())
        self.serving = served.serving
        self.pages = served.urls
        self.urls = self.pages
        where = urlsplit(self.pages[0])
        self._port = where.port or 0
        self._relay = None
        if is_relayed:
            self._relay = Relay(
                listen, (where.hostname or "", self._port), faults, seed
            )
            self.urls = [
                f"{url.rpartition(':')[0]}:{self._relay.port}" for url in self.pages
            ]
        due_s = {"meter-gap": GAP_AFTER_S, "restart": faults.get("restart", 0.0)}
        self._due_s = {name: due_s[name] for name in due_s if name in faults}
        self._done: dict[tuple[str, int], str] = {}

    def _served(self, port: int) -> HomeServer:
        return serve(self._folder, Listen(self._host, port))

    def cause_due_faults(self, runs: Sequence[Run]) -> None:
        """Cause the faults that are due in these runs. Raises RefereeError `child-failed` if the server has ended."""
        if self._server.exit_code is not None:
            raise self._server.failure()
        for run, (name, due_s) in product(runs, self._due_s.items()):
            at_s = Clock().monotonic_s() - (run.start_s or 0.0)
            if (
                run.state is RunState.OPEN
                and at_s >= due_s
                and (name, run.id) not in self._done
            ):
                did = self._restart() if name == "restart" else self._silence()
                self._done[name, run.id] = f"Run {run.id}, after {at_s:.1f} s: {did}"

    def _silence(self) -> str:
        host, _, port = self._control.rpartition(":")
        with socket.create_connection((host, int(port))) as control:
            control.sendall(b"hang %g\n" % self._faults["meter-gap"])
            control.recv(100)
        return f"the meter answered nothing for {self._faults['meter-gap']:g} s."

    def _restart(self) -> str:
        began_s = Clock().monotonic_s()
        self._server.kill()
        self._server.end()
        self._server = self._served(self._port).process
        return f"the server was killed, and answered again {Clock().monotonic_s() - began_s:.1f} s later."

    def account(self) -> list[str]:
        """Return sentences about the faults that were caused and those that were not."""
        missed = sorted(self._due_s.keys() - {name for name, _ in self._done})
        relayed = [self._relay.account()] if self._relay else []
        return [
            *relayed,
            *self._done.values(),
            *(f"No run lasted until {name} was due." for name in missed),
        ]
