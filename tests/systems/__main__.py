"""`python -m tests.systems SUITE`: the README's commands and every test on a minimal Debian, as it is and as CI's.

Exit code 0: all that was tried held; where the mirror did not answer, one line says so. 1: something failed. 2: usage.
"""

from __future__ import annotations

import argparse
import fcntl
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from tests import skipped
from tests.systems import file_system, mirror
from tests.systems.checkout import FOLDER, NAME, clone, network_settings
from tests.systems.file_system import USER, FileSystem

CACHE = Path("/var/cache/lpirc-referee")
# A time zone that no file must describe, and an hour with minutes.
SURROUNDINGS = {"LC_ALL": "C", "TZ": "<+0545>-05:45"}
STEPS = {
    "bare": ("make rehearse", "make test-all"),
    "full": ("make lint", "make test-all", "make wheels"),
}
# Both systems use one checkout: what ran on the bare one need not run again, only what was skipped for a lack.
AFTER_BARE = ("make lint", f"make test ARGS={skipped.OPTION}", "make wheels")
# On a shared machine a limit of time may pass. What failed is run once more, with no other tests beside it.
AGAIN = 'make test ARGS="--last-failed --last-failed-no-failures none -n 1"'


@dataclass(frozen=True)
class Step:
    """One command that was run, and how it ended."""

    system: str
    user: str
    command: str
    exit_code: int
    elapsed_s: float
    is_repeated: bool = False

    @property
    def is_failure(self) -> bool:
        """What is repeated is judged by the step after it."""
        return self.exit_code != 0 and not self.is_repeated

    def __str__(self) -> str:
        outcome = (
            "passed"
            if self.exit_code == 0
            else f"FAILED with exit code {self.exit_code}"
        )
        if self.is_repeated:
            outcome += "; repeated below"
        return f"{self.system:<14} {self.user:<9} {self.command:<36} {self.elapsed_s:5.0f} s  {outcome}"


def main(words: Sequence[str]) -> int:
    """Try the suite, step by step; at the end print a table of the steps, also if the last ones could not be tried."""
    chosen = _arguments(words)
    steps: list[Step] = []
    failed = False
    try:
        file_system.check_machine()
        source = (
            mirror.Mirror(chosen.mirror) if chosen.mirror else mirror.of_this_machine()
        )
        with _alone(chosen.suite, chosen.cache):
            for step in _steps(chosen, source):
                _say(str(step))
                steps.append(step)
    except mirror.NoAnswer as reason:
        print(f"{chosen.suite}: not tried: {reason}")
    except (mirror.CannotTry, file_system.NotBuilt) as reason:
        print(f"{chosen.suite}: {reason}", file=sys.stderr)
        failed = True
    print(*steps, sep="\n", end="\n" if steps else "")
    return int(failed or any(step.is_failure for step in steps))


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make test-on", description=__doc__)
    parser.add_argument(
        "suite",
        help="trixie, forky, bookworm or another suite of Debian",
    )
    parser.add_argument(
        "--only", choices=list(STEPS), help="only bare, or only with what CI installs"
    )
    parser.add_argument("--user", choices=[USER, "root"], default=USER)
    parser.add_argument(
        "--run", metavar="COMMAND", help="run this instead of the README's commands"
    )
    parser.add_argument(
        "--times", type=int, default=1, help="repeat the commands, in the same checkout"
    )
    parser.add_argument(
        "--repeat-failed",
        action="store_true",
        help="run tests that failed once more, with none beside them; the second time counts",
    )
    parser.add_argument(
        "--keep", action="store_true", help="go on with the checkout of the last time"
    )
    parser.add_argument(
        "--cache",
        type=Path,
        default=CACHE,
        help=f"where file systems are kept ({CACHE})",
    )
    parser.add_argument(
        "--mirror", metavar="URL", help="the package mirror (this machine's own)"
    )
    return parser.parse_args(words)


@contextmanager
def _alone(suite: str, cache: Path) -> Iterator[None]:
    """Let one run at a time use the systems of `suite`, and forget what an interrupted one left.

    Raises:
        CannotTry: another run uses them.
    """
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"{suite}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise mirror.CannotTry(
                "another `make test-on` of this suite is under way; wait for its end"
            ) from error
        for changes in cache.glob(f"changes-{suite}-*"):
            shutil.rmtree(changes)
        yield


def _steps(chosen: argparse.Namespace, source: mirror.Mirror) -> Iterator[Step]:
    build = {"bare": file_system.bare, "full": file_system.full}
    systems = [chosen.only] if chosen.only else list(build)
    fresh = not chosen.keep
    for name in systems:
        began_s = time.monotonic()
        system = build[name](chosen.suite, source, chosen.cache)
        _say(f"{chosen.suite}, {name}: ready after {time.monotonic() - began_s:.0f} s")
        if system.run("true", "root"):
            raise mirror.CannotTry(
                f"nothing runs in {system.folder} on this machine; the line above says why"
            )
        clone(system.home, chosen.user, fresh=fresh)
        fresh = False
        for command in [*_commands(chosen, name)] * chosen.times:
            step = _step(system, f"{chosen.suite} {name}", chosen.user, command)
            if not _is_to_repeat(chosen, step):
                yield step
                continue
            yield replace(step, is_repeated=True)
            yield _step(system, step.system, chosen.user, AGAIN)


def _commands(chosen: argparse.Namespace, system: str) -> Sequence[str]:
    if chosen.run:
        return [chosen.run]
    follows_bare = system == "full" and chosen.only is None
    return AFTER_BARE if follows_bare else STEPS[system]


def _is_to_repeat(chosen: argparse.Namespace, step: Step) -> bool:
    is_test = step.command.startswith("make test")
    return bool(chosen.repeat_failed and is_test and step.exit_code)


def _step(
    system: FileSystem,
    name: str,
    user: str,
    command: str,
) -> Step:
    _say(f"{name}, as {user}: {command}")
    began_s = time.monotonic()
    environment = {**network_settings(system.home), **SURROUNDINGS}
    exit_code = system.run(
        f'umask 077; cd "$HOME/{FOLDER}/{NAME}" && {command}',
        user,
        environment,
    )
    return Step(name, user, command, exit_code, time.monotonic() - began_s)


def _say(what: str) -> None:
    print(f"--- {what}", flush=True)


def _end(number: int, _: object) -> NoReturn:
    """End as after Ctrl-C: what runs inside is ended, and its changes are removed."""
    sys.exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _end)
    sys.exit(main(sys.argv[1:]))
