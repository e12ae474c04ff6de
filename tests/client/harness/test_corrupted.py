"""A hundred damaged models: each is reported, and none kills anything but the model's own process."""

from __future__ import annotations

import os
from collections import Counter

from lpirc_client.errors import ModelError
from lpirc_client.harness.model_process import ModelProcess
from lpirc_client.harness.model_settings import Settings
from lpirc_client.harness.validator import examine
from tests.client.harness.pictures import model_file
from tests.tflite_models import classifier, corrupted, detector

MODELS = 100
BASES = (
    ("classification", classifier()),
    ("classification", classifier(quantized=True)),
    ("detection", detector()),
    ("detection", detector(quantized=True)),
)


def reported(process: ModelProcess, seed: int) -> str:
    """Return the code that refuses a damaged model, or "sound" if the damage does no harm."""
    task, data = BASES[seed % len(BASES)]
    settings = Settings(task, "resize", timeout_s=5.0, memory_mb=500)
    try:
        _, problems = examine(process, model_file(corrupted(data, seed)), settings)
    except ModelError as error:
        problems = [error]
    assert all(problem.sentence.startswith("m.tflite: ") for problem in problems)
    assert all("\n" not in problem.sentence for problem in problems)
    return problems[0].code if problems else "sound"


def test_damaged_models_are_all_reported() -> None:
    codes: Counter[str] = Counter()
    processes = 1
    process = ModelProcess("m.tflite")
    try:
        for seed in range(MODELS):
            codes[reported(process, seed)] += 1
            if process.is_dead:
                process = ModelProcess("m.tflite")
                processes += 1
        os.kill(process.pid, 0)  # it lives
    finally:
        process.end()
    assert codes.total() == MODELS
    assert codes["model-failed"] > MODELS // 3
    assert codes["sound"] < MODELS // 2
    # Some damage kills: without a process of its own such a model would have ended the test.
    assert 0 < codes["model-crashed"] <= processes - 1
