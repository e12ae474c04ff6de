"""The units of docs/deploy under a real systemd, which is process 1 of its own namespaces and control groups."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
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
TARGET = "[Unit]\nDescription=Units under test\nDefaultDependencies=no\nWants={}\nAfter={}\n"
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


@contextmanager
def models_unit(folder: Path, changes: Mapping[str, str] | None = None) -> Iterator[Path]:
    """The socket of the units for models, in `folder`; only the places named here differ from docs/deploy."""
    program("systemd-analyze")
    if os.getuid() != 0 or not SYSTEMD.exists():
        pytest.skip("only root can start a systemd of its own")
    units, listens = folder / "units", folder / "models.sock"
    units.mkdir()
    pythons = {Path(sys.prefix), Path(sys.base_prefix), PROJECT / "client"}
    places = {
        "/run/referee-models.sock": str(listens),
        "SocketUser=referee": "SocketUser=root",
        "/opt/lpirc/.venv/bin/python": sys.executable,
        "/opt/lpirc/.venv /opt/lpirc/client": " ".join(map(str, pythons)),
    }
    for name in ("referee-models.socket", "referee-models@.service"):
        text = (DEPLOY / name).read_text()
        for old, new in (places | dict(changes or {})).items():
            text = text.replace(old, new)
        # This systemd has none of the usual targets.
        text = text.replace("[Unit]\n", "[Unit]\nDefaultDependencies=no\n")
        (units / name).write_text(text)
    (units / "under-test.target").write_text(TARGET.format("referee-models.socket", "referee-models.socket"))
    with _own_groups() as groups, (folder / "systemd.log").open("wb") as log:
        joined = "".join(f"echo $$ > {group}/cgroup.procs; " for group in groups)
        version = "v2" if (CGROUPS / "cgroup.controllers").exists() else "v1"
        boot = ["unshare", "--cgroup", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", BOOT]
        words = [
            "sh",
            "-c",
            f'{joined}exec "$@"',
            "sh",
            *boot,
            "boot",
            version,
            str(units),
            str(folder / "systemd.log"),
        ]
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            until(lambda: listens.is_socket() or process.poll() is not None)
            if process.poll() is not None:
                pytest.skip(f"no systemd runs here: {_last_line(folder / 'systemd.log')}")
            yield listens
        finally:
            process.kill()
            process.wait()


@contextmanager
def _own_groups() -> Iterator[list[Path]]:
    """A control group of our own in each hierarchy."""
    trees = [CGROUPS] if (CGROUPS / "cgroup.controllers").exists() else [CGROUPS / one for one in CONTROLLERS]
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
    lines = re.sub(r"\x1b\[[0-9;]*m", "", log.read_text(errors="replace")).strip().splitlines()
    return lines[-1] if lines else "it said nothing"
