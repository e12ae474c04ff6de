"""The timed loop, in this process: where it stops, and that each image has its own outputs."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from lpirc_client.harness.model import Tensor
from lpirc_client.harness.run_litert import RuntimeModel
from tests.tflite_models import BLUE, classifier, greedy

ENDLESS_NS = 1 << 62


@pytest.fixture
def loaded() -> RuntimeModel:
    return RuntimeModel(classifier(4, 4), 1)


def blues(*levels: int) -> np.ndarray:
    pixels = np.zeros((len(levels), 4, 4, 3), np.uint8)
    pixels[..., 2] = np.array(levels)[:, None, None]
    return pixels


def test_a_model_tells_its_tensors(loaded: RuntimeModel) -> None:
    (image,) = loaded.signature.inputs
    (scores,) = loaded.signature.outputs
    assert image.shape == (1, 4, 4, 3)
    assert image.dtype == "uint8"
    assert image.scale == pytest.approx(1 / 255)
    assert scores == Tensor("scores", (1, 1001), "float32", 0.0, 0)


def test_each_image_has_its_outputs_and_its_time(loaded: RuntimeModel) -> None:
    run = loaded.run(blues(51, 102, 255), ENDLESS_NS, ENDLESS_NS)
    (scores,) = run.outputs
    assert scores.shape == (3, 1, 1001)
    assert scores[:, 0, BLUE].tolist() == pytest.approx([0.2, 0.4, 1.0])
    assert (run.times_ns > 0).all()
    assert run.times_ns.sum() / 1e9 < run.end_monotonic_s - run.start_monotonic_s


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"),
    reason="cores are chosen on Linux",
)
def test_a_job_on_the_same_core_takes_its_share_of_the_processor_time() -> None:
    cores = os.sched_getaffinity(0)
    slow = RuntimeModel(classifier(500, 500), 1)
    pixels = np.zeros((2000, 500, 500, 3), np.uint8)
    busy = f"import os\nos.sched_setaffinity(0, {{{max(cores)}}})\nprint(flush=True)\nwhile True: pass"
    with subprocess.Popen(
        [sys.executable, "-c", busy],
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        try:
            os.sched_setaffinity(0, {max(cores)})
            run = slow.run(pixels, ENDLESS_NS, 300_000_000)
        finally:
            os.sched_setaffinity(0, cores)
            other.kill()
    assert 0 < run.processor_s < 0.8 * (run.end_monotonic_s - run.start_monotonic_s)


@pytest.mark.parametrize(("budget_ns", "slice_ns"), [(1, ENDLESS_NS), (ENDLESS_NS, 0)])
def test_it_stops_after_the_inference_that_spends_its_time(
    loaded: RuntimeModel,
    budget_ns: int,
    slice_ns: int,
) -> None:
    run = loaded.run(blues(51, 102, 255), budget_ns, slice_ns)
    assert [len(run.times_ns), len(run.outputs[0])] == [1, 1]


def test_repeating_counts_what_it_does(
    loaded: RuntimeModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[None] = []
    invoke = loaded.invoke

    def counted() -> None:
        invoke()
        done.append(None)

    monkeypatch.setattr(loaded, "invoke", counted)
    count, start_s, end_s = loaded.repeat(0.002)
    assert count == len(done) >= 1
    assert end_s - start_s >= 0.002


def test_the_size_of_the_tensors_is_known_before_they_are_allocated() -> None:
    assert 2 << 30 <= RuntimeModel.stated_bytes(greedy(2)) < 3 << 30
