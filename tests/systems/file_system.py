"""Minimal file systems of a Debian suite, built once and kept; commands run inside them, and nothing there changes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.systems.mirror import TRIES, CannotTry, Mirror

USER = "newcomer"
# What the README asks for, and git, with which a newcomer gets the project.
BARE = ("make", "python3-venv", "git")
PACKAGES = Path(__file__).parents[2] / ".ci" / "packages"
INSIDE = Path(__file__).with_name("inside.sh")
NAMESPACES = ("unshare", "--mount", "--pid", "--ipc", "--fork", "--kill-child")
# A mirror may be a snapshot of some weeks ago: its signature holds, its date has passed.
APT = "DEBIAN_FRONTEND=noninteractive apt-get -qy -o Acquire::Check-Valid-Until=false"
# This file in a built system lists its packages. A system is built again when other packages are wanted, and each week:
# Debian testing changes.
RECORD = "lpirc-referee-packages"
LONGEST_KEPT_S = 7 * 86400


class NotBuilt(Exception):
    """A file system could not be built, though the mirror answers. The sentence says why."""


@dataclass(frozen=True)
class FileSystem:
    """A built system, and the folder that is its /home."""

    folder: Path
    home: Path

    def run(
        self,
        command: str,
        user: str = USER,
        environment: dict[str, str] | None = None,
    ) -> int:
        """Run a shell command as `user`; return its exit code. What it changes outside /home is forgotten."""
        self.home.mkdir(parents=True, exist_ok=True)
        with _scratch_folder(self.folder) as changes:
            return _run_inside(
                self.folder,
                changes,
                self.home,
                user,
                command,
                environment or {},
            )


def check_machine() -> None:
    """See that this machine can build a system and run it beside its own.

    Raises:
        CannotTry: it is not Linux, we are not root, or debootstrap is missing.
    """
    check_namespaces()
    if not shutil.which("debootstrap"):
        raise CannotTry("debootstrap is missing; run `apt-get install debootstrap`")


def check_namespaces() -> None:
    """See that this machine can run a system beside its own.

    Raises:
        CannotTry: it is not Linux, or we are not root.
    """
    if not sys.platform.startswith("linux"):
        raise CannotTry(
            "other systems are tried on Linux only: they need its namespaces"
        )
    if os.geteuid() != 0:
        raise CannotTry(
            "only root can try other systems; run `sudo make test-on SUITE=...`"
        )
    tried = subprocess.run(
        [*NAMESPACES, "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    if tried.returncode:
        raise CannotTry(f"this machine gives no namespaces: {tried.stderr.strip()}")


def bare(suite: str, mirror: Mirror, cache: Path) -> FileSystem:
    """Return a minimal `suite` with what the README asks for; build it when the cache has no current one."""
    folder = cache / f"{suite}-bare"
    if not _is_current(folder, BARE):
        with _building(folder, BARE) as (unfinished, log):
            _bootstrap(suite, mirror, unfinished, log)
            _install(unfinished, BARE, mirror, suite, log)
            _change(unfinished, f"useradd --create-home --shell /bin/bash {USER}", log)
    return FileSystem(folder, cache / f"{suite}-home")


def full(suite: str, mirror: Mirror, cache: Path) -> FileSystem:
    """Return the bare `suite` with what `.ci/run` installs; build it when the cache has no current one."""
    packages = tuple(PACKAGES.read_text().split())
    beneath = bare(suite, mirror, cache).folder
    folder = cache / f"{suite}-full"
    if not _is_current(folder, BARE + packages):
        with _building(folder, BARE + packages) as (unfinished, log):
            subprocess.run(
                ["cp", "-a", "--reflink=auto", beneath, unfinished],
                check=True,
            )
            _install(unfinished, packages, mirror, suite, log)
    return FileSystem(folder, cache / f"{suite}-home")


def _bootstrap(
    suite: str,
    mirror: Mirror,
    folder: Path,
    log: Path,
) -> None:
    # debootstrap has no script for suites younger than itself; all new ones are built like unstable.
    command = [
        "debootstrap",
        "--variant=minbase",
        suite,
        str(folder),
        mirror.url,
        "sid",
    ]

    def attempt() -> int:
        shutil.rmtree(folder, ignore_errors=True)
        return _logged(command, log)

    _try_often(attempt, f"debootstrap of {suite}", mirror, suite, log)


def _install(
    folder: Path,
    packages: tuple[str, ...],
    mirror: Mirror,
    suite: str,
    log: Path,
) -> None:
    command = f"{APT} update && {APT} install {' '.join(packages)}"
    _try_often(
        lambda: _changed(folder, command, log),
        f"apt-get install in {suite}",
        mirror,
        suite,
        log,
    )


def _change(folder: Path, command: str, log: Path) -> None:
    if _changed(folder, command, log):
        raise NotBuilt(f"`{command}` failed in {folder}; {log} says why")


def _changed(folder: Path, command: str, log: Path) -> int:
    return _logged(["chroot", str(folder), "bash", "-c", command], log)


def _try_often(
    attempt: Callable[[], int],
    what: str,
    mirror: Mirror,
    suite: str,
    log: Path,
) -> None:
    for _ in range(TRIES):
        if attempt() == 0:
            return
    mirror.check(suite)
    raise NotBuilt(f"{what} failed {TRIES} times; {log} says why")


def _logged(command: list[str], log: Path) -> int:
    with log.open("a") as lines:
        return subprocess.run(
            command,
            stdout=lines,
            stderr=lines,
            check=False,
        ).returncode


def _is_current(folder: Path, packages: tuple[str, ...]) -> bool:
    record = folder / RECORD
    if not record.exists():
        return False
    age_s = time.time() - record.stat().st_mtime
    return record.read_text().split() == [*packages] and age_s < LONGEST_KEPT_S


@contextmanager
def _building(folder: Path, packages: tuple[str, ...]) -> Iterator[tuple[Path, Path]]:
    """Give the folder to build in and its log. It takes its place when it is complete."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    yield unfinished, folder.with_name(f"{folder.name}.log")
    (unfinished / RECORD).write_text("\n".join(packages))
    shutil.rmtree(folder, ignore_errors=True)
    unfinished.rename(folder)


def _run_inside(
    system: Path,
    changes: Path,
    home: Path,
    user: str,
    command: str,
    environment: dict[str, str],
) -> int:
    words = [
        *NAMESPACES,
        "bash",
        str(INSIDE),
        str(system),
        str(changes),
        str(home),
        user,
        command,
    ]
    return subprocess.run(words, env=environment, check=False).returncode


@contextmanager
def _scratch_folder(system: Path) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=f"changes-{system.name}-", dir=system.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
