"""Runs `bench`, `validate` and `confinement`, and prints their results.

Modules that need the extra are imported only here, inside the functions.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from lpirc_client.errors import ClientError, ModelError, missing_extra, printable
from lpirc_client.files import require_apart, require_writable, write_atomically
from lpirc_client.harness.model_settings import DEFAULT_DELEGATE, settings_from
from lpirc_client.operating_system import require_models
from lpirc_client.parent import ending_with
from lpirc_client.terminal import result, say


class ResultOnStdoutError(ModelError):
    """The result could not be written to its file and is on stdout, so nothing else may be printed there."""


def execute(options: argparse.Namespace) -> None:
    """Run the command. Raises ClientError."""
    try:
        if options.command != "confinement":
            require_models()
        with ending_with(options.parent):
            _with_extra(options)
    except ClientError as error:
        if options.json and not isinstance(error, ResultOnStdoutError):
            document = {
                "code": error.code,
                "sentence": error.sentence,
                "facts": error.facts,
            }
            with suppress(OSError):  # stderr has the sentence as well
                result(json.dumps({"error": document}))
        raise


def _with_extra(options: argparse.Namespace) -> None:
    try:
        COMMANDS[options.command](options)
    except (
        OSError
    ) as error:  # no room for a log, no further process, no reader of the result
        sentence = f"{error.filename or 'the system'}: {error.strerror or error}"
        raise ModelError("system-failed", sentence) from error
    except ImportError as error:
        raise missing_extra("running models", error.name, "models") from error


def _validate(options: argparse.Namespace) -> None:
    from lpirc_client.harness.bench import described
    from lpirc_client.harness.confinement import confinement_with
    from lpirc_client.harness.model import read_model
    from lpirc_client.harness.model_process import ModelProcess
    from lpirc_client.harness.validator import examine

    settings = settings_from(options, 0)
    if options.confined:
        _require_confined(settings.delegate)
    model = read_model(options.model, options.runtime)
    with ModelProcess(
        model.path.name, settings.core, confinement_with(settings.delegate)
    ) as process:
        signature, problems = examine(process, model, settings)
    if problems:
        # The raised one is printed last, so people read them in order; a program gets the code of the first.
        raised = problems.pop(0 if options.json else -1)
        for problem in problems:
            say(f"lpirc-harness: {problem.sentence}")
        raise raised
    if options.json:
        result(
            json.dumps(
                {
                    "valid": True,
                    "task": settings.task,
                    "model": described(model, signature),
                }
            )
        )
    else:
        image = signature.inputs[0]
        what = f"a valid model for {settings.task}, input {image.dtype} {list(image.shape)}"
        say(printable(f"{model.path.name}: {what}"))


def _bench(options: argparse.Namespace) -> None:
    from lpirc_client.harness.bench import measure, table
    from lpirc_client.harness.images import list_images
    from lpirc_client.harness.model import read_model

    images = list_images(options.images, options.limit)
    settings = settings_from(options, len(images))
    require_apart("--out", options.out, (b"{",), (options.model,))
    if options.out is not None:
        try:
            require_writable(options.out)  # before the bench, which may take hours
        except OSError as error:
            raise _unwritable(ModelError, options.out, error) from error
    if options.confined:
        _require_confined(settings.delegate)
    model = read_model(options.model, options.runtime)
    reports = options.progress == "lines" or (
        options.progress == "auto" and sys.stderr.isatty()
    )
    document = measure(model, images, settings, say if reports else lambda _: None)
    text = json.dumps(document)
    if options.out is not None:
        try:
            write_atomically(options.out, text)
        except OSError as error:
            result(text)
            more = "; the result document is on stdout"
            raise _unwritable(ResultOnStdoutError, options.out, error, more) from error
    result(text if options.json else table(document))


def _confinement(options: argparse.Namespace) -> None:
    _require_confined(DEFAULT_DELEGATE)
    if options.json:
        result(json.dumps({"confined": True}))
    else:
        say("Models run confined here, by bubblewrap (bwrap).")


def _require_confined(delegate: str) -> None:
    """Raise ModelError `not-confined` if a model would run unconfined, with all rights of this user."""
    from lpirc_client.harness.confinement import confinement_with

    found = confinement_with(delegate)
    if not found.prefix:
        raise ModelError(
            "not-confined", f"models cannot run confined here: {found.reason}"
        )


COMMANDS: dict[str, Callable[[argparse.Namespace], None]] = {
    "bench": _bench,
    "validate": _validate,
    "confinement": _confinement,
}


def _unwritable(
    kind: type[ModelError],
    out: Path,
    error: OSError,
    more: str = "",
) -> ModelError:
    return kind(
        "unwritable", f"{out}: cannot be written: {error.strerror}{more}", file=str(out)
    )
