"""What happens to a soaked contest, one thing after the other, drawn by a seed."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from bench.soak.relay import Relay
from bench.soak.site import Site
from tests.frozen import freeze

Act = Callable[[Site, random.Random], str | None]
"""Lets it happen and returns once it is over: the team that alone notices it, or None for all."""
JUDGE_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class Happened:
    """One fault, in the monotonic time of this host."""

    kind: str
    start_s: float
    end_s: float
    team: str | None


def happen(kind: str, site: Site, chance: random.Random) -> Happened:
    """Let that fault happen; afterwards cables are good and the disk has space. Raises OSError if it cannot."""
    start_s = time.monotonic()
    team = FAULTS[kind](site, chance)
    return Happened(kind, start_s, time.monotonic(), team)


def drawn(chance: random.Random, *, small_disk: bool) -> Iterator[str]:
    """Kinds without end: each once, then each again in another order."""
    kinds = [kind for kind in FAULTS if small_disk or not kind.startswith("disk")]
    while True:
        yield from chance.sample(kinds, len(kinds))


def _kill(parts: Sequence[str], site: Site, chance: random.Random) -> None:
    site.server.away_s = chance.choice((0.0, 0.0, 3.0))
    if "judge" in parts:
        site.ask_to_judge()
    until_s = time.monotonic() + JUDGE_TIMEOUT_S
    while not (victims := [one for part in parts for one in site.parts()[part]]):
        if time.monotonic() > until_s:
            raise ProcessLookupError(f"no {' or '.join(parts)} is at work")
        time.sleep(0.02)
    for victim in victims:
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)


def _stop(
    part: str,
    most_s: float,
    site: Site,
    chance: random.Random,
) -> None:
    stand_still(site.parts()[part], chance.uniform(3.0, most_s))


def stand_still(processes: Sequence[int], lasting_s: float) -> None:
    """Let processes stand still for so long."""
    try:
        with suppress(ProcessLookupError):
            freeze(*processes)
        time.sleep(lasting_s)
    finally:
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)


def _kill_team(site: Site, chance: random.Random) -> str:
    team = chance.choice([*site.teams])
    site.teams[team].away_s = chance.uniform(0.0, 3.0)
    site.teams[team].kill()
    return team


def _stop_team(site: Site, chance: random.Random) -> str:
    team = chance.choice([*site.teams])
    stand_still([site.teams[team].pid], chance.uniform(2.0, 10.0))
    return team


def _kill_meter(site: Site, chance: random.Random) -> None:
    process = site.meter(chance).process
    process.away_s = chance.uniform(0.0, 5.0)
    process.kill()


def _harm(
    side: str,
    how: str,
    site: Site,
    chance: random.Random,
) -> None:
    cable = site.cable if side == "clients" else site.meter(chance).cable
    harm, least_s, most_s = HARMS[how]
    harm(cable)
    time.sleep(chance.uniform(least_s, most_s))
    cable.mend()


def _wrong_clock(site: Site, chance: random.Random) -> None:
    site.set_clock(-chance.choice((10, 600, 7200)))
    time.sleep(chance.uniform(10.0, 20.0))
    site.set_clock(0)


def _fill(left_bytes: int, site: Site, chance: random.Random) -> None:
    """Leave so much of the disk; the referee refuses bodies below 64 MiB."""
    ballast = site.disk / "ballast"
    free = os.statvfs(site.disk)
    try:
        with ballast.open("wb") as file:
            _take(file.fileno(), free.f_bavail * free.f_frsize - left_bytes)
        time.sleep(chance.uniform(3.0, 10.0))
    finally:
        ballast.unlink()


def _take(file: int, size: int) -> None:
    if sys.platform == "linux":  # nothing else soaks: see `main`
        os.posix_fallocate(file, 0, size)


HARMS: dict[str, tuple[Callable[[Relay], None], float, float]] = {
    "cut": (Relay.cut, 1.0, 8.0),
    "half closed": (Relay.end_near_side, 0.1, 0.2),
    "silent": (lambda cable: setattr(cable, "silent", True), 2.0, 12.0),
    "slow": (lambda cable: setattr(cable, "delay_s", 0.4), 10.0, 20.0),
}
# At most, in seconds.
STOPPED = {
    "supervisor": 10.0,
    "worker": 25.0,
    "live": 10.0,
}
FAULTS: dict[str, Act] = {
    "server: all processes killed": partial(
        _kill, ("supervisor", "worker", "live", "judge")
    ),
    **{
        f"server: {part} killed": partial(_kill, (part,))
        for part in ("supervisor", "worker", "live", "judge")
    },
    **{
        f"server: {part} stopped": partial(_stop, part, most_s)
        for part, most_s in STOPPED.items()
    },
    "client killed": _kill_team,
    "client stopped": _stop_team,
    **{
        f"{side}' link {how}": partial(_harm, side, how)
        for side in ("clients", "meters")
        for how in HARMS
    },
    "meter killed and started": _kill_meter,
    "meter stopped": lambda site, chance: stand_still(
        [site.meter(chance).process.pid], chance.uniform(2.0, 10.0)
    ),
    "meter off and on, sums lost": lambda site, chance: site.meter(chance).tell(
        "restart lose 2"
    ),
    "meter off and on, sums kept": lambda site, chance: site.meter(chance).tell(
        "restart keep 2"
    ),
    "clock set back": _wrong_clock,
    "disk nearly full": partial(_fill, 2**25),
    "disk full": partial(_fill, 0),
}
