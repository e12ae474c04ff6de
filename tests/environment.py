"""`python3 tests/environment.py .venv`: builds the environment of `make` from the lock files.

It needs nothing but the Python that a machine has. What is too old, missing, full or read-only is one sentence, with
what to do. The next `make` begins again; what pip has fetched stays in its cache.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

OLDEST = (3, 11)
INSTALLED_MB, FETCHED_MB = 1300, 500
"""What the environment takes, and what pip fetches into the temporary folder and its cache before."""
# pip's words for a disk that is full, and for an index that does not answer.
FULL = ("No space left on device", "Disk quota exceeded")
UNREACHABLE = (
    "NewConnectionError",
    "ConnectionError",
    "ReadTimeout",
    "ConnectTimeout",
    "NameResolutionError",
)


class NotBuilt(Exception):
    """The environment could not be built. The sentence says why, and what to do."""


def main(words: list[str]) -> int:
    """Build it; the exit code is 1 if that fails, and one line on stderr says why."""
    environment = Path(words[0])
    try:
        check_python()
        check_line_ends(Path("requirements.lock"))
        build(environment)
    except NotBuilt as failure:
        sys.stderr.write(f"{failure}\n")
        return 1
    return 0


def check_python() -> None:
    """See that this Python is recent enough, and that it can make environments."""
    if sys.version_info < OLDEST:
        version = ".".join(map(str, sys.version_info[:2]))
        raise NotBuilt(
            f"Python 3.11 or newer is needed, and {sys.executable} is {version}: run `make PYTHON=python3.12`, "
            "with the name of a newer one"
        )
    # Debian has venv in Python's own package, and what it needs in another one.
    if not (importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip")):
        raise NotBuilt(
            "Python's venv is missing: on Debian run `apt-get install python3-venv`, then make again"
        )


def check_line_ends(file: Path) -> None:
    """See that git has written the files with line feeds only."""
    if b"\r\n" in file.read_bytes():
        raise NotBuilt(
            f"{file} has the line ends of Windows (CRLF), with which scripts and tests fail: "
            "clone again, with `git clone -c core.autocrlf=false`"
        )


def build(environment: Path) -> None:
    """Make the environment, and in it the one with the client's oldest requirements."""
    oldest = environment / "oldest"
    make = [sys.executable, "-m", "venv"]
    install = ["-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    if not os.access(Path.home(), os.W_OK):
        install.append("--no-cache-dir")  # pip builds what has no wheel in its cache, and fails there
    locked = [*install, "--require-hashes", "-r"]
    ours = [*install, "--no-deps", "--no-build-isolation", "-e", ".", "-e", "client"]
    commands = [
        [*make, "--clear", str(environment)],
        [str(environment / "bin" / "python"), *locked, "requirements.lock"],
        [str(environment / "bin" / "python"), *ours],
        [*make, str(oldest)],
        [str(oldest / "bin" / "python"), *locked, "client/oldest.lock"],
    ]
    for command in commands:
        print(*command, flush=True)
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode:
            raise NotBuilt(why(done.stdout, environment))


def why(said: str, environment: Path) -> str:
    """Return what went wrong, from what a command said before it failed."""
    folder = environment.resolve().parent
    if any(words in said for words in FULL):
        return _full_disk(folder)
    if "Permission denied" in said or "Read-only file system" in said:
        return f"{folder} cannot be written: clone into a folder that is yours, then run make there"
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if any(words in said for words in UNREACHABLE):
        return f"The package index cannot be reached: look at the network, then run make again. pip said: {lines[-1]}"
    return f"The environment could not be built: {lines[-1] if lines else 'nothing was said'}"


def _full_disk(folder: Path) -> str:
    places = (folder, Path(tempfile.gettempdir()), Path.home() / ".cache")
    free_mb = {place: shutil.disk_usage(place).free >> 20 for place in places if place.is_dir()}
    fullest = min(free_mb, key=free_mb.__getitem__)
    return (
        f"The disk of {fullest} is full, with {free_mb[fullest]} MB free: the environment takes {INSTALLED_MB} MB in "
        f"{folder}, and pip up to {FETCHED_MB} MB in {places[1]} and {places[2]}. Make room, then run make again"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
