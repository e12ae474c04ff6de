"""Writes the folder of a published suite: its file `suite.toml`, and an empty folder for the models."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

from lpirc_score.files.atomic_write import write_atomically
from lpirc_tracks.rules.aiotbench import AIOTBENCH, COOLDOWN_S
from lpirc_tracks.suites.aiotbench_models import (
    APP,
    ARCHIVE,
    PAPER,
    PublishedModel,
    published_models,
)
from lpirc_tracks.suites.implementations import IMPLEMENTATIONS
from lpirc_tracks.suites.plan_rows import NOT_QUANTIZED
from lpirc_tracks.suites.suite_plan import IMAGES
from referee.errors import RefereeError
from referee.presence import entries, is_folder, is_there

SUITE_NAME = "suite.toml"
TABLE_NAME = "suite.csv"
MODELS_NAME = "models"
UNKNOWN = '""'
"""The value of a key that nothing published gives."""

HEAD = f"""\
# AIoTBench: the 18 models of table IV of the paper ({PAPER}), for the 24 tests of a device in its table VI.
#
# 1. Put each model's file where its row says. The row names the source; this program downloads nothing.
# 2. Complete the row: a float32 model needs mean and sigma. A value of "" is in neither the paper's tables of results
#    nor the code of the benchmark's app; look in table IV of the paper, and in models.json of the archive.
# 3. See what is still missing, and what to do next:  referee suite status FOLDER
#
# The app, {APP}, downloads the archive {ARCHIVE}
# (855,169,109 bytes). It is seven months later than the paper, so its models may be others than those of table VI.
# No checksum is published. Write the SHA-256 that status prints into the row, and no other file is measured.

device = ""          # its name in the table; "" is the host's name
cooldown_s = {COOLDOWN_S:g}     # between two tests, as published
limit = {IMAGES}         # images, as published: five of each of the 1000 classes

# On Android, the tests of NNAPI need its delegate:
# [implementations.tflite_nnapi]
# delegate = "/path/of/the/library.so"

# A model in another runtime is a test of your own, beside the 24:
# [[tests]]
# model = "resnet50"
# implementation = "onnxruntime"
# file = "{MODELS_NAME}/resnet50.onnx"
# mflops = 3800
# layout = "NCHW"
# mean = [123.675, 116.28, 103.53]
# sigma = [58.395, 57.12, 57.375]
"""


def write_aiotbench(folder: Path) -> Path:
    """Write AIoTBench's folder and return its suite file.

    Raises RefereeError `suite-exists` if the folder has anything in it, and OSError.
    """
    _require_empty(folder)
    (folder / MODELS_NAME).mkdir(parents=True, exist_ok=True)
    path = folder / SUITE_NAME
    write_atomically(path, aiotbench_text().encode())
    return path


SUITES: dict[str, Callable[[Path], Path]] = {AIOTBENCH.name: write_aiotbench}
"""The published suites by name."""


def aiotbench_text() -> str:
    """Return the suite file of AIoTBench."""
    models = list(published_models())
    rows = (
        "\n".join(_row(number, len(models), one))
        for number, one in enumerate(models, 1)
    )
    return HEAD + "".join(f"\n{row}\n" for row in rows)


def _require_empty(folder: Path) -> None:
    is_taken = bool(entries(folder)) if is_folder(folder) else is_there(folder)
    if is_taken:
        look = f"referee suite status {shlex.quote(str(folder))}"
        advice = f"choose another folder with --out, or look at this one with: {look}"
        raise RefereeError("suite-exists", f"{folder} exists already; {advice}")


def _row(number: int, of: int, one: PublishedModel) -> Iterator[str]:
    framework = one.framework
    names = ", ".join(f'"{name}"' for name in framework.implementations)
    is_run_here = any(
        IMPLEMENTATIONS[name].runtime for name in framework.implementations
    )
    yield f"# {number} of {of}"
    yield "[[models]]"
    yield f'model = "{one.model}"'
    yield f'framework = "{framework.name}"'
    yield f"implementations = [{names}]"
    if is_run_here:
        yield f'file = "{MODELS_NAME}/{one.model}.tflite"'
    else:
        yield "# file: this program does not run such models"
    yield f'source = "{APP}, {ARCHIVE}"'
    yield f"sha256 = {UNKNOWN}"
    yield f'quantization = "{NOT_QUANTIZED}"'
    yield f'preprocessing = "{AIOTBENCH.preprocessing}"'
    yield f'layout = "{framework.layout}"'
    yield f"side = {one.side or UNKNOWN}"
    yield from _levels(one)
    yield f"mflops = {one.mflops}"
    yield f"published_percent = {one.accuracy_percent:g}"


def _levels(one: PublishedModel) -> Iterator[str]:
    levels = one.levels
    if levels is None:
        yield f"channels = {UNKNOWN}"
        yield f"mean = {UNKNOWN}"
        yield f"sigma = {UNKNOWN}"
        return
    yield f'channels = "{levels.channels}"'
    yield f"mean = {_numbers(levels.mean)}"
    yield f"sigma = {_numbers(levels.sigma)}"


def _numbers(values: tuple[float, ...]) -> str:
    """Return one number for all channels, or a list of three."""
    texts = [f"{value:g}" for value in values]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
