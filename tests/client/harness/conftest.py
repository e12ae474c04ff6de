"""The command `lpirc-harness`, and one process for many small models."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lpirc_client.harness.model_process import ModelProcess
from tests import warm_programs
from tests.client.conftest import Client
from tests.timeouts import TIMEOUT_S


@pytest.fixture(scope="module")
def process() -> Iterator[ModelProcess]:
    """A process for all models of a module that do not kill it."""
    with ModelProcess("m.tflite") as started:
        yield started


@pytest.fixture
def harness(environment: dict[str, str], tmp_path: Path) -> Client:
    """Run `lpirc-harness` in a folder of its own; returns its exit code, stdout and stderr."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        return warm_programs.run(
            ["lpirc-harness", *map(str, arguments)],
            TIMEOUT_S,
            tmp_path,
            environment,
        )

    return run
