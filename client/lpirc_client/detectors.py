"""Loads a detector by name, the sample one or a contestant's own, and turns its results into rows."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from contextlib import suppress
from pathlib import Path
from traceback import walk_tb
from typing import Any, Callable, Sequence

from lpirc_client.answers import items_of
from lpirc_client.argument_parser import closest
from lpirc_client.errors import AnswerError, ClientError, missing_extra
from lpirc_client.presence import is_file, is_folder
from lpirc_client.rows import listed
from lpirc_client.run import Answer
from lpirc_client.wire import Category, Login

Detector = Callable[[bytes, Sequence[Category]], Any]
"""Maps a JPEG file's bytes and the contest's categories to rows (see `rows`): a list, an array, or a generator."""


NOT_OWN = ("<", *(f"{Path(one).parent}{os.sep}" for one in (__file__, os.__file__)))
"""Path prefixes of files that belong to this package or the standard library."""

FORMS = "sample, onnx:FILE, litert:FILE or module:function"

MODELS = {".onnx": "onnx", ".tflite": "litert"}
"""The adapter for each suffix of a model's file."""

OWN_DETECTOR = (
    "name a detector of your own, which does not need it: --detector module:function"
)

SAMPLE_MODULE = "lpirc_client.sample_detector.detector"

INSTALLED = {"site-packages", "dist-packages"}


def load(name: str) -> Detector:
    """Return a detector: "sample", a model "onnx:FILE" or "litert:FILE", or the function "module:function"."""
    if name == "sample":
        return _sample()
    module_name, _, function_name = name.partition(":")
    if not (module_name and function_name):
        what = f"must be {FORMS}{_perhaps(name)}"
        raise ClientError("bad-detector", f"detector {name!r}: {what}")
    if "://" in name:
        what = f"it has an address; download the file, and name it: {FORMS}"
        raise ClientError("bad-detector", f"detector {name!r}: {what}")
    if module_name in ("onnx", "litert"):
        return _adapter(module_name, Path(function_name))
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    module = _module(module_name, here, function_name)
    function = getattr(module, function_name, None)
    if not callable(function):
        what = _no_function(module, module_name, function_name)
        raise ClientError("bad-detector", f"detector {name!r}: {what}")
    if not _takes_two(function):
        form = f"def {function_name}(jpeg, categories)"
        what = f"{function_name} is called with two arguments, and does not take them: {form}"
        raise ClientError(
            "bad-detector", f"detector {name!r}: {_place(function)}{what}"
        )
    detector: Detector = function
    return detector


def _takes_two(function: Callable[..., Any]) -> bool:
    """Return False if a call with a JPEG and categories must fail; True also where Python cannot tell."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(b"", ())
    except TypeError:
        return False
    return True


def _place(function: object) -> str:
    """Return file and line of a function, for the beginning of a sentence; "" for any other callable."""
    code = getattr(inspect.unwrap(function), "__code__", None)  # type: ignore[arg-type]
    return "" if code is None else f"{code.co_filename}, line {code.co_firstlineno}: "


def answers_of(detector: Detector, login: Login) -> Answer:
    """Return the function that answers an image; if the detector fails, it raises AnswerError naming the image."""
    task = login.task_name
    if task is not None:
        detector = for_task(detector, task)

    def answer(number: int, jpeg: bytes) -> Any:
        try:
            found = detector(jpeg, login.categories)
            if task is not None:
                return items_of(task, number, found)
            return list(listed(number, found))
        except ClientError:
            raise
        except (Exception, SystemExit) as error:  # the contestant's own code
            what = f"image {number}: the detector failed: {reason_of(error)}"
            raise AnswerError("detector-failed", what) from error

    return answer


def for_task(detector: Detector, task: str) -> Detector:
    """Return the detector for a task other than boxes: the sample one has a part for each. Raises ClientError."""
    if getattr(detector, "__module__", "") != SAMPLE_MODULE:
        return detector
    from lpirc_client.sample_detector.sample_tasks import sample_for

    return sample_for(task)


def _perhaps(name: str) -> str:
    """Return which detector an incomplete name may mean, as the end of a sentence."""
    for suffix, kind in MODELS.items():
        if name.rstrip(":") in (kind, suffix[1:]):
            return f"; name the model: {kind}:model{suffix}"
    if closest(name, ["sample"]) is not None:
        return "; did you mean sample?"
    file = Path(name.split()[-1] if name.split() else name)
    if file.suffix in MODELS:
        return f"; did you mean {MODELS[file.suffix]}:{file}?"
    if file.suffix == ".py":
        return f"; did you mean {file.stem}:detect, run in the folder of {file.name}?"
    module, _, function = name.rpartition(".")
    if module and function:
        return f"; did you mean {module}:{function}?"
    with suppress(OSError):
        if is_folder(Path(name)):
            return f"; {name} is a folder"
    return f"; did you mean {name}:detect?" if name.isidentifier() else ""


def _no_function(module: object, name: str, function: str) -> str:
    """Return what a module has in place of a function."""
    if hasattr(module, function):
        kind = type(getattr(module, function)).__name__
        return f"{function!r} of {name} is of type {kind}, not a function"
    callables = [
        one
        for one in vars(module)
        if not one.startswith("_") and callable(getattr(module, one))
    ]
    meant = closest(function, callables)
    hint = "" if meant is None else f"; did you mean {name}:{meant}?"
    return f"{name} has no function {function!r}{hint}"


def _not_found(name: str, here: str, function: str) -> str:
    """Return the sentence for a module that is not there."""
    sentence = f"detector: there is no module {name!r}, neither in {here} nor installed"
    if Path(function).suffix in MODELS:
        return f"{sentence}; did you mean {MODELS[Path(function).suffix]}:{function}?"
    dotted = _dotted(name, here)
    if dotted is not None:
        return f"{sentence}; did you mean {dotted}:{function}?"
    own = [one.stem for one in Path(here).glob("*.py")]
    if name.endswith(".py"):
        return f"{sentence}; a module is named without .py: {name[:-3]}:{function}"
    meant = closest(name, own)
    return (
        sentence if meant is None else f"{sentence}; did you mean {meant}:{function}?"
    )


def _dotted(name: str, here: str) -> str | None:
    """Return the module's name for a path to its file; None if it is no such path below the folder `here`."""
    file = os.path.normpath(Path(here, name))
    parts = Path(
        os.path.relpath(file[:-3] if name.endswith(".py") else file, here)
    ).parts
    with suppress(OSError):
        if (
            os.sep in name
            and all(one.isidentifier() for one in parts)
            and is_file(Path(here, *parts).with_suffix(".py"))
        ):
            return ".".join(parts)
    return None


def _module(name: str, here: str, function: str) -> object:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        missing = name.partition(".")[0] if name.endswith(".py") else name
        is_missing = isinstance(error, ModuleNotFoundError) and error.name in (
            name,
            missing,
        )
        if is_missing or os.sep in name:
            sentence = _not_found(name, here, function)
        else:
            sentence = f"detector: importing {name!r} failed: {reason_of(error)}"
        raise ClientError("bad-detector", sentence) from error


def reason_of(error: BaseException) -> str:
    """Return an exception as a sentence, with the innermost line of the contestant's own code, if any."""
    text = ": ".join(filter(None, (type(error).__name__, str(error))))
    for frame, line in reversed(list(walk_tb(error.__traceback__))):
        file = frame.f_code.co_filename
        if not file.startswith(NOT_OWN) and INSTALLED.isdisjoint(Path(file).parts):
            text += f" ({file}, line {line})"
            break
    return " ".join(text.split())


def _adapter(kind: str, file: Path) -> Detector:
    try:
        from lpirc_client.adapters.detector import Adapter
    except ImportError as error:
        raise missing_extra(f"the detector {kind}:{file}", error.name, kind) from error
    return Adapter(kind, file)


def _sample() -> Detector:
    try:
        from lpirc_client.sample_detector.detector import detect
    except ImportError as error:
        raise missing_extra(
            "the sample detector", error.name, "detector", instead=OWN_DETECTOR
        ) from error
    return detect
