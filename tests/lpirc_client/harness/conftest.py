"""One process for many small models."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lpirc_client.harness.process import ModelProcess


@pytest.fixture(scope="module")
def process() -> Iterator[ModelProcess]:
    """A process for all models of a module that do not kill it."""
    with ModelProcess("m.tflite") as started:
        yield started
