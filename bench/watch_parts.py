"""The parts of a long watch: what a simulation or a soak did, each in one small JSON file that is written as it goes.

A part that was cut off counts for what its file says.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("watch")
PART_S = 3000.0
"""The longest part; a longer watch is several."""
SIMULATE = "simulate"
SOAK = "soak"
KINDS = (SIMULATE, SOAK)
CUT_OFF = "cut off"
IN_TIME = "in time"
VIOLATED = "violation"
ROOT = Path(__file__).parents[1]
NOT_WATCHED = (":!bench/watch", ":!docs")
"""What may differ from the commit: parts and pages."""


class Part:
    """A part under way, and its file."""

    def __init__(self, folder: Path, kind: str, seed: int) -> None:
        """Begin the file, which says that the part was cut off until `end` says otherwise."""
        begun = datetime.now(UTC)
        self._begun_s = time.monotonic()
        self._loads: list[float] = []
        commit, is_committed = state_of_code()
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{kind}-{begun:%Y%m%dT%H%M%SZ}-{seed}.json"
        self.document: dict[str, Any] = {
            "kind": kind,
            "seed": seed,
            "begun_utc": begun.isoformat(timespec="seconds"),
            "lasted_s": 0.0,
            "commit": commit,
            "is_committed": is_committed,
            "machine": machine(),
            "niceness": os.nice(0),
            "load_mean": None,
            "load_most": None,
            "ended": CUT_OFF,
            "counts": {},
            "violations": [],
        }
        self._write()

    def note(self, **figures: object) -> None:
        """Replace these figures, in the file as well."""
        self.document |= figures
        self._write()

    def end(self, how: str, violations: Sequence[str] = ()) -> None:
        """Say how the part ended, and what did not hold."""
        self.document |= {"ended": how, "violations": list(violations)}
        self._write()

    def _write(self) -> None:
        lasted_s = time.monotonic() - self._begun_s
        self._loads.append(os.getloadavg()[0])
        mean = sum(self._loads) / len(self._loads)
        self.document |= {
            "lasted_s": round(lasted_s, 1),
            "load_mean": round(mean, 1),
            "load_most": round(max(self._loads), 1),
        }
        new = self.path.with_suffix(".new")
        new.write_text(as_text(self.document))
        new.replace(self.path)


def as_text(document: dict[str, Any]) -> str:
    """Return a part as JSON, one line for each figure."""
    lines = [
        f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in document.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def parts_in(folder: Path) -> list[dict[str, Any]]:
    """Return the parts in a folder in the order in which they began."""
    found = [json.loads(path.read_text()) for path in folder.glob("*.json")]
    return sorted(found, key=lambda part: str(part["begun_utc"]))


def next_seed(folder: Path, kind: str) -> int:
    """Return the first seed after those of the parts in a folder, or 1."""
    of_kind = [part for part in parts_in(folder) if part["kind"] == kind]
    return max((_after(part) for part in of_kind), default=1)


def _after(part: dict[str, Any]) -> int:
    days = len(part.get("runs_by_day", ()))
    after: int = part["seed"] + max(days, 1)
    return after


def state_of_code() -> tuple[str, bool]:
    """Return the commit, and whether the code is as committed; `unknown` and False where there is no git."""
    if shutil.which("git") is None:
        return "unknown", False
    commit = _git("rev-parse", "HEAD").strip()
    changed = _git(
        "status",
        "--porcelain",
        "--untracked-files=no",
        "--",
        ".",
        *NOT_WATCHED,
    )
    return commit or "unknown", bool(commit) and not changed.strip()


def _git(*words: str) -> str:
    done = subprocess.run(  # noqa: S603
        ["git", *words],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout if done.returncode == 0 else ""


def commits_of(named: str) -> set[str]:
    """Return the full names of one commit, or of a range A..B with A itself. Raises ValueError if git knows none."""
    first, dots, last = named.partition("..")
    found = _git("rev-parse", "--verify", "--quiet", f"{first}^{{commit}}").split()
    if found and dots:
        after = _git("rev-list", f"{first}..{last or 'HEAD'}").split()
        found = [*found, *after]
    if not found:
        raise ValueError(f"git knows no commit {named!r}: name one, or a range A..B")
    return set(found)


def machine() -> str:
    """Return how many processors of which kind there are."""
    cpu = Path("/proc/cpuinfo")
    lines = cpu.read_text().splitlines() if cpu.exists() else []
    models = [line for line in lines if line.startswith("model name")]
    model = models[0].partition(": ")[2] if models else platform.machine()
    return f"{os.cpu_count()} x {model}"
