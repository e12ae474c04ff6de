"""Runs the device harness, `lpirc-harness validate` and `bench`, as a subprocess."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lpirc_tracks import Track
from lpirc_tracks.submissions.confining import ADVICE, NOT_CONFINED, PROGRAM, ask_unit
from referee.errors import ModelCrashed, ModelFault, RefereeError
from referee.installed import client_version

PREFIX = "lpirc-harness: "
LONGEST_LINE = 300
CRASHED = frozenset(
    {
        "model-crashed",
        "model-ended",
        "model-timeout",
        "out-of-memory",
        "model-failed",
        "wrong-count",
    }
)
REFUSED = frozenset(
    {"not-tflite", "empty-model", "model-too-large", "unreadable-model"}
)  # and all "wrong-..."


@dataclass(frozen=True)
class Limits:
    """Limits of a model, and settings that a suite gives it; None means the default of the rule or of the harness."""

    memory_mb: int | None = None
    timeout_s: float | None = None
    core: int | None = None
    repeats: int | None = None
    limit: int | None = None
    threads: int | None = None
    delegate: str | None = None
    channels: str | None = None
    mean: str | None = None
    sigma: str | None = None
    confined: bool = False  # refuse to run it otherwise


def refusals(
    model: Path,
    rule: Track,
    limits: Limits,
    unit: Path | None = None,
    hidden: Sequence[Path] = (),
) -> tuple[str, ...]:
    """Return the validator's reasons to refuse a model, one sentence each; empty for a valid model.

    The validator runs in the systemd unit with the socket `unit`, where it must not see the files `hidden`; without a
    unit it runs here. Raises RefereeError if validation fails for a reason other than the model.
    """
    given = {name: getattr(limits, name) for name in ("memory_mb", "timeout_s", "core")}
    options = of_rule(rule) | given
    if unit is None:
        done = _run("validate", model, options | {"confined": limits.confined})
    else:
        done = in_unit(
            unit, "validate", model.name, model.read_bytes(), options, {}, hidden
        )
    if done.returncode == 0:
        return ()
    refused = failure(done)
    if not isinstance(refused, ModelFault):
        raise refused
    reasons = [
        line.removeprefix(PREFIX)
        for line in _lines(done.stderr)
        if line.startswith(PREFIX)
    ]
    return tuple(dict.fromkeys([refused.sentence, *reasons]))


def description(model: Path, rule: Track, limits: Limits) -> dict[str, Any]:
    """Return a valid model as the validator describes it: `sha256`, `input` {`shape`, `dtype`} and more.

    Raises RefereeError with the harness's code and sentence: ModelCrashed, or ModelFault for a model that it refuses.
    """
    given = {
        name: getattr(limits, name) for name in ("memory_mb", "timeout_s", "delegate")
    }
    done = _run("validate", model, of_rule(rule) | given)
    if done.returncode != 0:
        raise failure(done)
    described: dict[str, Any] = json.loads(done.stdout)["model"]
    return described


def bench(
    model: Path,
    images: Path,
    rule: Track,
    budget_s: float | None,
    limits: Limits,
    energy_loop_s: float | None = None,
) -> bytes:
    """Return the result document of a model on a test-set folder, as printed by the harness.

    Raises RefereeError with the harness's code and sentence: ModelCrashed, or ModelFault for a model that it refuses.
    """
    options = of_rule(rule) | {
        "images": images,
        "preprocessing": rule.preprocessing,
        "budget_s": budget_s,
    }
    given = asdict(limits) | {"threads": limits.threads or rule.threads}
    options |= {"energy_loop_s": energy_loop_s, **given}
    done = _run("bench", model, options)
    if done.returncode != 0:
        raise failure(done)
    return done.stdout


def of_rule(rule: Track) -> dict[str, Any]:
    """Return the harness options that a rule requires."""
    runtime = None if rule.runtime == "any" else rule.runtime
    rules = "open" if rule.is_suite else None
    return {"task": rule.task, "runtime": runtime, "rules": rules}


def _run(
    command: str, model: Path, options: dict[str, Any]
) -> subprocess.CompletedProcess[bytes]:
    """Run the harness and wait for its end. It is stopped if this process ends or this call is interrupted."""
    client_version()
    process = subprocess.Popen(  # noqa: S603 - our own program
        [
            *PROGRAM,
            command,
            f"--parent={os.getpid()}",
            *_words(options),
            "--json",
            "--",
            str(model),
        ],
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
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


def in_unit(
    unit: Path,
    command: str,
    name: str,
    model: bytes,
    options: Mapping[str, Any],
    images: Mapping[str, bytes],
    hidden: Sequence[Path],
) -> subprocess.CompletedProcess[bytes]:
    """Run the harness in the systemd unit, on a model called `name` and on `images` under their file names.

    Raises RefereeError as `ask_unit`.
    """
    files = {f"model/{name}": model} | {
        f"images/{file}": data for file, data in images.items()
    }
    words = _words(options)
    answer = ask_unit(unit, command, words, files, hidden)
    stdout, stderr = (
        answer[stream].replace(answer["model"], name).encode()
        for stream in ("stdout", "stderr")
    )
    return subprocess.CompletedProcess(words, answer["returncode"], stdout, stderr)


def _words(options: Mapping[str, Any]) -> list[str]:
    """Return the options as command-line arguments; options that are None or False are left out."""
    named = {f"--{name.replace('_', '-')}": value for name, value in options.items()}
    given = {
        name: value
        for name, value in named.items()
        if value is not None and value is not False
    }
    return [
        name if value is True else f"{name}={value}" for name, value in given.items()
    ]


def _lines(stderr: bytes) -> list[str]:
    return [
        line for line in stderr.decode(errors="replace").splitlines() if line.strip()
    ]


def failure(done: subprocess.CompletedProcess[bytes]) -> RefereeError:
    """Return the error for a failed harness.

    It is ModelCrashed, ModelFault for a model that the harness refuses, or another RefereeError.
    """
    try:
        error: Any = json.loads(done.stdout)["error"]
        code = str(error["code"])
        sentence = str(error["sentence"])
        facts = dict(error["facts"])
    except (ValueError, KeyError, TypeError):
        lines = _lines(done.stderr) or [f"it ended with exit code {done.returncode}"]
        last = lines[-1][-LONGEST_LINE:]
        return RefereeError(
            "harness-failed", f"The device harness failed: {last.removeprefix(PREFIX)}"
        )
    if code == NOT_CONFINED:
        sentence = f"{sentence[:1].upper()}{sentence[1:]}; {ADVICE}."
    if code in CRASHED:
        return ModelCrashed(code, sentence, **facts)
    is_refused = code in REFUSED or code.startswith("wrong-")
    if is_refused:
        return ModelFault(code, sentence, **facts)
    return RefereeError(code, sentence, **facts)
