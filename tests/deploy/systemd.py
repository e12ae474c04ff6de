"""The units of docs/deploy under a real systemd, which is process 1 of its own namespaces and control groups."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from tests.contest_day import until
from tests.deploy.deployment import program

DEPLOY = Path(__file__).parents[2] / "docs" / "deploy"
PROJECT = Path(__file__).parents[2]
CGROUPS = Path("/sys/fs/cgroup")
SYSTEMD = Path("/lib/systemd/systemd")
CONTROLLERS = ("memory", "pids", "systemd")  # of the first version, a tree each
TARGET = (
    "[Unit]\nDescription=Units under test\nDefaultDependencies=no\nWants={}\nAfter={}\n"
)
BOOT = """set -e
mount --make-rprivate /
mount -t proc proc /proc
umount -R /sys/fs/cgroup
if [ "$1" = v2 ]; then
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
else
  mount -t tmpfs tmpfs /sys/fs/cgroup
  mkdir /sys/fs/cgroup/systemd /sys/fs/cgroup/memory /sys/fs/cgroup/pids
  mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd
  mount -t cgroup -o memory cgroup /sys/fs/cgroup/memory
  mount -t cgroup -o pids cgroup /sys/fs/cgroup/pids
fi
mount -t tmpfs tmpfs /run
mount --bind "$3" /dev/console
mkdir -p /run/systemd/system
mkdir -p -m 755 /run/referee-models/root  # where Python is below it
cp "$2"/* /run/systemd/system/
export container=other SYSTEMD_UNIT_PATH=/run/systemd/system:
exec /lib/systemd/systemd --system --unit=under-test.target --log-target=console
"""


def models_units(
    folder: Path,
    changes: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The units for models, whose socket is `models.sock` in `folder`; only these places differ from docs/deploy."""
    pythons = {Path(sys.prefix), Path(sys.base_prefix), PROJECT / "client"}
    places = {
        "/run/referee-models.sock": str(folder / "models.sock"),
        "SocketUser=referee": "SocketUser=root",
        "/opt/lpirc/.venv/bin/python": sys.executable,
        "/opt/lpirc/.venv /opt/lpirc/client": " ".join(map(str, pythons)),
    }
    names = ("referee-models.socket", "referee-models@.service")
    return {name: changed(name, places | dict(changes or {})) for name in names}


def changed(name: str, places: Mapping[str, str]) -> str:
    """A unit of docs/deploy with these places changed, each of which it or another one has."""
    text = (DEPLOY / name).read_text()
    for old, new in places.items():
        text = text.replace(old, new)
    # This systemd has no usual targets.
    return text.replace("[Unit]\n", "[Unit]\nDefaultDependencies=no\n")


@contextmanager
def running(
    folder: Path,
    units: Mapping[str, str],
    is_ready: Callable[[], bool],
) -> Iterator[None]:
    """A systemd with these units, by their names, of which all but templates are started; from when `is_ready`."""
    program("systemd-analyze")
    if os.getuid() != 0 or not SYSTEMD.exists():
        pytest.skip("only root can start a systemd of its own")
    place = folder / "units"
    log = folder / "systemd.log"
    place.mkdir()
    for name, text in units.items():
        (place / name).write_text(text)
    started = " ".join(name for name in units if "@" not in name)
    (place / "under-test.target").write_text(TARGET.format(started, started))
    with _own_groups() as groups, log.open("wb") as said:
        joined = "".join(f"echo $$ > {group}/cgroup.procs; " for group in groups)
        version = "v2" if (CGROUPS / "cgroup.controllers").exists() else "v1"
        boot = [
            "unshare",
            "--cgroup",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "sh",
            "-c",
            BOOT,
        ]
        words = [
            "sh",
            "-c",
            f'{joined}exec "$@"',
            "sh",
            *boot,
            "boot",
            version,
            str(place),
            str(log),
        ]
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
        )
        try:
            until(lambda: is_ready() or process.poll() is not None)
            if process.poll() is not None:
                pytest.skip(f"no systemd runs here: {_last_line(log)}")
            yield
        finally:
            process.kill()
            process.wait()


@contextmanager
def models_unit(
    folder: Path,
    changes: Mapping[str, str] | None = None,
) -> Iterator[Path]:
    """The socket of the units for models, which run."""
    listens = folder / "models.sock"
    with running(folder, models_units(folder, changes), listens.is_socket):
        yield listens


@contextmanager
def _own_groups() -> Iterator[list[Path]]:
    """A control group of our own in each hierarchy."""
    trees = (
        [CGROUPS]
        if (CGROUPS / "cgroup.controllers").exists()
        else [CGROUPS / one for one in CONTROLLERS]
    )
    groups = [tree / f"under-test-{uuid.uuid4().hex[:8]}" for tree in trees]
    try:
        for group in groups:
            group.mkdir()
    except OSError as error:
        pytest.skip(f"control groups cannot be made here: {error.strerror}")
    try:
        yield groups
    finally:
        for group in groups:
            until(partial(_is_removed, group))


def _is_removed(group: Path) -> bool:
    """Remove a group and those below it; false while something in one of them is still dying."""
    for folder, _, _ in os.walk(group, topdown=False):
        with suppress(OSError):
            Path(folder).rmdir()
    return not group.exists()


def _last_line(log: Path) -> str:
    lines = (
        re.sub(r"\x1b\[[0-9;]*m", "", log.read_text(errors="replace"))
        .strip()
        .splitlines()
    )
    return lines[-1] if lines else "it said nothing"
