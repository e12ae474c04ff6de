"""What happens to a soaked contest, one thing after the other, drawn by a seed."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from bench.soak.relay import Relay
from bench.soak.site import Site
from tests.frozen import freeze

Act = Callable[[Site, random.Random], str | None]
"""Lets it happen and returns once it is over: the team that alone notices it, or None for all."""
FULL_BYTES, NEARLY_FULL_BYTES = 0, 32 * 2**20  # what is left; the referee refuses bodies below 64 MiB
JUDGE_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Happened:
    """One fault, in the monotonic time of this host."""

    kind: str
    start_s: float
    end_s: float
    team: str | None


def happen(kind: str, site: Site, chance: random.Random) -> Happened:
    """Let that fault happen; every cable is good, every process runs, and the disk has space afterwards."""
    start_s = time.monotonic()
    team = FAULTS[kind](site, chance)
    return Happened(kind, start_s, time.monotonic(), team)


def drawn(chance: random.Random, *, small_disk: bool) -> Iterator[str]:
    """Kinds without end: each once, in another order each time."""
    kinds = [kind for kind in FAULTS if small_disk or not kind.startswith("disk")]
    while True:
        yield from chance.sample(kinds, len(kinds))


def _kill(part: str, site: Site, chance: random.Random) -> None:
    """Kill a part of the server; the judge once it is at work."""
    site.server.away_s = chance.choice((0.0, 0.0, 3.0))
    if part == "judge":
        site.ask_to_judge()
    until_s = time.monotonic() + JUDGE_TIMEOUT_S
    while not (victims := site.descendants()[part]) and time.monotonic() < until_s:
        time.sleep(0.05)
    for victim in victims:
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)


def _kill_all(site: Site, chance: random.Random) -> None:
    site.server.away_s = chance.choice((0.0, 0.0, 3.0))
    parts = site.descendants()
    for victim in [site.server.pid, *(one for part in parts.values() for one in part)]:
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)


def _freeze(part: str, least_s: float, most_s: float, site: Site, chance: random.Random) -> None:
    _stand_still(site.descendants()[part], chance.uniform(least_s, most_s))


def _stand_still(processes: list[int], lasting_s: float) -> None:
    for process in processes:
        with suppress(OSError, AssertionError):  # it has just ended
            freeze(process)
    time.sleep(lasting_s)
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)


def _kill_team(site: Site, chance: random.Random) -> str:
    team = chance.choice([*site.teams])
    site.teams[team].away_s = chance.uniform(0.0, 3.0)
    site.teams[team].kill()
    return team


def _freeze_team(site: Site, chance: random.Random) -> str:
    team = chance.choice([*site.teams])
    _stand_still([site.teams[team].pid], chance.uniform(2.0, 10.0))
    return team


def _kill_meter(site: Site, chance: random.Random) -> None:
    meter = chance.choice([*site.meters.values()])
    meter.process.away_s = chance.uniform(0.0, 5.0)
    meter.process.kill()


def _freeze_meter(site: Site, chance: random.Random) -> None:
    _stand_still([chance.choice([*site.meters.values()]).process.pid], chance.uniform(2.0, 10.0))


def _meter_told(line: str, site: Site, chance: random.Random) -> None:
    chance.choice([*site.meters.values()]).tell(f"{line} {chance.uniform(0.5, 4.0):.1f}")


def _cable(
    meter: bool,
    harm: Callable[[Relay], None],
    least_s: float,
    most_s: float,
    site: Site,
    chance: random.Random,
) -> None:
    cable = chance.choice([*site.meters.values()]).cable if meter else site.cable
    harm(cable)
    time.sleep(chance.uniform(least_s, most_s))
    cable.mend()


def _wrong_clock(site: Site, chance: random.Random) -> None:
    site.shift.write_text(f"{-chance.choice((10.0, 600.0, 7200.0))}")
    time.sleep(chance.uniform(10.0, 20.0))
    site.shift.write_text("0")


def _fill(left_bytes: int, site: Site, chance: random.Random) -> None:
    ballast = site.disk / "ballast"
    free = os.statvfs(site.disk)
    try:
        with ballast.open("wb") as file, suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, max(free.f_bavail * free.f_frsize - left_bytes, 1))
        time.sleep(chance.uniform(3.0, 10.0))
    finally:
        ballast.unlink()


FAULTS: dict[str, Act] = {
    "server: all processes killed": _kill_all,
    "server: supervisor killed": partial(_kill, "supervisor"),
    "server: worker killed": partial(_kill, "worker"),
    "server: live scores killed": partial(_kill, "live"),
    "server: judge killed": partial(_kill, "judge"),
    "server: supervisor stopped": partial(_freeze, "supervisor", 3.0, 10.0),
    "server: worker stopped": partial(_freeze, "worker", 3.0, 25.0),
    "server: live scores stopped": partial(_freeze, "live", 3.0, 10.0),
    "client killed": _kill_team,
    "client stopped": _freeze_team,
    "clients' link cut": partial(_cable, False, Relay.cut, 1.0, 8.0),
    "clients' link half closed": partial(_cable, False, Relay.end_one_side, 0.1, 0.2),
    "clients' link silent": partial(_cable, False, Relay.hold, 2.0, 12.0),
    "clients' link slow": partial(_cable, False, partial(Relay.slow, delay_s=0.4), 10.0, 20.0),
    "meter killed and started": _kill_meter,
    "meter stopped": _freeze_meter,
    "meter off and on, sums lost": partial(_meter_told, "restart lose"),
    "meter off and on, sums kept": partial(_meter_told, "restart keep"),
    "meter's link cut": partial(_cable, True, Relay.cut, 1.0, 8.0),
    "meter's link silent": partial(_cable, True, Relay.hold, 2.0, 10.0),
    "meter's link slow": partial(_cable, True, partial(Relay.slow, delay_s=0.3), 10.0, 20.0),
    "clock set back": _wrong_clock,
    "disk nearly full": partial(_fill, NEARLY_FULL_BYTES),
    "disk full": partial(_fill, FULL_BYTES),
}
