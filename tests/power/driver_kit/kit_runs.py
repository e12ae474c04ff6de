"""Runs of `python -m lpirc_power.driver_kit`, in processes of their own.

A kit before a whole meter takes 20 to 35 s, of which it waits all but two: for timers, silence and lost links. The
long ones of a module are begun together, so that their waiting costs the time of one.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.timeouts import TIMEOUT_S

ROOT = Path(__file__).parents[3]
METERS = ROOT / "tests" / "meter_sample"

Done = subprocess.CompletedProcess[str]


class Kit:
    """The kit in a folder with the author's module; ends at the latest with its with statement."""

    def __init__(self, arguments: Sequence[str], beside: Path = ROOT) -> None:
        self._done: Done | None = None
        self._process = subprocess.Popen(
            [sys.executable, "-m", "lpirc_power.driver_kit", *arguments],
            cwd=beside,
            env=os.environ | {"PYTHONPATH": str(beside)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def done(self) -> Done:
        """Wait for its end; may be called again."""
        if self._done is None:
            process = self._process
            out, err = process.communicate(timeout=2 * TIMEOUT_S)
            self._done = Done(process.args, process.returncode, out, err)
        return self._done

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


def kit(*arguments: str, beside: Path = ROOT) -> Done:
    """Run the kit."""
    with running({"": arguments}, beside) as begun:
        return begun[""].done()


@contextlib.contextmanager
def running(
    named: Mapping[str, Sequence[str]],
    beside: Path = ROOT,
) -> Iterator[dict[str, Kit]]:
    """Begin several kits at once, by name; none outlives the with statement."""
    with contextlib.ExitStack() as stack:
        begun = {}
        for name, arguments in named.items():
            begun[name] = Kit(arguments, beside)
            stack.callback(begun[name].kill)
        yield begun


def verdicts(done: Done) -> dict[str, str]:
    """Return the verdict of each demand, from JSON on stdout."""
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)["findings"]
    return {one["code"]: one["verdict"] for one in found}
