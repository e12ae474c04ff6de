"""`python -m tests.wheels`, for `make wheels`: builds both wheels into dist/, installs them as users do, and rehearses.

They are installed into a fresh environment outside this checkout, with what they themselves ask for and no more, in the
locked versions with their hashes: what a wheel forgets to name is missing there.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECTS = {"lpirc-referee": ROOT, "lpirc-client": ROOT / "client"}


def built(folder: Path) -> list[Path]:
    """Build the wheel of each project in `folder`; the referee's is the first."""
    for project in PROJECTS.values():
        command = [
            sys.executable,
            "-m",
            "hatchling",
            "build",
            "--target",
            "wheel",
            "--directory",
            str(folder),
        ]
        subprocess.run(
            command,
            cwd=project,
            check=True,
            capture_output=True,
        )
    return [next(folder.glob(f"{name.replace('-', '_')}-*.whl")) for name in PROJECTS]


def environment(folder: Path) -> Path:
    """Make a fresh environment; return its folder of programs."""
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True
    )
    return folder / "bin"


def install(programs: Path, *arguments: str) -> None:
    """Run our pip for that environment."""
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(programs / "python"),
        "--disable-pip-version-check",
    ]
    subprocess.run([*pip, "install", "--quiet", "--no-compile", *arguments], check=True)


def file_of(wheel: Path, name: str) -> bytes:
    """Return a file beside the metadata of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (found,) = (
            one
            for one in archive.namelist()
            if re.fullmatch(rf"[^/]*\.dist-info/{name}", one)
        )
        return archive.read(found)


def needed(wheels: list[Path]) -> set[str]:
    """Return the names of all that the wheels ask for without an extra, and of what that asks for in turn."""
    documents = [message_from_bytes(file_of(wheel, "METADATA")) for wheel in wheels]
    lines = [line for one in documents for line in one.get_all("Requires-Dist", [])]
    found: set[tuple[str, str]] = set()
    waiting = list(_asked(lines, ""))
    while waiting:
        name, extra = asked = waiting.pop()
        if asked not in found:
            found.add(asked)
            waiting += _asked(metadata.requires(name) or [], extra)
    return {name for name, _ in found}


def _asked(lines: list[str], extra: str) -> Iterator[tuple[str, str]]:
    for line in lines:
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            for more in ("", *requirement.extras):
                yield canonicalize_name(requirement.name), more


def locked(names: set[str]) -> str:
    """Return the entries of requirements.lock for these names."""
    entries = re.findall(
        r"^[a-z0-9].*\n(?:[ ].*\n)*",
        (ROOT / "requirements.lock").read_text(),
        re.MULTILINE,
    )
    return "".join(one for one in entries if one.partition("==")[0] in names)


def main() -> int:
    """Build, install, rehearse; every step is on stdout with its time. The exit code is that of what fails."""
    began_s = time.monotonic()
    dist = ROOT / "dist"

    def say(what: str) -> None:
        click.echo(f"{time.monotonic() - began_s:5.1f} s  {what}")

    for old in dist.glob("lpirc_*.whl"):
        old.unlink()
    wheels = built(dist)
    say(f"built {' '.join(str(one.relative_to(ROOT)) for one in wheels)}")
    with TemporaryDirectory(prefix="lpirc-wheels-") as temporary:
        folder = Path(temporary)
        rehearse = [
            "referee",
            "rehearse",
            "--images",
            "20",
            "--out",
            str(folder / "rehearsal"),
        ]
        versions = [[name, "--version"] for name in ("referee", "meter")]
        for name, chosen, commands in (
            ("the client alone", wheels[1:], [["lpirc-client", "--version"]]),
            ("both", wheels, [*versions, rehearse]),
        ):
            programs = environment(folder / name)
            names = _install_locked(programs, chosen, folder / "requirements.txt")
            say(
                f"installed {name} in a fresh environment, with {len(names)} packages of requirements.lock"
            )
            for command in commands:
                ended = subprocess.run(
                    [programs / command[0], *command[1:]],
                    cwd=folder,
                    check=False,
                )
                if ended.returncode:
                    return ended.returncode
    say("done")
    return 0


def _install_locked(programs: Path, wheels: list[Path], requirements: Path) -> set[str]:
    names = needed(wheels)
    hashed = [
        f"{one} --hash=sha256:{hashlib.sha256(one.read_bytes()).hexdigest()}\n"
        for one in wheels
    ]
    requirements.write_text(locked(names) + "".join(hashed))
    install(programs, "--require-hashes", "--no-deps", "-r", str(requirements))
    return names


if __name__ == "__main__":
    sys.exit(main())
