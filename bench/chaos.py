"""Runs judged while the processes that judge them are killed: workers, coordinators, nannies, the scheduler.

A seed draws who is killed and when. What ends is started again; afterwards every run must be judged, with the same
result as by one process that nobody disturbs.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench import workload
from bench.bundles import REFEREE, write_test_set
from bench.figures import show
from bench.house import free_port
from bench.soak.site import Process
from bench.watch_parts import machine
from referee.contest import open_contest
from referee.store.model_records import JobState
from referee.store.records import RunState
from tests.contest_day import workers_of
from tests.referee.judging.stored_runs import forget_scorings, results, store_runs

PER_IMAGE = 100
WORKERS = 2
KILL_AFTER_S = (0.0, 3.0)
"""From the moment at which a command is seen to have given out a job since the kill before."""
RUNS_A_KILL = 5
"""One process is killed for so many runs, and the rest is judged in peace: so it ends on the slowest machine, too."""
LOOK_S = 0.05
MOST_S = 3600.0
MARK = "JUDGED_IN_CHAOS"
"""The variable by which the processes of a cluster are known after their parents were killed."""

GIVEN = "SELECT 1 FROM jobs WHERE state = 'leased' AND worker LIKE ?"
OF_COMMAND = ("coordinator", "worker")
OF_CLUSTER = ("coordinator", "nanny", "scheduler", "worker")

Victims = Mapping[str, Callable[[], list[int]]]


@dataclass(frozen=True)
class Way:
    """How a contest is judged, and the parts whose processes may be killed.

    `found` finds those that the command does not start itself.
    """

    name: str
    options: tuple[str, ...]
    parts: tuple[str, ...]
    found: Victims = field(default_factory=dict)


def measure(runs: int, images: int, seed: int) -> list[dict[str, Any]]:
    """Judge a contest undisturbed, then under kills in two ways; print the table and return its rows.

    Exits with a sentence if a run is not judged, or not as undisturbed.
    """
    with TemporaryDirectory(prefix="chaos-") as name:
        folder = Path(name)
        contest = folder / "contest"
        made = workload.make(images, PER_IMAGE)
        test_set = write_test_set(made, folder / "testset")
        store_runs(contest, test_set, made.rows(), runs)
        subprocess.run(_judge(contest), check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        undisturbed = results(contest)
        rows = []
        with Cluster(folder) as cluster:
            options = ("--workers", str(WORKERS))
            alone = Way(" ".join(options), options, OF_COMMAND)
            joint = Way(
                "--cluster",
                ("--cluster", cluster.address),
                OF_CLUSTER,
                cluster.victims,
            )
            for way in (alone, joint):
                forget_scorings(contest)
                chance = random.Random(f"{seed} {way.name}")  # noqa: S311
                row = Judging(contest, way, chance, runs // RUNS_A_KILL).carried_out()
                row["same result"] = results(contest) == undisturbed
                row |= {"seed": seed, "images": images, "machine": machine()}
                rows.append(row | {"load average": round(os.getloadavg()[0], 1)})
    show("judging under kills", rows)
    for row in rows:
        if row["judged"] != runs or row["jobs failed"] or not row["same result"]:
            sys.exit(f"{row['referee judge --all']}, seed {seed}: not as undisturbed")
    return rows


def _judge(contest: Path, *options: str) -> list[str]:
    return [str(REFEREE), "judge", "--all", "--contest", str(contest), *options]


class Judging:
    """One contest being judged by a command that is started again until all of its runs are judged."""

    def __init__(
        self,
        contest: Path,
        way: Way,
        chance: random.Random,
        kills: int,
    ) -> None:
        self._contest = contest
        self._way = way
        self._chance = chance
        self._kills_left = kills
        self._drawn = chance.choice(way.parts)
        self._killed = Counter[str]()
        self._starts = 0
        self._command = self._started()
        own = {"coordinator": lambda: [self._command.pid], "worker": self._own_workers}
        self._victims: Victims = own | dict(way.found)

    def carried_out(self) -> dict[str, Any]:
        """Return the row of this way, once a command has ended with all runs judged. Raises TimeoutError."""
        begun_s = time.monotonic()
        try:
            self._carry_out(begun_s)
        finally:
            self._command.kill()
        return self._row(time.monotonic() - begun_s)

    def _carry_out(self, begun_s: float) -> None:
        next_s: float | None = None
        while self._command.poll() != 0:
            if self._command.poll() is not None:
                self._command = self._started()
            if next_s is None and self._kills_left and self._has_given():
                next_s = time.monotonic() + self._chance.uniform(*KILL_AFTER_S)
            if next_s is not None and time.monotonic() >= next_s:
                self._kill_one()
                next_s = None
            if time.monotonic() > begun_s + MOST_S:
                raise TimeoutError(f"{self._way.name}: not judged in {MOST_S:g} s")
            time.sleep(LOOK_S)

    def _started(self) -> subprocess.Popen[bytes]:
        self._starts += 1
        # With the reasons why one ends, such as a scheduler that is gone.
        with (self._contest.parent / "judge.log").open("a") as log:
            return subprocess.Popen(  # noqa: S603
                _judge(self._contest, *self._way.options), stdout=log, stderr=log
            )

    def _has_given(self) -> bool:
        """Return whether a worker has a job of this command."""
        place = f"file:{self._contest / 'contest.db'}?mode=ro"
        with closing(sqlite3.connect(place, uri=True)) as database:
            found = database.execute(GIVEN, (f"% {self._command.pid}",)).fetchone()
        return found is not None

    def _own_workers(self) -> list[int]:
        """The processes that the command's fork server has started."""
        servers = workers_of(self._command.pid)
        return [worker for server in servers for worker in workers_of(server)]

    def _kill_one(self) -> None:
        """Kill a process of the part drawn, which stays drawn until it has one."""
        victims = self._victims[self._drawn]()
        if not victims:
            return
        with suppress(ProcessLookupError):
            os.kill(self._chance.choice(victims), signal.SIGKILL)
            self._killed[self._drawn] += 1
            self._kills_left -= 1
            self._drawn = self._chance.choice(self._way.parts)

    def _row(self, took_s: float) -> dict[str, Any]:
        with open_contest(self._contest) as contest:
            jobs = contest.store.jobs.all()
            judged = len(contest.store.runs.find(RunState.JUDGED))
        killed = ", ".join(f"{part} {times}" for part, times in self._killed.items())
        return {
            "referee judge --all": self._way.name,
            "judged": judged,
            "killed": killed,
            "kills": self._killed.total(),
            "jobs lost and given again": sum(job.losses for job in jobs),
            "jobs failed": sum(job.state is not JobState.DONE for job in jobs),
            "starts of the command": self._starts,
            "s": round(took_s, 1),
        }


class Cluster:
    """A scheduler and workers with nannies; each is started again when it ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        port = free_port()
        self.address = f"tcp://127.0.0.1:{port}"
        self._mark = str(folder)
        self._stack = ExitStack()
        self._nannies: list[Process] = []
        self._port = str(port)

    def __enter__(self) -> Cluster:
        self._scheduler = self._kept("dask_scheduler", "--port", self._port)
        for _ in range(WORKERS):
            words = (self.address, "--nworkers", "1", "--nthreads", "1")
            limit = ("--memory-limit", "1GB", "--local-directory", str(self._folder))
            self._nannies.append(self._kept("dask_worker", *words, *limit))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        # Workers whose nanny was killed may not have noticed.
        for process in marked(self._mark):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def _kept(self, module: str, *words: str) -> Process:
        command = (sys.executable, "-m", f"distributed.cli.{module}", *words)
        common = ("--host", "127.0.0.1", "--no-dashboard")
        settings = {
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0",
            "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
            MARK: self._mark,
        }
        kept = Process(self._folder / f"{module}.log", *command, *common, **settings)
        self._stack.callback(kept.end, 5.0)
        return kept

    @property
    def victims(self) -> Victims:
        """The processes of a cluster by their part."""
        return {
            "scheduler": lambda: [self._scheduler.pid],
            "nanny": lambda: [nanny.pid for nanny in self._nannies],
            "worker": self._workers,
        }

    def _workers(self) -> list[int]:
        return [one for nanny in self._nannies for one in workers_of(nanny.pid)]


def marked(mark: str) -> list[int]:
    """Return the processes whose environment has the mark."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if wanted in environment.read_bytes().split(b"\0"):
                found.append(int(environment.parent.name))
    return found
