"""`lpirc-client run --detector onnx:...` over HTTP, and what a person sees when it cannot."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lpirc_client import cli
from tests import warm_programs
from tests.client.adapters.models import finder
from tests.client.adapters.test_detector import jpeg
from tests.client.conftest import Client
from tests.client.referee_double import Referee
from tests.timeouts import TIMEOUT_S


def test_a_run_with_a_model_by_name_posts_its_boxes(
    serve: Callable[..., Referee],
    environment: dict[str, str],
    tmp_path: Path,
) -> None:
    (tmp_path / "model.onnx").write_bytes(finder("yolov8"))
    (tmp_path / "small.json").write_text('{"model": "model.onnx", "score": 0.5}')
    images = [
        jpeg((64, 64), (8, 16, 40, 32)),
        jpeg((64, 64), None),
        jpeg((128, 64), (32, 8, 64, 40)),
    ]
    referee = serve(images=images, categories=[{"id": 7, "name": "Red Box"}])
    options = ["run", referee.url, "--team", "alpha", "--detector", "onnx:small.json"]
    command = ["lpirc-client", *options]
    done = warm_programs.run(
        command,
        timeout=TIMEOUT_S,
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(referee.rows) == [
        [1, 7, 0.75, 8, 16, 39, 31],
        [3, 7, 0.75, 32, 8, 63, 39],
    ]


def test_a_check_tells_the_settings_of_a_model_once(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "model.onnx").write_bytes(finder("yolov8"))
    for name in ("1.jpg", "2.jpg"):
        (tmp_path / name).write_bytes(jpeg((64, 64), (8, 16, 40, 32)))
    command = [
        "check",
        "--detector",
        f"onnx:{tmp_path / 'model.onnx'}",
        "--images",
        str(tmp_path),
    ]
    assert cli.main(command) == 0
    told = capsys.readouterr()
    assert told.err.count("head = yolov8, ") == told.err.count("\n") == 1
    assert "2 images, 2 rows" in told.out


def test_a_model_that_is_not_there_costs_no_log_in(
    referee: Referee,
    client: Client,
) -> None:
    done = client(
        "run", referee.url, "--team", "alpha", "--detector", "litert:gone.tflite"
    )
    assert done.returncode == 1
    assert done.stderr == "lpirc-client: gone.tflite: there is no such model\n"
    assert referee.opened_at is None


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("coco.json", '[{"image_id": 1}]', "but has a list; if it is something else, "),
        ("coco.json", '{"images": [], "info": {}}', "but has images, info; if it is s"),
        ("m.json", '{"haed": "ssd"}', "model (did you mean head?); there is layout, "),
        ("m.json", "{'head': 1}", "m.json: it is not JSON: Expecting property name "),
        ("m.toml", "head = ssd", "m.toml: it is not TOML: Invalid value (at line 1, "),
        ("m.json", "5", "but has 5 alone; if it is something else, "),
        pytest.param(
            *("m.json", "[" * 99999, "m.json: its lists or tables are nested too"),
            id="nested",
        ),
        ("m.json", "\xff", "m.json: it is not JSON, which is text in UTF-8\n"),
        ("set/m.json", "{}", "set/m.onnx: there is no such model\n"),
        ("set", None, "set: it is no file; name the model in it: --detector onnx:set/"),
    ],
)
def test_a_file_of_another_kind_for_a_model_is_told_what_is_read_there(
    client: Client, tmp_path: Path, name: str, text: str | None, told: str
) -> None:
    (tmp_path / "set").mkdir()
    if text is not None:
        (tmp_path / name).write_text(text, encoding="latin-1")
    options = ("--detector", f"onnx:{name}", "--images", ".")
    done = client("check", *options)
    assert done.returncode == 1
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_numpy_it_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "from lpirc_client.cli import main\n"
        "sys.exit(main(['run', 'http://127.0.0.1:1', '--team', 'a', '--detector', 'onnx:model.onnx']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"LPIRC_PASSWORD": "x"},
    )
    assert done.returncode == 1
    assert done.stderr.endswith(
        "needs numpy, which is not installed: pip install numpy onnxruntime pillow\n"
    )
