"""ONNX models: rules, limits, damage, and the way from a picture to the input."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from lpirc_client.errors import ModelError
from lpirc_client.harness.confinement import Confinement
from lpirc_client.harness.model import read_model
from lpirc_client.harness.model_process import ModelProcess
from lpirc_client.harness.model_settings import Settings
from lpirc_client.harness.validator import examine
from tests import tflite_models
from tests.client.conftest import Client
from tests.client.harness.pictures import BLUE, GREEN, RED, model_file
from tests.onnx_models import classifier, constant_answers, greedy, with_weights_beside
from tests.tflite_models import BLUE as BLUE_INDEX
from tests.tflite_models import GREEN as GREEN_INDEX
from tests.tflite_models import RED as RED_INDEX
from tests.tflite_models import corrupted
from tests.timeouts import TIMEOUT_S

SETTINGS = Settings("classification", "resize", timeout_s=TIMEOUT_S, memory_mb=500)
BOXES = np.zeros((1, 100, 4), np.float32)
PLANE = np.zeros((1, 100), np.float32)
COUNT = np.array([100])
FOUND = [
    ("boxes", BOXES),
    ("classes", PLANE.astype(np.int64)),
    ("scores", PLANE),
    ("count", COUNT),
]
SCORES = [("scores", np.zeros((1, 1001), np.float32))]
DAMAGED = 60
HEAD_BYTES = 300


def refusals(
    process: ModelProcess,
    data: bytes,
    task: str = "classification",
) -> list[ModelError]:
    model = replace(model_file(data), runtime="onnxruntime")
    return examine(process, model, replace(SETTINGS, task=task))[1]


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize(("outputs", "batch"), [(1001, 1), (1000, "N")])
def test_sound_classifiers_pass(
    process: ModelProcess,
    dtype: str,
    first: bool,
    outputs: int,
    batch: int | str,
) -> None:
    assert (
        refusals(
            process,
            classifier(
                dtype,
                first=first,
                outputs=outputs,
                batch=batch,
            ),
        )
        == []
    )


def test_a_sound_detector_passes_and_its_count_is_checked(
    process: ModelProcess,
) -> None:
    assert (
        refusals(process, constant_answers((1, 3, 8, 8), "float32", FOUND), "detection")
        == []
    )
    (problem,) = refusals(
        process,
        constant_answers((1, 8, 8, 3), "uint8", [*FOUND[:3], ("count", np.array([7]))]),
        "detection",
    )
    assert problem.code == "wrong-count"
    assert ("it returns 7 detections" in problem.sentence) is True


@pytest.mark.parametrize(
    ("shape", "dtype", "inputs", "code", "said"),
    [
        (
            (1, 8, 8, 3),
            "int64",
            1,
            "wrong-input-type",
            "input is int64; it must be uint8 or float32",
        ),
        ((3, 8, 8), "uint8", 1, "wrong-rank", "[3, 8, 8] has 3 dimensions"),
        ((2, 3, 8, 8), "uint8", 1, "wrong-batch", "[2, 3, 8, 8] takes 2 images"),
        ((1, 4, 8, 8), "uint8", 1, "wrong-channels", "[1, 4, 8, 8] has 8 channels"),
        ((1, 3, 1001, 8), "float32", 1, "wrong-side", "is 1001 by 8 pixels"),
        ((1, 3, "height", 8), "float32", 1, "wrong-side", "is -1 by 8 pixels"),
        ((1, 3, 8, 8), "uint8", 2, "wrong-inputs", "its number of inputs is 2"),
    ],
)
def test_a_model_that_breaks_one_rule_is_refused_for_that_one(
    process: ModelProcess,
    shape: tuple[Any, ...],
    dtype: str,
    inputs: int,
    code: str,
    said: str,
) -> None:
    (problem,) = refusals(
        process,
        constant_answers(shape, dtype, SCORES, inputs=inputs),
    )
    assert (problem.code, said in problem.sentence) == (code, True), problem.sentence


def test_scores_of_another_number_are_refused_with_both_numbers(
    process: ModelProcess,
) -> None:
    (problem,) = refusals(process, classifier(outputs=1002))
    assert problem.sentence.endswith(
        "(scores) is [1, 1002]; it must be [1, 1001] or [1, 1000]"
    )


def test_memory_that_runs_out_is_said_so(process: ModelProcess) -> None:
    with pytest.raises(ModelError) as caught:
        refusals(process, greedy())
    assert caught.value.code == "out-of-memory"


def test_a_model_cannot_read_another_file_as_its_weights(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "secret").write_bytes(bytes(4 * 3 * 1001))
    monkeypatch.chdir(tmp_path)
    with ModelProcess(
        "m.onnx",
        confined=Confinement(reason="the runtime alone must refuse it"),
    ) as bare:
        with pytest.raises(ModelError, match="the runtime refused it") as caught:
            refusals(bare, with_weights_beside("secret"))
        assert refusals(bare, classifier()) == []
    assert caught.value.code == "model-failed"


def test_damaged_models_are_all_reported() -> None:
    bases = [
        ("classification", classifier("float32", first=True)),
        ("classification", classifier(outputs=1000)),
        ("detection", constant_answers((1, 8, 8, 3), "uint8", FOUND)),
    ]
    codes: Counter[str] = Counter()
    process = ModelProcess("m.tflite")
    try:
        for seed in range(DAMAGED):
            task, data = bases[seed % 3]
            try:
                # What follows is mostly weights.
                start = data[: len(data) if seed % 2 else HEAD_BYTES]
                problems = refusals(
                    process,
                    corrupted(start, seed) + data[len(start) :],
                    task,
                )
            except ModelError as error:
                problems = [error]
            assert all(
                one.sentence.startswith("m.tflite: ") and "\n" not in one.sentence
                for one in problems
            )
            codes[problems[0].code if problems else "sound"] += 1
            if process.is_dead:
                process = ModelProcess("m.tflite")
        os.kill(process.pid, 0)  # it lives
    finally:
        process.end()
    assert codes.total() == DAMAGED
    assert 0 < codes["model-failed"] < DAMAGED


def test_the_content_chooses_the_runtime_and_not_the_name(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    for data, runtime in (
        (classifier(), "onnxruntime"),
        (tflite_models.classifier(), "litert"),
    ):
        path.write_bytes(data)
        assert read_model(path).runtime == read_model(path, runtime).runtime == runtime
    for data, wanted, code in (
        (tflite_models.classifier(), "onnxruntime", "not-onnx"),
        (classifier(), "litert", "not-tflite"),
        (b"PK\x03\x04 an archive", None, "not-tflite"),
    ):
        path.write_bytes(data)
        with pytest.raises(ModelError) as caught:
            read_model(path, wanted)
        assert caught.value.code == code


@pytest.fixture
def bench(harness: Client, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Bench a model on three even pictures; return its document, or its error."""
    (tmp_path / "images").mkdir()
    for number, colour in enumerate((RED, GREEN, BLUE)):
        Image.new("RGB", (40, 30), colour).save(tmp_path / "images" / f"{number}.png")

    def run(data: bytes, *options: object) -> dict[str, Any]:
        (tmp_path / "model").write_bytes(data)
        task = () if "--track" in options else ("--task", "classification")
        words = (
            "model",
            "--images",
            "images",
            "--json",
            "--repeats",
            1,
            *task,
            *options,
        )
        document: dict[str, Any] = json.loads(harness("bench", *words).stdout)
        return document.get("error", document)

    return run


def test_mean_sigma_and_order_of_channels_reach_the_input(
    bench: Callable[..., dict[str, Any]],
) -> None:
    data = classifier("float32", first=True, outputs=1000)
    options = ("--channels", "BGR", "--mean", "10,20,30", "--sigma", "2")
    made = bench(data, *options, "--delegate", "none")
    # The model's first channel is blue now, and what it calls red.
    wanted = [
        (BLUE_INDEX, RED[0] - 30),
        (GREEN_INDEX, GREEN[1] - 20),
        (RED_INDEX, BLUE[2] - 10),
    ]
    rows = [
        [n, index, pytest.approx(level / 2)]
        for n, (index, level) in enumerate(wanted, 1)
    ]
    assert made["predictions"]["labels"] == rows
    device = made["device"]
    assert device["runtime"] == "ONNX Runtime"
    assert device["delegate"] == "CPUExecutionProvider"
    assert made["settings"]["mean"] == [10, 20, 30]
    assert made["settings"]["sigma"] == [2, 2, 2]
    assert made["latency"]["load_ms"] > 0
    assert made["confinement"]["confined"] is (made["confinement"]["reason"] is None)


def test_aiotbench_takes_float_tflite_and_says_which_delegate_ran(
    bench: Callable[..., dict[str, Any]],
) -> None:
    answers = [("scores", np.eye(1, 1000, 6, dtype=np.float32))]
    data = tflite_models.constant_answers((1, 8, 8, 3), "float32", answers)
    made = bench(data, "--track", "aiotbench", "--cooldown-s", 0, "--delegate", "none")
    assert [row[:2] for row in made["predictions"]["labels"]] == [
        [1, 7],
        [2, 7],
        [3, 7],
    ]
    assert made["device"]["runtime"] == "LiteRT"
    assert made["device"]["delegate"] == "none"


IDLE_DELEGATE = """
#include <stdlib.h>
typedef struct Delegate { void *data; int (*prepare)(void *, struct Delegate *); void *more[8]; } Delegate;
static int prepare(void *context, Delegate *delegate) { return 0; }
void *tflite_plugin_create_delegate(char **keys, char **values, size_t count, void (*report)(const char *)) {
  Delegate *made = calloc(1, sizeof(Delegate));
  made->prepare = prepare;
  return made;
}
void tflite_plugin_destroy_delegate(void *delegate) { free(delegate); }
"""


@pytest.mark.skipif(
    shutil.which("cc") is None,
    reason="needs a C compiler: apt-get install gcc",
)
def test_a_delegates_library_is_loaded_and_is_not_named_where_it_takes_nothing(
    bench: Callable[..., dict[str, Any]],
    tmp_path: Path,
) -> None:
    library = tmp_path / "idle.so"
    command = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
    subprocess.run(
        command,
        input=IDLE_DELEGATE,
        text=True,
        check=True,
    )
    made = bench(tflite_models.classifier(), "--delegate", library)
    assert made["device"]["delegate"] == "none"
    reason = f"the delegate {library} needs its device's driver"
    assert made["confinement"] == {"confined": False, "reason": reason}


@pytest.mark.parametrize(
    ("data", "options", "code", "said"),
    [
        (classifier(), ("--track", "ovic-classification"), "wrong-runtime", "the rules of OVIC allow only TFLite"),
        (classifier(), ("--mean", "127.5"), "bad-preprocessing", "--mean and --sigma are for float32"),
        (classifier(), ("--delegate", "NoneProvider"), "model-failed", "has no NoneProvider on this machine; it has "),
        (tflite_models.classifier(), ("--delegate", "/no/such.so"), "model-failed", "/no/such.so: cannot open"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_one_sentence(
    bench: Callable[..., dict[str, Any]],
    data: bytes,
    options: tuple[object, ...],
    code: str,
    said: str,
) -> None:
    error = bench(data, *options)
    assert (error["code"], said in error["sentence"]) == (code, True), error


@pytest.mark.parametrize(
    "option",
    [
        ("--mean", "1,2"),
        ("--mean", "nan"),
        ("--sigma", "0"),
        ("--sigma", "x"),
    ],
)
def test_impossible_numbers_are_wrong_usage(
    harness: Client,
    option: tuple[str, str],
) -> None:
    assert harness("bench", "m", "--images", ".", *option).returncode == 2
