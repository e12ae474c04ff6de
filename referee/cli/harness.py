"""The device harness as a process: `lpirc-client validate` and `bench` run by the referee."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from referee.cli.options import above_0_s
from referee.cli.processes import endings_interrupt, program
from referee.errors import RefereeError
from referee.tracks import Track
from referee.tracks.submissions.submitting import MODEL_FAULTS

SAYS = "lpirc-client: "
LAST_WORDS = 300


@dataclass(frozen=True)
class Limits:
    """What a model may use; None: the harness's own default."""

    memory_mb: int | None = None
    timeout_s: float | None = None
    core: int | None = None
    repeats: int | None = None
    limit: int | None = None

    def options(self, *names: str) -> list[str]:
        """The given ones as options of the harness."""
        values = {name: getattr(self, name) for name in names}
        return _options(values)


def refusals(model: Path, task: str, limits: Limits) -> tuple[str, ...]:
    """What the validator says against a model, one sentence each; nothing for a valid one.

    Raises RefereeError when the model cannot be looked at for a reason of the house's.
    """
    arguments = ["validate", "--task", task, *limits.options("memory_mb", "timeout_s", "core"), "--json"]
    done = _run([*arguments, "--", str(model)])
    if done.returncode == 0:
        return ()
    failure = _failure(done)
    if not is_model_fault(failure.code):
        raise failure
    told = [line.removeprefix(SAYS) for line in done.stderr.splitlines() if line.startswith(SAYS)]
    return tuple(dict.fromkeys([failure.sentence, *told]))


def bench(
    model: Path,
    images: Path,
    rule: Track,
    budget_s: float | None,
    limits: Limits,
    energy_loop_s: float | None = None,
    threads: int | None = None,
) -> bytes:
    """The result document of a model on a test-set folder, as the harness prints it.

    Raises RefereeError with the harness's code and sentence.
    """
    arguments = ["bench", f"--images={images}", "--task", rule.task]
    arguments += ["--preprocessing", rule.preprocessing, "--threads", str(threads or rule.threads)]
    arguments += _options({"budget_s": budget_s, "energy_loop_s": energy_loop_s})
    arguments += limits.options("memory_mb", "timeout_s", "core", "repeats", "limit")
    done = _run([*arguments, "--json", "--", str(model)])
    if done.returncode != 0:
        raise _failure(done)
    return done.stdout


def is_model_fault(code: str) -> bool:
    """Whether a failure is the model's own: it was refused, or it failed when it ran."""
    return code in MODEL_FAULTS or code in REFUSED or code.startswith("wrong-")


REFUSED = frozenset({"not-tflite", "empty-model", "model-too-large", "unreadable-model"})


@dataclass(frozen=True)
class _Done:
    returncode: int
    stdout: bytes
    stderr: str


def _run(arguments: Sequence[str]) -> _Done:
    """Run the harness to its end; whatever ends us, ends it."""
    name, *rest = arguments
    command = [program("lpirc-client"), name, "--parent", str(os.getpid()), *rest]
    with endings_interrupt():
        process = subprocess.Popen(  # noqa: S603 - our own program
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            stdout, stderr = process.communicate()
        except BaseException:
            with suppress(ProcessLookupError):  # it has just ended
                os.killpg(process.pid, signal.SIGKILL)  # its model's process dies with it
            process.communicate()
            raise
    return _Done(process.returncode, stdout, stderr.decode(errors="replace"))


def _failure(done: _Done) -> RefereeError:
    try:
        told: Any = json.loads(done.stdout)["error"]
        return RefereeError(str(told["code"]), str(told["sentence"]), **told["facts"])
    except (ValueError, KeyError, TypeError):
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        last = lines[-1][-LAST_WORDS:] if lines else f"it ended with exit code {done.returncode}"
        return RefereeError("harness-failed", f"The device harness failed: {last.removeprefix(SAYS)}")


def _options(values: dict[str, Any]) -> list[str]:
    given = {name: value for name, value in values.items() if value is not None}
    return [part for name, value in given.items() for part in (f"--{name.replace('_', '-')}", str(value))]


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that become the argument `limits`."""

    @click.option("--memory-mb", type=click.IntRange(1), help="Memory for the model; default: 2048.")
    @click.option(
        "--timeout-s",
        type=float,
        callback=above_0_s,
        help="Seconds to load the model, and for one inference; default: 30.",
    )
    @click.option("--core", type=click.IntRange(0), help="The core it stays on; default: the last one.")
    @click.option("--repeats", type=click.IntRange(1), help="At most so many passes; default: 5.")
    @wraps(command)
    def with_limits(
        *arguments: Any,
        memory_mb: int | None,
        timeout_s: float | None,
        core: int | None,
        repeats: int | None,
        **named: Any,
    ) -> Any:
        return command(*arguments, limits=Limits(memory_mb, timeout_s, core, repeats), **named)

    return with_limits
