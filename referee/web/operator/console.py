"""The console's pages: one screen that follows the status document, and the log-in."""

from __future__ import annotations

from typing import Any


def shown(now: dict[str, Any]) -> dict[str, Any]:
    """What the templates take: the status document, and what follows from it for the actions."""
    queued = [one["team"] for one in now["queue"]]
    others = [one["team"] for one in now["teams"] if not one["disabled"] and one["team"] not in queued]
    return {
        "now": now,
        "free": [station["name"] for station in now["stations"] if station["run"] is None],
        "queued": queued,
        "callable": queued + others,
        "heats": _heats(now["stations"]),
    }


def _heats(stations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The heats that have not started, with their armed runs."""
    heats: dict[str, list[dict[str, Any]]] = {}
    for station in stations:
        run = station["run"]
        if run is not None and run["state"] == "armed" and run["heat"]:
            heats.setdefault(run["heat"], []).append(run)
    return [
        {"name": name, "runs": runs, "ready": all(one["waiting"] for one in runs)} for name, runs in heats.items()
    ]
