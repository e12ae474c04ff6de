"""`lpirc-harness bench` and `validate` as processes: whole runs with answers computed by hand."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from lpirc_client.harness import harness_commands as model_commands
from lpirc_client.harness.cli import main
from tests import warm_programs
from tests.client.conftest import Client
from tests.client.harness.pictures import (
    BLUE,
    GREEN,
    RED,
    cell_row,
    exact_jpeg,
    picture,
)
from tests.tflite_models import BLUE as BLUE_INDEX
from tests.tflite_models import GREEN as GREEN_INDEX
from tests.tflite_models import RED as RED_INDEX
from tests.tflite_models import classifier, detection_answers, detector, endless
from tests.timeouts import TIMEOUT_S

Bench = Callable[..., dict[str, Any]]
ONCE = ("--repeats", 1)


@pytest.fixture
def images(tmp_path: Path) -> Callable[[Sequence[bytes | Image.Image]], Path]:
    """Make a folder of images 1, 2, … (JPEG bytes, or pictures written as PNG)."""

    def make(pictures: Sequence[bytes | Image.Image]) -> Path:
        folder = tmp_path / "images"
        folder.mkdir()
        for number, image in enumerate(pictures, 1):
            if isinstance(image, bytes):
                (folder / f"{number:03d}.jpg").write_bytes(image)
            else:
                image.save(folder / f"{number:03d}.png")
        return folder

    return make


@pytest.fixture
def model(tmp_path: Path) -> Callable[[bytes], Path]:
    def write(data: bytes) -> Path:
        path = tmp_path / "m.tflite"
        path.write_bytes(data)
        return path

    return write


@pytest.fixture
def bench(harness: Client, model: Callable[[bytes], Path]) -> Bench:
    """Bench a model with --json; return its document, or with `refused=True` its error."""

    def run(
        data: bytes,
        folder: Path,
        *options: object,
        refused: bool = False,
    ) -> dict[str, Any]:
        done = harness("bench", model(data), "--images", folder, "--json", *options)
        assert done.returncode == int(refused), done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        if refused:
            assert done.stderr == f"lpirc-harness: {document['error']['sentence']}\n"
        else:
            assert done.stderr == ""
        return document["error"] if refused else document

    return run


def even(*colour: int, size: tuple[int, int] = (64, 48)) -> Image.Image:
    return Image.new("RGB", size, colour)


@pytest.mark.parametrize("quantized", [False, True])
def test_a_classifier_answers_each_image_with_its_colour(
    bench: Bench,
    images: Callable[..., Path],
    quantized: bool,
) -> None:
    # All three outputs alike: the lowest index.
    grey = exact_jpeg(Image.new("L", (64, 48), 120))
    folder = images([even(*RED), even(*GREEN), even(*BLUE), grey])
    result = bench(
        classifier(quantized=quantized), folder, "--task", "classification", *ONCE
    )
    rows = result["predictions"]["labels"]
    assert [row[:2] for row in rows] == [
        [1, RED_INDEX],
        [2, GREEN_INDEX],
        [3, BLUE_INDEX],
        [4, RED_INDEX],
    ]
    assert [row[2] for row in rows] == pytest.approx(
        [200 / 255, 220 / 255, 240 / 255, 120 / 255],
        abs=1e-6,
    )
    assert result["processed"] == 4
    assert result["stopped_by"] == "end"
    assert result["preprocessing"] == "central-crop"


@pytest.mark.parametrize("quantized", [False, True])
def test_a_detector_answers_with_boxes_in_pixels_of_the_original(
    bench: Bench,
    images: Callable[..., Path],
    quantized: bool,
) -> None:
    coloured = picture({(0, 0): RED, (4, 9): GREEN, (9, 2): BLUE})
    grey = exact_jpeg(picture({(3, 7): (250,) * 3, (8, 8): (128,) * 3}))
    result = bench(
        detector(quantized=quantized),
        images([coloured, grey]),
        "--task",
        "detection",
        *ONCE,
    )
    rows = result["predictions"]["rows"]
    assert len(rows) == 200
    wanted = [
        *(
            cell_row(1, 3, 240, 9, 2),
            cell_row(1, 2, 220, 4, 9),
            cell_row(1, 1, 200, 0, 0),
        ),
        *(
            cell_row(2, 1, 250, 3, 7),
            cell_row(2, 1, 128, 8, 8),
        ),
    ]
    assert np.array([*rows[:3], *rows[100:102]]) == pytest.approx(
        np.array(wanted),
        abs=1e-4,
    )
    # All others are ground, cell by cell.
    assert {round(row[2] * 255) for row in rows[3:100] + rows[102:]} == {60}


def test_crops_of_the_tracks_reach_the_model(
    bench: Bench,
    images: Callable[..., Path],
) -> None:
    # 64 x 48: the central 0.875 is 56 x 42 from (4, 3) on, the central square 48 x 48 from (8, 0) on.
    framed = Image.new("RGB", (64, 48), (0, 0, 255))
    framed.paste((100, 0, 0), (4, 3, 60, 45))
    striped = Image.new("RGB", (64, 48), (0, 255, 0))
    striped.paste((100, 0, 0), (8, 0, 56, 48))
    folder = images([framed, striped])
    task = ("--task", "classification", *ONCE)
    cropped = bench(classifier(), folder, *task)["predictions"]["labels"]
    assert cropped[0] == [1, RED_INDEX, pytest.approx(100 / 255)]
    assert cropped[1][2] < 100 / 255
    square = bench(
        classifier(), folder, "--track", "aiotbench", "--cooldown-s", 0, *ONCE
    )
    assert square["predictions"]["labels"][1] == [
        2,
        RED_INDEX,
        pytest.approx(100 / 255),
    ]
    assert square["preprocessing"] == "central-square"


def test_the_document_is_whole_and_its_figures_agree(
    bench: Bench,
    images: Callable[..., Path],
) -> None:
    data = classifier()
    result = bench(
        data,
        images([even(9, 9, 9)] * 5),
        "--task",
        "classification",
        "--repeats",
        3,
        "--energy-loop-s",
        0.01,
    )
    latency = result["latency"]
    timed = result["timed"]
    assert result["result_version"] == 1
    assert result["model"]["size_bytes"] == len(data)
    assert result["model"]["input"] == {"shape": [1, 8, 8, 3], "dtype": "uint8"}
    assert result["model"]["outputs"] == [
        {
            "name": "scores",
            "shape": [1, 1001],
            "dtype": "float32",
        }
    ]
    assert len(latency["repeat_means_ms"]) == 3
    # Of the first repeat only.
    assert len(result["predictions"]["labels"]) == result["processed"] == 5
    assert latency["counted"] == 3 * 4  # without the first of each repeat
    assert latency["mean_ms"] == pytest.approx(np.mean(latency["repeat_means_ms"]))
    assert (
        0
        < latency["min_ms"]
        <= latency["p50_ms"]
        <= latency["p90_ms"]
        <= latency["max_ms"]
    )
    assert latency["total_s"] == pytest.approx(4 * latency["repeat_means_ms"][0] / 1e3)
    assert timed["end_monotonic_s"] - timed["start_monotonic_s"] > latency["total_s"]
    loop = result["energy_loop"]
    assert loop["inferences"] > 1
    assert timed["end_monotonic_s"] <= loop["start_monotonic_s"]
    assert loop["end_monotonic_s"] - loop["start_monotonic_s"] >= 0.01
    assert result["device"]["runtime"] == "LiteRT"
    assert result["device"]["delegate"] == "XNNPACK"
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    assert result["settings"]["core"] == max(cores, default=None)
    assert result["energy"] is None
    assert 0 < latency["processor_share"] <= 1
    assert result["confinement"]["confined"] is (
        result["confinement"]["reason"] is None
    )


def test_a_test_set_keeps_its_numbers_and_a_limit_its_first_ones(
    bench: Bench,
    images: Callable[..., Path],
    tmp_path: Path,
) -> None:
    images([even(*RED), even(*GREEN), even(*BLUE)])
    listed = [
        {"number": number, "file": f"{file:03d}.png"}
        for number, file in ((11, 3), (12, 1), (13, 2))
    ]
    (tmp_path / "manifest.json").write_text(json.dumps({"images": listed}))
    result = bench(
        classifier(), tmp_path, "--task", "classification", "--limit", 2, *ONCE
    )
    assert [row[:2] for row in result["predictions"]["labels"]] == [
        [11, BLUE_INDEX],
        [12, RED_INDEX],
    ]
    assert result["images"]["count"] == 2


def test_a_spent_budget_ends_the_run_after_the_image_that_spends_it(
    bench: Bench,
    images: Callable[..., Path],
) -> None:
    folder = images([even(*RED), even(*GREEN), even(*BLUE)])
    result = bench(
        classifier(), folder, "--task", "classification", "--budget-s", 1e-9, *ONCE
    )
    # The first image costs nothing, the second spends it all.
    assert result["processed"] == 2
    assert result["stopped_by"] == "budget"
    assert result["latency"]["counted"] == 1
    assert [row[0] for row in result["predictions"]["labels"]] == [1, 2]


def test_unusable_rows_are_left_out_and_counted(
    bench: Bench,
    images: Callable[..., Path],
) -> None:
    boxes = np.zeros((1, 100, 4))
    scores = np.full((1, 100), np.nan)
    boxes[0, :2] = [
        [0.25, 0.5, 0.5, 1.0],
        [0.5, 0.5, 0.25, 1.0],
    ]
    scores[0, :2] = 0.5
    result = bench(
        detection_answers(boxes, np.zeros((1, 100)), scores),
        images([picture({})] * 2),
        "--task",
        "detection",
        *ONCE,
    )
    assert result["predictions"]["rows"] == [
        [n, 1, 0.5, 80.0, 20.0, 159.0, 39.0] for n in (1, 2)
    ]
    assert result["unusable"] == {
        "not_finite_images": [1, 2],
        "inverted_boxes": 2,
        "out_of_range_rows": 0,
    }


def test_people_get_a_table_and_a_file(
    harness: Client,
    model: Callable[[bytes], Path],
    images: Any,
) -> None:
    folder = images([even(*RED)] * 3)
    options = (
        "--track",
        "ovic-classification",
        "--out",
        "r.json",
        "--progress",
        "lines",
        *ONCE,
    )
    done = harness("bench", model(classifier()), "--images", folder, *options)
    assert done.returncode == 0
    assert "images    3 of 3 (stopped by end)" in done.stdout.splitlines()
    assert "3 of 3 images" in done.stderr.splitlines()
    assert json.loads((folder.parent / "r.json").read_text())["processed"] == 3


TASK = ("--task", "classification")
REFUSED = [
    (
        classifier(),
        ("--task", "detection"),
        "wrong-outputs",
        "its number of outputs is 1; detection has 4",
    ),
    (b"", TASK, "empty-model", "m.tflite: the file is empty"),
    (classifier(), (), "no-task", "which task? give --task"),
    (
        classifier(),
        (*TASK, "--limit", 1),
        "too-few-images",
        "1 image: the first image is a warm-up",
    ),
    (
        classifier(),
        (*TASK, "--out", "/nowhere/r.json"),
        "unwritable",
        "cannot be written",
    ),
    (
        endless(),
        (*TASK, "--timeout-s", 0.2),
        "model-timeout",
        "no answer within 1.2 s while",
    ),
]


@pytest.mark.parametrize(("data", "options", "code", "said"), REFUSED)
def test_what_cannot_be_benched_is_reported_in_one_sentence(
    bench: Bench,
    images: Callable[..., Path],
    data: bytes,
    options: tuple[object, ...],
    code: str,
    said: str,
) -> None:
    result = bench(data, images([even(*RED)] * 2), *options, refused=True)
    assert result["code"] == code
    assert said in result["sentence"]


def test_a_count_other_than_100_is_refused_with_the_image(
    bench: Bench,
    images: Callable[..., Path],
) -> None:
    folder = images(
        [
            picture({}, ground=(200, 200, 200)),
            picture({(0, 0): (0, 0, 0)}, ground=(200, 200, 200)),
        ]
    )
    result = bench(
        detector(score_threshold=0.5), folder, "--task", "detection", refused=True
    )
    assert result["code"] == "wrong-count"
    assert "it returns 99 detections of image 2" in result["sentence"]


def test_a_damaged_image_ends_the_bench_with_its_name(
    bench: Bench,
    images: Callable[..., Path],
) -> None:
    result = bench(
        classifier(),
        images([even(*RED), b"no jpeg"]),
        "--task",
        "classification",
        refused=True,
    )
    assert result["code"] == "bad-image"
    assert result["facts"]["image"] == 2


def test_validate_says_valid_or_every_reason_why_not(
    harness: Client,
    model: Callable[[bytes], Path],
) -> None:
    done = harness("validate", model(detector()), "--track", "ovic-detection", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["valid"] is True
    done = harness("validate", model(detector(kept=10)), "--task", "detection")
    assert done.returncode == 1
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 3
    starts = [f"lpirc-harness: m.tflite: its output {number} " for number in range(3)]
    assert all(
        line.startswith(start) for line, start in zip(lines, starts, strict=True)
    )


@pytest.mark.parametrize(
    "options",
    [
        ("--threads", "0"),
        ("--budget-s", "nan"),
        ("--repeats", "x"),
        ("--task", "ocr"),
    ],
)
def test_wrong_usage_is_exit_code_2(harness: Client, options: tuple[str, str]) -> None:
    assert harness("bench", "m.tflite", "--images", ".", *options).returncode == 2


def test_an_interrupted_bench_says_so(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(model_commands, "execute", interrupt)
    assert main(["bench", "m.tflite", "--images", "."]) == 130
    assert capsys.readouterr().err == "lpirc-harness: interrupted\n"


def test_without_the_extra_one_sentence_says_what_to_install(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['numpy'] = None\n"
        "from lpirc_client.harness.cli import main\n"
        "sys.exit(main(['bench', 'm.tflite', '--images', '.', '--task', 'detection']))\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 1
    packages = "ai-edge-litert flatbuffers numpy onnxruntime pillow"
    install = f"which is not installed: pip install {packages}"
    assert done.stderr == f"lpirc-harness: running models needs numpy, {install}\n"


@pytest.mark.parametrize("command", ["bench", "validate"])
def test_the_client_says_where_the_command_went(client: Client, command: str) -> None:
    done = client(command, "m.tflite")
    said = f"lpirc-client has no command {command}: use lpirc-harness {command}\n"
    assert done.returncode == 2
    assert done.stderr == said


def test_an_older_python_is_told_in_one_sentence() -> None:
    code = (
        "import sys; sys.version_info = (3, 8, 20); sys.version = '3.8.20 (default)'\n"
        "from lpirc_client.harness import cli\n"
        "status = cli.main(['bench'])\n"
        "ours = [one for name, one in sys.modules.items() if name.startswith('lpirc_client')]\n"
        "print(*(module.__file__ for module in ours), sep='\\n')\n"
        "sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
    )
    said = "lpirc-harness: it needs Python 3.11 or later; this is 3.8.20\n"
    assert done.returncode == 1
    assert done.stderr == said
    modules = [Path(line) for line in done.stdout.splitlines()]
    assert "cli.py" in {module.name for module in modules}
    for module in modules:
        ast.parse(module.read_text(), feature_version=(3, 8))


def test_it_ends_with_its_parent(
    environment: dict[str, str],
    model: Callable[[bytes], Path],
    images: Any,
) -> None:
    arguments = [
        "bench",
        model(endless()),
        "--images",
        images([even(*RED)] * 2),
        "--task",
        "classification",
        "--json",
    ]
    with subprocess.Popen(
        [sys.executable, "-c", "input()"],
        stdin=subprocess.PIPE,
    ) as parent:
        command = ["lpirc-harness", *map(str, arguments), "--parent", str(parent.pid)]
        with warm_programs.start(command, env=environment) as process:
            parent.communicate(b"\n")
            out, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 1
    assert json.loads(out)["error"]["code"] == "parent-gone"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_result_that_cannot_be_written_is_one_sentence(
    model: Callable[[bytes], Path],
) -> None:
    words = [
        "lpirc-harness",
        "validate",
        str(model(classifier())),
        "--task",
        "classification",
        "--json",
    ]
    with (
        Path("/dev/full").open("w") as full,
        warm_programs.start(words, stdout=full) as process,
    ):
        assert (
            process.communicate(30)[1]
            == "lpirc-harness: the system: No space left on device\n"
        )
    assert process.returncode == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_result_that_does_not_fit_into_its_file_is_on_stdout(
    harness: Client,
    model: Callable[[bytes], Path],
    images: Any,
    more: list[str],
) -> None:
    folder = images([even(*RED), even(*GREEN)])
    words = [
        "--images",
        folder,
        "--task",
        "classification",
        *ONCE,
        "--out",
        "/dev/full",
        *more,
    ]
    done = harness("bench", model(classifier()), *words)
    assert done.returncode == 1
    assert json.loads(done.stdout)["processed"] == 2
    sentence = "/dev/full: cannot be written: No space left on device; the result document is on stdout"
    assert done.stderr == f"lpirc-harness: {sentence}\n"


def test_an_unwritable_place_is_reported_before_the_bench_and_left_alone(
    bench: Bench,
    images: Callable[..., Path],
    tmp_path: Path,
) -> None:
    folder = images([even(*RED), even(*GREEN)])
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    for out, said in (
        *(
            ("pipe", "not a regular file"),
            ("images", "not a regular file"),
            ("none/x", "No such file"),
        ),
        *(
            ("n" * 256, "File name too long"),
            ("loop", "Too many levels"),
            ("m.tflite/x", "Not a directory"),
        ),
    ):
        words = ("--task", "classification", "--out", tmp_path / out)
        error = bench(b"no model", folder, *words, refused=True)
        assert error["code"] == "unwritable"
        assert (said in error["sentence"]) is True
    words = ("--task", "classification", "--out", tmp_path / "m.tflite")
    assert bench(b"no model", folder, *words, refused=True)["code"] == "bad-place"
    words = ("--task", "classification", "--out", tmp_path / "new.json")
    assert bench(b"no model", folder, *words, refused=True)["code"] == "not-tflite"
    assert not (tmp_path / "new.json").exists()
