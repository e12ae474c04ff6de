"""Fresh environments, and in each a wheel with what it asks for, in the locked versions with their hashes."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.wheels.building import ROOT, requirements_of

LOCKS = ("requirements.lock", "extras.lock", "development.lock")


def environment(folder: Path) -> Path:
    """Make a fresh environment; return its folder of programs."""
    command = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
    subprocess.run(command, check=True)
    return folder / "bin"


def install(programs: Path, *arguments: str) -> None:
    """Run our pip for that environment."""
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python")]
    options = ["--disable-pip-version-check", "install", "-qq", "--no-compile"]
    subprocess.run([*pip, *options, *arguments], check=True)


def install_locked(
    programs: Path,
    wanted: str,
    wheels: Mapping[str, Path],
    requirements: Path,
) -> set[str]:
    """Install a distribution, such as "lpirc-score[plots]", and what it asks for; return the names of all.

    `requirements` is the file that pip gets.
    """
    names = needed(wanted, wheels)
    ours = [
        f"{wheels[name]} --hash=sha256:{_sha256(wheels[name])}\n"
        for name in names & {*wheels}
    ]
    requirements.write_text(locked(names) + "".join(ours))
    install(programs, "--require-hashes", "--no-deps", "-r", str(requirements))
    return names


def needed(wanted: str, wheels: Mapping[str, Path]) -> set[str]:
    """Return the names of all that a requirement brings, itself too.

    What a wheel of ours asks for stands in the wheel; of all others in what is installed here.
    """
    found: set[tuple[str, str]] = set()
    waiting = [*_asked([wanted], "")]
    while waiting:
        name, extra = asked = waiting.pop()
        if asked in found:
            continue
        found.add(asked)
        waiting += _asked(_requirements(name, wheels), extra)
    return {name for name, _ in found}


def _requirements(name: str, wheels: Mapping[str, Path]) -> list[str]:
    if name in wheels:
        return requirements_of(wheels[name])
    return metadata.requires(name) or []


def _asked(lines: list[str], extra: str) -> Iterator[tuple[str, str]]:
    for line in lines:
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            for more in ("", *requirement.extras):
                yield canonicalize_name(requirement.name), more


def locked(names: set[str]) -> str:
    """Return the entries of the locks for these names: each lock has the same version."""
    entries: dict[str, None] = {}
    found: set[str] = set()
    for lock in LOCKS:
        text = (ROOT / lock).read_text()
        here = re.findall(r"^[a-z0-9].*\n(?:[ ].*\n)*", text, re.MULTILINE)
        new = [one for one in here if one.partition("==")[0] in names - found]
        entries |= dict.fromkeys(new)
        found |= {one.partition("==")[0] for one in new}
    return "".join(entries)


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
