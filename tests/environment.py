"""`python3 tests/environment.py .venv`: builds the environment of `make` from the lock files.

With `extras` or `tools` behind it, that part is added to an environment that is there.

It needs nothing but the Python that a machine has. What is too old, missing, full or read-only is one sentence, with
what to do. The next `make` begins again; what pip has fetched stays in its cache.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST = (3, 11)
DISTRIBUTIONS = ("datasets", "scoring", "power", "client", "referee", "tracks")
"""Each is a folder with a pyproject.toml of its own."""
SETUP = "setup"
EXTRAS = "extras"
TOOLS = "tools"
LOCKS = {
    SETUP: ("requirements.lock",),
    EXTRAS: ("extras.lock",),
    TOOLS: ("extras.lock", "development.lock"),
}
"""What each part installs: what running needs, every extra, the tools of tests, lint and documents."""
INSTALLED_MB = {SETUP: 300, EXTRAS: 700, TOOLS: 1300}
FETCHED_MB = {SETUP: 120, EXTRAS: 250, TOOLS: 500}
"""What the environment then takes, and what pip fetches before, into a folder in it and into its cache."""
TEMPORARY = "tmp"
"""In the environment: what an interrupted pip leaves there goes with it."""
SHELL_CHARACTERS = set('$"`\\')
"""In the folder's name they stop the programs of .venv: pip starts them by a line of shell."""
# pip's words for a disk that is full, and for an index that does not answer.
FULL = ("No space left on device", "Disk quota exceeded")
UNREACHABLE = (
    "NewConnectionError",
    "ConnectionError",
    "ReadTimeout",
    "ConnectTimeout",
    "NameResolutionError",
)
UNTRUSTED = ("SSLError", "not a trusted or secure host")
NO_VENV = "Python's venv is missing: on Debian run `apt-get install python3-venv`, then make again"


class NotBuilt(Exception):
    """The environment could not be built. The sentence says why, and what to do."""


def main(words: list[str]) -> int:
    """Build it, or add a part; the exit code is 1 if that fails, and one line on stderr says why."""
    environment = Path(words[0])
    part = words[1] if words[1:] else SETUP
    try:
        check_python()
        check_folder(Path.cwd())
        for lock in LOCKS[part]:
            check_line_ends(Path(lock))
        if part == SETUP:
            build(environment)
        else:
            add(part, environment)
    except NotBuilt as failure:
        sys.stderr.write(f"{failure}\n")
        return 1
    except OSError as error:
        sys.stderr.write(
            f"{error.filename} cannot be read or written ({error.strerror}): clone again as this user, then run make\n"
        )
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("Stopped: run make again, and it begins again\n")
        return 1
    return 0


def check_python() -> None:
    """See that this Python is recent enough, and that it can make environments."""
    if sys.version_info < OLDEST:
        version = ".".join(map(str, sys.version_info[:2]))
        raise NotBuilt(
            f"Python 3.11 or newer is needed, and {sys.executable} is {version}: run `make setup PYTHON=python3.12`, "
            "with the name of a newer one"
        )
    # Debian has venv in Python's own package, and what it needs in another one.
    if not (importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip")):
        raise NotBuilt(NO_VENV)


def check_folder(folder: Path) -> None:
    """See that programs that are installed there can start."""
    found = sorted(SHELL_CHARACTERS & set(str(folder)))
    if found:
        raise NotBuilt(
            f"{folder} has {' and '.join(found)} in its name, with which the programs in .venv do not start: "
            "rename it, then run make again"
        )


def check_line_ends(file: Path) -> None:
    """See that git has written the files with line feeds only."""
    if b"\r\n" in file.read_bytes():
        raise NotBuilt(
            f"{file} has the line ends of Windows (CRLF), with which scripts and tests fail: "
            "clone again, with `git clone -c core.autocrlf=false`"
        )


def build(environment: Path) -> None:
    """Make the environment, with what running needs and this project's own distributions."""
    pip = _pip(environment)
    ours = [*pip, "--no-deps", "--no-build-isolation"]
    for distribution in DISTRIBUTIONS:
        ours += ["-e", distribution]
    make = [sys.executable, "-m", "venv", "--clear", str(environment)]
    _run(make, environment, SETUP)
    _install([*_locked(pip, SETUP), ours], environment, SETUP)


def add(part: str, environment: Path) -> None:
    """Add the packages of a part; with the tools an environment with the client's oldest requirements."""
    commands = _locked(_pip(environment), part)
    if part == TOOLS:
        oldest = environment / "oldest"
        commands.append([sys.executable, "-m", "venv", "--clear", str(oldest)])
        commands.append([*_pip(oldest), "--require-hashes", "-r", "client/oldest.lock"])
    _install(commands, environment, part)


def _pip(environment: Path) -> list[str]:
    python = str(environment / "bin" / "python")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    home = _home()
    if home is None or not os.access(home, os.W_OK):
        # pip builds what has no wheel in its cache, and fails there.
        pip.append("--no-cache-dir")
    return pip


def _locked(pip: list[str], part: str) -> list[list[str]]:
    return [[*pip, "--require-hashes", "-r", lock] for lock in LOCKS[part]]


def _install(
    commands: list[list[str]],
    environment: Path,
    part: str,
) -> None:
    """Run each; what pip keeps for a while is in a folder of the environment. Raises NotBuilt."""
    temporary = (environment / TEMPORARY).absolute()
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    for command in commands:
        _run(command, environment, part, TMPDIR=str(temporary))
    shutil.rmtree(temporary)


def _run(
    command: list[str],
    environment: Path,
    part: str,
    **settings: str,
) -> None:
    print(*command, flush=True)
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | settings,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise NotBuilt(why(done.stdout, environment, part))


def why(said: str, environment: Path, part: str = SETUP) -> str:
    """Return what went wrong, from what a command said before it failed."""
    folder = environment.resolve().parent
    if any(words in said for words in FULL):
        return _full_disk(folder, part)
    if "Permission denied" in said or "Read-only file system" in said:
        return f"{folder} cannot be written: clone into a folder that is yours, then run make there"
    if "Failing command" in said or "ensurepip" in said:
        # It does not say why: on a full disk it fails, too.
        has_room = shutil.disk_usage(folder).free >> 20 >= INSTALLED_MB[part]
        return NO_VENV if has_room else _full_disk(folder, part)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    for line in lines:
        if any(words in line for words in UNTRUSTED):
            return (
                "The package index is not trusted: name the certificate of your network in the variable PIP_CERT, "
                f"then run make again. pip said: {line}"
            )
        if any(words in line for words in UNREACHABLE):
            return f"The package index cannot be reached: look at the network, then run make again. pip said: {line}"
    return f"The environment could not be built: {lines[-1] if lines else 'nothing was said'}"


def _full_disk(folder: Path, part: str) -> str:
    home = _home()
    cache = folder if home is None else home / ".cache"
    free_mb = {
        place: shutil.disk_usage(place).free >> 20
        for place in (folder, cache)
        if place.is_dir()
    }
    fullest = min(free_mb, key=free_mb.__getitem__)
    return (
        f"The disk of {fullest} is too full, with {free_mb[fullest]} MB free: "
        f"the environment takes {INSTALLED_MB[part]} MB in {folder}, "
        f"and pip up to {FETCHED_MB[part]} MB there and in {cache}. Make room, then run make again"
    )


def _home() -> Path | None:
    """The user's home folder, if the user has one: in containers some have none."""
    try:
        return Path.home()
    except RuntimeError:
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
