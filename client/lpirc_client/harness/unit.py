"""The program of a unit that runs one model for a referee, out of reach of the referee's own files and network.

`python -P -m lpirc_client.harness.unit`: a tar archive comes on stdin and one JSON document goes to stdout, both the
same socket. The archive begins with `request.json`: the `command` of lpirc-harness and its `arguments`, and the paths
that this process must not see (`hidden`) with the user that it must not be (`uid`). Then come `model/NAME` and
`images/...`. Nothing runs before the unit has proved that it is confined.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import IO, Any

HARNESS = (sys.executable, "-P", "-m", "lpirc_client.harness.cli")
LOOPBACK = "lo"
CGROUPS = Path("/sys/fs/cgroup")
LIMITS = {"memory": ("memory.max", "memory.limit_in_bytes"), "pids": ("pids.max",)}
"""Files with a control group's limit, by version 2 and version 1 of control groups."""
MODEL = "model"
IMAGES = "images"
REQUEST = "request.json"


def main(archive: IO[bytes], answers: IO[bytes]) -> None:
    """Answer the request in `archive`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with tarfile.open(fileobj=archive, mode="r|") as members:
            members.extractall(folder, filter="data")
        answer = _answer(folder, json.loads((folder / REQUEST).read_text()))
    answers.write(json.dumps(answer).encode())
    answers.flush()


def _answer(folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    limits = {"memory_bytes": _limit("memory"), "processes": _limit("pids")}
    problem = open_to(request["hidden"], request["uid"])
    if problem is not None:
        return {"open_to": problem}
    if request["command"] is None:
        return limits
    arguments = [request["command"], *request["arguments"]]
    if (folder / IMAGES).is_dir():
        arguments.append(f"--images={folder / IMAGES}")
    (model,) = (folder / MODEL).iterdir()
    done = subprocess.run(  # noqa: S603 - our own program
        [*HARNESS, *arguments, f"--parent={os.getpid()}", "--json", "--", str(model)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    printed = {
        "stdout": done.stdout.decode(),
        "stderr": done.stderr.decode(errors="replace"),
    }
    return limits | {"returncode": done.returncode, "model": str(model)} | printed


def open_to(hidden: list[str], uid: int) -> str | None:
    """Return the forbidden resources that a model could reach, as the end of a sentence; None if it is confined."""
    seen = [path for path in hidden if os.path.lexists(path)]
    if seen:
        return f"it sees {seen[0]}"
    networks = [name for _, name in socket.if_nameindex() if name != LOOPBACK]
    if networks:
        return f"it has access to the network interface {networks[0]}"
    if os.getuid() == uid:
        return f"it runs as the referee's own user, {uid}"
    return None


def _limit(controller: str) -> int | None:
    """Return this process's control-group limit, in bytes or processes; None if there is none, or it is not visible."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        # Of the second version there is one tree, without a name.
        group = CGROUPS / controllers / path.lstrip("/")
        for name in LIMITS[controller]:
            found = _number(group / name)
            if found is not None:
                return found
    return None


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):  # there is no such file, or it says: max
        return None


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
