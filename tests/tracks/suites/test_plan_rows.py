from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_tracks.suites.plan_rows import Stated
from lpirc_tracks.suites.suite_file import aiotbench_text
from lpirc_tracks.suites.suite_plan import read_plan
from referee.errors import RefereeError

MODEL = """\
[[models]]
model = "m"
framework = "tflite"
implementations = ["tflite_cpu", "tflite_nnapi"]
file = "models/m.tflite"
mflops = 300
"""
CAFFE2 = MODEL.replace('["tflite_cpu", "tflite_nnapi"]', '["caffe2"]').replace(
    'file = "models/m.tflite"\n', ""
)
NNAPI = '[implementations.tflite_nnapi]\ndelegate = "/lib/nnapi.so"\nrepeats = 2\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "suite.toml"
    path.write_text(text)
    return path


def test_a_model_has_a_test_in_each_implementation_and_its_file_may_be_missing(
    tmp_path: Path,
) -> None:
    processor, accelerator = read_plan(written(tmp_path, MODEL)).tests
    assert processor.name == "m (tflite_cpu)"
    assert accelerator.name == "m (tflite_nnapi)"
    assert processor.file == accelerator.file == tmp_path / "models" / "m.tflite"
    assert processor.stated == Stated()
    assert processor.published is not None
    assert processor.is_checked


def test_blank_values_say_nothing(tmp_path: Path) -> None:
    blank = (
        'sha256 = ""\nlayout = ""\nside = ""\nsource = ""\nquantization = ""\n'
        'channels = ""\nmean = ""\nsigma = ""\npublished_percent = ""\n'
    )
    (test, _) = read_plan(written(tmp_path, MODEL + blank)).tests
    assert test.stated == Stated()
    assert test.options == {}
    assert test.settings == "default"


def test_what_a_row_states_is_read(tmp_path: Path) -> None:
    stated = (
        f'sha256 = "{"AB" * 32}"\nlayout = "NHWC"\nside = 224\nquantization = "none"\n'
        "published_percent = 72.5\nmean = [1, 2.5, 3]\nsigma = 127.5\nchannels = 'BGR'\n"
    )
    (test, _) = read_plan(written(tmp_path, MODEL + stated)).tests
    assert test.stated == Stated("ab" * 32, "NHWC", 224, "none", 72.5)
    assert test.settings == "channels=BGR mean=1,2.5,3 sigma=127.5"


def test_a_model_that_no_runtime_runs_needs_no_file(tmp_path: Path) -> None:
    (test,) = read_plan(written(tmp_path, CAFFE2)).tests
    assert test.file is None


def test_options_of_an_implementation_are_those_of_each_of_its_tests(
    tmp_path: Path,
) -> None:
    plan = read_plan(written(tmp_path, NNAPI + MODEL + "repeats = 3\n"))
    processor, accelerator = plan.tests
    assert processor.options == {"repeats": 3}
    # The row's own come first.
    assert accelerator.options == {"delegate": "/lib/nnapi.so", "repeats": 3}


def test_tests_of_ones_own_stand_beside_the_models(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"x")
    own = '[[tests]]\nmodel = "m"\nimplementation = "onnxruntime"\nfile = "m.onnx"\nmflops = 300\n'
    plan = read_plan(written(tmp_path, MODEL + own + 'layout = "NCHW"\n'))
    assert [test.implementation for test in plan.tests] == [
        "tflite_cpu",
        "tflite_nnapi",
        "onnxruntime",
    ]
    assert plan.tests[2].published is None
    assert plan.tests[2].is_checked
    plan = read_plan(written(tmp_path, own))
    assert not plan.tests[0].is_checked


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("models = 5\n", "there is no test"),
        (MODEL + MODEL, "the test m (tflite_cpu) is given twice"),
        (MODEL + "url = 'x'\n", "model 1: unknown key 'url'"),
        (MODEL.replace("file", "path"), "model 1: unknown key 'path'"),
        (MODEL.replace('file = "models/m.tflite"\n', ""), "model 1: the key 'file' is missing"),
        (MODEL.replace('["tflite_cpu", "tflite_nnapi"]', '"tflite_cpu"'), "= 'tflite_cpu' must be a list"),
        (MODEL.replace('["tflite_cpu", "tflite_nnapi"]', "[]"), "implementations = [] must be a list"),
        (MODEL.replace("tflite_nnapi", "onnx"), "'onnx' is none of pytorch_mobile, caffe2, tflite_cpu, tflite_nnapi"),
        (MODEL + "sha256 = 'abc'\n", "sha256 = 'abc' must have 64 hexadecimal digits"),
        (MODEL + "layout = 'CHW'\n", "layout = 'CHW' must be NHWC or NCHW"),
        (MODEL + "side = 0\n", "side = 0 must be a number from 1 to 1000"),
        (MODEL + "side = 2.5\n", "side = 2.5 must be a whole number"),
        (MODEL + "preprocessing = 'resize'\n", "preprocessing = 'resize' must be central-square"),
        (MODEL + "published_percent = 101\n", "published_percent = 101 must be a number from 0 to 100"),
        (MODEL + "source = 5\n", "source = 5 must be a line of text"),
        ("implementations = 5\n" + MODEL, "[implementations]: it must be a table"),
        ("[implementations.gpu]\nthreads = 1\n" + MODEL, "[implementations]: unknown key 'gpu'"),
        ("[implementations]\ncaffe2 = 5\n" + MODEL, "[implementations.caffe2]: it must be a table of options"),
        ("[implementations.caffe2]\nmean = 5\n" + MODEL, "[implementations.caffe2]: unknown key 'mean'"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_in_one_sentence(
    tmp_path: Path, text: str, told: str
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(RefereeError) as failure:
        read_plan(path)
    assert failure.value.code == "bad-suite"
    assert failure.value.sentence.startswith(str(path))
    assert told in failure.value.sentence
    assert "\n" not in failure.value.sentence


@pytest.mark.parametrize(
    "text",
    [MODEL + "threads = 8\n", "[implementations.tflite_cpu]\nthreads = 8\n" + MODEL],
)
def test_more_threads_cannot_win_the_published_tests(tmp_path: Path, text: str) -> None:
    with pytest.raises(RefereeError, match="threads = 8: AIoTBench's tests have one"):
        read_plan(written(tmp_path, text))
    assert read_plan(written(tmp_path, MODEL + "threads = 1\n")).tests


@pytest.mark.parametrize(
    "text",
    [
        MODEL + 'delegate = "/lib/tpu.so"\n',
        '[implementations.tflite_cpu]\ndelegate = "/lib/tpu.so"\n' + MODEL,
    ],
)
def test_an_accelerator_cannot_win_the_tests_of_the_processor(
    tmp_path: Path, text: str
) -> None:
    with pytest.raises(RefereeError, match="tflite_cpu is a test of the processor"):
        read_plan(written(tmp_path, text))


VALUES = (
    *('""', '"x"', "5", "-1", "0.5", "nan", "inf", "true", "[]", "{}", "1979-05-27"),
    *("[1, 2, 3]", '[1, 2, "x"]', '["tflite_cpu"]', '["caffe2", "caffe2"]', "[[1]]"),
    *('"NCHW"', '"BGR"', '"\\u0000"', '"\\n"', '"../x"', '"' + "a" * 64 + '"', "1e400"),
)
LINES = aiotbench_text().splitlines()
KEYS = [number for number, line in enumerate(LINES) if " = " in line]


@given(st.sampled_from(KEYS), st.sampled_from(VALUES))
def test_any_value_of_any_key_is_taken_or_told_in_one_sentence(
    tmp_path_factory: pytest.TempPathFactory, number: int, value: str
) -> None:
    lines = list(LINES)
    key = lines[number].removeprefix("# ").partition(" = ")[0]
    lines[number] = f"{key} = {value}"
    path = written(tmp_path_factory.mktemp("suite"), "\n".join(lines))
    error = refusal(path)
    if error is not None:
        assert error.code == "bad-suite"
        assert error.sentence.startswith(str(path))
        assert error.sentence.isprintable()


def refusal(path: Path) -> RefereeError | None:
    try:
        read_plan(path)
    except RefereeError as error:
        return error
    return None
