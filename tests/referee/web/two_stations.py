"""A contest day with two stations, each with a meter of its own."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from typing import Any

from tests.contest_day import PASSWORD, TEAM, TIMEOUT_S, Day, Meter, Server

OTHER_TEAM = "bee"


def two_stations(
    day: Callable[..., Day],
    *,
    clients: tuple[str, str] | None = None,
    **settings: Any,
) -> Day:
    """Served; with `clients`, each station takes its own network only."""
    made = day(served=False, teams=(TEAM, OTHER_TEAM), **settings)
    meter = Meter(made.folder / "meter.log", load="constant:3.6W")
    made.meters.append(meter)
    config = made.folder / "contest.toml"
    second = f'name = "station-2"\nmeter = "{meter.address}"\nupdate_interval_s = 0.1\n'
    first, added = (
        (f'clients = ["{one}"]\n' for one in clients) if clients else ("", "")
    )
    config.write_text(f"{config.read_text()}{first}[[stations]]\n{second}{added}")
    made.serve()
    return made


def arm_both(day: Day, heat: str) -> None:
    for team, place in (
        (TEAM, "station-1"),
        (OTHER_TEAM, "station-2"),
    ):
        armed = day.refers("run", "arm", team, "--station", place, "--heat", heat)
        assert f" at {place} in heat {heat}, meter YOKOGAWA " in armed.stdout, (
            armed.stderr
        )


def asked_from(
    server: Server,
    address: str,
    method: str,
    path: str,
    token: str = "",
    body: object = None,
) -> tuple[int, bytes]:
    """Ask from one of this machine's loopback addresses: status and body."""
    connection = http.client.HTTPConnection(
        server.host,
        server.port,
        TIMEOUT_S,
        source_address=(address, 0),
    )
    try:
        content = b"" if body is None else json.dumps(body).encode()
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
        }
        connection.request(method, path, content, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def login_from(
    server: Server,
    address: str,
    team: str,
) -> tuple[int, dict[str, Any]]:
    status, body = asked_from(
        server,
        address,
        "POST",
        "/v1/session",
        body={"team": team, "password": PASSWORD},
    )
    return status, json.loads(body)
