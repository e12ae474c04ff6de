"""The commands `bench` and `validate`: settings out of options, what they print, what they need installed."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lpirc_client.errors import ClientError
from lpirc_client.harness.failures import ModelError, facts_of, missing_extra, printable
from lpirc_client.harness.options import PRESETS, TASKS, USUAL_PREPROCESSING, Settings
from lpirc_client.harness.result_file import require_place, write_result
from lpirc_client.output import result, say
from lpirc_client.parent import ending_with

if TYPE_CHECKING:
    from lpirc_client.harness.model import Signature

COMMANDS = ("bench", "validate")


class ResultOnStdoutError(ModelError):
    """The result could not be put where it was to go, and stands on stdout: nothing else belongs there."""


def execute(options: argparse.Namespace) -> None:
    """Do what the command line asks; raises ClientError."""
    try:
        _watched(options)
    except ClientError as error:
        if options.json and not isinstance(error, ResultOnStdoutError):
            document = {"code": error.code, "sentence": error.sentence, "facts": facts_of(error)}
            with suppress(OSError):  # the sentence is told on stderr as well
                result(json.dumps({"error": document}))
        raise


def _watched(options: argparse.Namespace) -> None:
    act = _bench if options.command == "bench" else _validate
    with ending_with(options.parent):
        _with_extra(act, options)


def _with_extra(act: Callable[[argparse.Namespace], None], options: argparse.Namespace) -> None:
    if os.name != "posix":
        raise ModelError("bad-system", f"models run on Linux and its like, not on {sys.platform}")
    try:
        act(options)
    except OSError as error:
        # No room for a log, no further process, a reader of the result that has gone.
        raise ModelError(
            "system-failed", f"{error.filename or 'the system'}: {error.strerror or error}"
        ) from error
    except ImportError as error:
        raise missing_extra(str(error.name)) from error


def _validate(options: argparse.Namespace) -> None:
    from lpirc_client.harness.bench import described
    from lpirc_client.harness.model import read_model
    from lpirc_client.harness.process import ModelProcess
    from lpirc_client.harness.validator import examine

    settings = _settings(options, 0)
    model = read_model(options.model)
    with ModelProcess(model.path.name, settings.core) as process:
        signature, problems = examine(process, model, settings)
    if problems:
        # The one that is raised is told last, so people read them in order; a program gets the first one's code.
        raised = problems.pop(0 if options.json else -1)
        for problem in problems:
            say(f"lpirc-client: {problem.sentence}")
        raise raised
    if options.json:
        result(json.dumps({"valid": True, "task": settings.task, "model": described(model, signature)}))
    else:
        say(f"{printable(model.path.name)}: a valid model for {settings.task}, {_in_words(signature)}")


def _bench(options: argparse.Namespace) -> None:
    from lpirc_client.harness.bench import measure
    from lpirc_client.harness.images import list_images
    from lpirc_client.harness.model import read_model
    from lpirc_client.harness.report import table

    images = list_images(options.images, options.limit)
    settings = _settings(options, len(images))
    _check_place(options.out)
    model = read_model(options.model)
    is_told = options.progress == "lines" or (options.progress == "auto" and sys.stderr.isatty())
    document = measure(model, images, settings, say if is_told else _silence)
    text = json.dumps(document)
    if options.out is not None:
        try:
            write_result(options.out, text)
        except OSError as error:
            result(text)  # it may have taken hours
            sentence = f"{options.out}: cannot be written: {error.strerror}; the result document is on stdout"
            raise ResultOnStdoutError("unwritable", sentence, file=str(options.out)) from error
    result(text if options.json else table(document))


def _settings(options: argparse.Namespace, images: int) -> Settings:
    """What the options and the track's preset make together; an option that is given goes before the preset."""
    from lpirc_client.harness.device import allowed_cores, usual_core

    preset = PRESETS.get(options.track or "")
    task = options.task or (preset.task if preset else None)
    if task is None:
        raise ModelError(
            "no-task", f"which task? give --task {' or '.join(TASKS)}, or --track {' or '.join(PRESETS)}"
        )
    if preset is not None and preset.task != task:
        raise ModelError("bad-task", f"--task {task}: the track {options.track} is one of {preset.task}")
    cores = allowed_cores()
    if options.core is not None and options.core not in cores:
        raise ModelError(
            "no-core", f"--core {options.core}: the cores here are {sorted(cores) or 'not to be chosen'}"
        )
    core = options.core if options.core is not None else usual_core() if options.threads == 1 else None
    settings = Settings(task, USUAL_PREPROCESSING[task], threads=options.threads, core=core)
    if preset is not None:
        settings = replace(
            settings,
            preprocessing=preset.preprocessing,
            budget_s=None if preset.image_budget_s is None else preset.image_budget_s * images,
            cooldown_s=preset.cooldown_s,
        )
    given = {name: getattr(options, name, None) for name in GIVEN}
    settings = replace(settings, **{name: value for name, value in given.items() if value is not None})
    if task == "detection" and settings.preprocessing != "resize":
        raise ModelError(
            "bad-preprocessing",
            f"--preprocessing {settings.preprocessing}: detection takes resize, its boxes are of the whole image",
        )
    return settings


GIVEN = ("preprocessing", "budget_s", "memory_mb", "timeout_s", "repeats", "cooldown_s", "energy_loop_s")


def _check_place(out: Path | None) -> None:
    """Say before the bench, not after it, that its result cannot be written."""
    if out is None:
        return
    try:
        require_place(out)
    except OSError as error:
        raise ModelError(
            "unwritable", f"{out}: cannot be written: {error.strerror}", file=str(out)
        ) from error


def _silence(_: str) -> None:
    pass


def _in_words(signature: Signature) -> str:
    image = signature.inputs[0]
    return f"input {image.dtype} {list(image.shape)}"
