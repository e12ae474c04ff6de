"""Five hundred damaged models: each is reported, and nothing but the model's own process dies of any."""

from __future__ import annotations

from collections import Counter

from lpirc_client.errors import ModelError
from lpirc_client.harness.process import ModelProcess
from lpirc_client.harness.settings import Settings
from lpirc_client.harness.validator import examine
from tests.lpirc_client.harness.pictures import model_file
from tests.tflite_models import classifier, corrupted, detector

MODELS = 500
BASES = (
    ("classification", classifier()),
    ("classification", classifier(quantized=True)),
    ("detection", detector()),
    ("detection", detector(quantized=True)),
)


def reported(process: ModelProcess, seed: int) -> str:
    """The code under which a damaged model is refused, or "sound" when the damage did no harm."""
    task, data = BASES[seed % len(BASES)]
    settings = Settings(task, "resize", timeout_s=5.0, memory_mb=500)
    try:
        _, problems = examine(process, model_file(corrupted(data, seed)), settings)
    except ModelError as error:
        problems = [error]
    assert all(problem.sentence.startswith("m.tflite: ") for problem in problems)
    assert all("\n" not in problem.sentence for problem in problems)
    return problems[0].code if problems else "sound"


def test_500_damaged_models_are_all_reported() -> None:
    codes: Counter[str] = Counter()
    processes = 1
    process = ModelProcess("m.tflite")
    try:
        for seed in range(MODELS):
            codes[reported(process, seed)] += 1
            if process.is_dead:
                process, processes = ModelProcess("m.tflite"), processes + 1
        assert process._process.poll() is None
    finally:
        process.end()
    assert codes.total() == MODELS
    assert codes["model-failed"] > MODELS // 3
    assert codes["sound"] < MODELS // 2
    # The damage is of the kind that kills: without a process of its own one of these would have ended the test.
    assert 0 < codes["model-crashed"] <= processes - 1
