"""Which boards were heard from lately: by a log-in of the team, or by a request from the addresses of a station."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from referee.auth.client_addresses import admits
from referee.clock import Clock
from referee.config import Station

HEARD_S = 10.0
"""A board is reachable if it was heard from within so many seconds."""


class HeardBy(StrEnum):
    """How it is known that a board is reachable."""

    LOG_IN = "log-in"
    ADDRESS = "address"


@dataclass(frozen=True)
class Heard:
    """A board that was heard from lately, from `address`."""

    by: HeardBy
    address: str


class HeardBoards:
    """The newest request of each team and of each station's addresses. Requests only write here, without a lock."""

    def __init__(self, stations: tuple[Station, ...], clock: Clock) -> None:
        self._clock = clock
        self._clients = {one.name: one.clients for one in stations if one.clients}
        self._stations: dict[str, tuple[float, str]] = {}
        self._teams: dict[str, tuple[float, str]] = {}

    def note_request(self, address: str) -> None:
        """Note a request, if it comes from an address that only some stations admit."""
        for station, clients in self._clients.items():
            if admits(clients, address):
                self._stations[station] = (self._clock.monotonic_s(), address)

    def note_log_in(self, team: str, address: str) -> None:
        """Note a log-in of a team with the right password, whether its window opens or not."""
        self._teams[team] = (self._clock.monotonic_s(), address)

    def of(self, station: str, team: str) -> Heard | None:
        """Return how the board of a team at a station was heard from lately, or None."""
        since_s = self._clock.monotonic_s() - HEARD_S
        for by, found in (
            (HeardBy.LOG_IN, self._teams.get(team)),
            (HeardBy.ADDRESS, self._stations.get(station)),
        ):
            if found is not None and found[0] >= since_s:
                return Heard(by, found[1])
        return None
