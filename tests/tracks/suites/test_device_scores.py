from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_tracks.suites.device_scores import device_scores, grouped
from lpirc_tracks.suites.suite_plan import SuitePlan, read_plan
from lpirc_tracks.suites.suite_table import SuiteRow

SHA256 = "ab" * 32
# 72 % in 20 ms: 36 images/s of 0.5 GFLOP.
DONE = SuiteRow(
    "board",
    "tflite_cpu",
    "small",
    "72.0",
    "20.0",
    "5000",
    SHA256,
    "images",
    "",
    "default",
)
FAILED = replace(DONE, accuracy_percent="", time_ms="", sentence="it broke")
MODELS = """\
[[models]]
model = "small"
implementations = ["tflite_cpu", "tflite_nnapi"]
file = "small.tflite"
mflops = 500
published_percent = 72.5

[[models]]
model = "large"
implementations = ["tflite_cpu", "tflite_nnapi"]
file = "large.tflite"
mflops = 4000
"""


@pytest.fixture
def plan(tmp_path: Path) -> SuitePlan:
    return planned(tmp_path, MODELS)


def planned(folder: Path, text: str) -> SuitePlan:
    path = folder / "suite.toml"
    path.write_text(text)
    return read_plan(path)


def test_every_test_of_the_plan_that_the_table_lacks_is_missing(
    plan: SuitePlan,
) -> None:
    found = device_scores(plan, [DONE])
    (score,) = found.scores
    assert score.vips == pytest.approx(36)
    assert score.vops_gflops == pytest.approx(18)
    assert score.missing == (
        "tflite_nnapi small",
        "tflite_cpu large",
        "tflite_nnapi large",
    )
    assert found.notes == ()


def test_each_device_of_the_table_is_held_to_the_whole_plan(plan: SuitePlan) -> None:
    other = replace(DONE, device="phone", implementation="tflite_nnapi")
    board, phone = device_scores(plan, [DONE, other]).scores
    assert len(board.missing) == len(phone.missing) == 3
    assert "tflite_cpu small" in phone.missing


def test_whole_implementations_are_named_in_a_word(plan: SuitePlan) -> None:
    (score,) = device_scores(plan, [DONE]).scores
    assert grouped(score, plan) == "tflite_nnapi (all 2), tflite_cpu (large)"
    (nothing,) = device_scores(plan, [FAILED]).scores
    assert grouped(nothing, plan) == "tflite_cpu (all 2), tflite_nnapi (all 2)"


def test_a_row_of_another_model_file_adds_nothing_and_is_told(tmp_path: Path) -> None:
    pinned = MODELS.replace("mflops = 500", f'mflops = 500\nsha256 = "{"cd" * 32}"', 1)
    found = device_scores(planned(tmp_path, pinned), [DONE])
    (score,) = found.scores
    assert score.vips == 0
    assert "tflite_cpu small" in score.missing
    (note,) = found.notes
    assert note.startswith("board, small (tflite_cpu) is left out")
    assert SHA256 in note
    same = pinned.replace("cd" * 32, SHA256)
    (score,) = device_scores(planned(tmp_path, same), [DONE]).scores
    assert score.vips == pytest.approx(36)


@pytest.mark.parametrize(
    ("percent", "images", "is_doubted"),
    [
        ("72.5", "5000", False),
        ("69.6", "5000", False),
        ("69.4", "5000", True),
        ("75.6", "5000", True),
        ("40.0", "5", False),
        ("0.1", "5000", True),
        ("0.1", "many", False),
        ("0.1", "9" * 5000, False),
    ],
)
def test_an_accuracy_far_from_the_published_one_is_doubted(
    plan: SuitePlan, percent: str, images: str, is_doubted: bool
) -> None:
    rows = [replace(DONE, accuracy_percent=percent, images=images)]
    notes = device_scores(plan, rows).notes
    assert any("72.5 % is published" in note for note in notes) is is_doubted


def test_fewer_images_than_the_benchmark_has_are_told(plan: SuitePlan) -> None:
    few = replace(DONE, images="1000")
    (note,) = device_scores(plan, [few]).notes
    assert note == "board: 1 test has 1000 images instead of AIoTBench's 5000"
    other = replace(few, model="large", model_sha256="other")
    (note,) = device_scores(plan, [few, other]).notes
    assert note == "board: 2 tests have 1000 images instead of AIoTBench's 5000"


def test_a_failed_test_says_why(plan: SuitePlan) -> None:
    (note,) = device_scores(plan, [FAILED]).notes
    assert note == "board, small (tflite_cpu) failed: it broke"


def test_one_file_under_two_names_and_two_sets_of_images_are_told(
    plan: SuitePlan,
) -> None:
    large = replace(DONE, model="large", images_sha256="others")
    assert device_scores(plan, [DONE, large]).notes == (
        "the tests were measured on 2 different sets of images",
        "small and large were measured with one model file",
    )


def test_a_row_that_is_no_test_of_the_suite_adds_nothing(plan: SuitePlan) -> None:
    """Who gains: a table may have any line, the suite has only its own tests."""
    accelerator = replace(DONE, implementation="tflite_gpu", model_sha256="c")
    huge = replace(DONE, model="huge", model_sha256="d")
    found = device_scores(plan, [DONE, accelerator, huge])
    (score,) = found.scores
    assert score.vips == pytest.approx(36)
    assert found.notes == (
        "board, small (tflite_gpu) is left out: it is no test of the suite",
        "board, huge (tflite_cpu) is left out: it is no test of the suite",
    )


def test_tests_of_ones_own_have_sums_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "small.onnx").write_bytes(b"x")
    own = (
        '[[tests]]\nmodel = "small"\nimplementation = "onnxruntime"\n'
        'file = "small.onnx"\nmflops = 500\n'
    )
    plan = planned(tmp_path, MODELS + own)
    onnx = replace(DONE, implementation="onnxruntime", time_ms="10.0")
    onnx = replace(onnx, model_sha256="c")
    found = device_scores(plan, [onnx, DONE])
    assert [score.vips for score in found.scores] == [pytest.approx(36)]
    assert [score.vips for score in found.own_scores] == [pytest.approx(72)]
    assert len(found.scores[0].missing) == 3
    assert found.own_scores[0].missing == ()
    # Without a published suite they are the suite.
    found = device_scores(planned(tmp_path, own), [onnx])
    assert [score.vips for score in found.scores] == [pytest.approx(72)]
    assert found.own_scores == ()


IMPLEMENTATIONS = ("tflite_cpu", "tflite_nnapi", "tflite_gpu")
NAMES = st.tuples(
    st.sampled_from(["board", "phone"]),
    st.sampled_from(IMPLEMENTATIONS),
    st.sampled_from(["small", "large", "huge"]),
)
FIGURES = st.tuples(
    st.floats(0, 100), st.floats(0.01, 10_000), st.sampled_from([SHA256, "cd" * 32])
)


@given(st.dictionaries(NAMES, FIGURES, min_size=1))
def test_a_sum_is_that_of_the_rows_of_the_plan_and_each_test_counts_or_is_missing(
    tmp_path_factory: pytest.TempPathFactory,
    table: dict[tuple[str, str, str], tuple[float, float, str]],
) -> None:
    pinned = MODELS.replace("mflops = 500", f'mflops = 500\nsha256 = "{SHA256}"', 1)
    plan = planned(tmp_path_factory.mktemp("suite"), pinned)
    rows = [
        replace(
            DONE,
            device=device,
            implementation=implementation,
            model=model,
            accuracy_percent=repr(percent),
            time_ms=repr(time_ms),
            model_sha256=sha256,
        )
        for (device, implementation, model), (percent, time_ms, sha256) in table.items()
    ]
    found = device_scores(plan, rows).scores
    assert {score.device for score in found} == {device for device, _, _ in table}
    for score in found:
        vips = 0.0
        counted = 0
        for (device, implementation, model), (
            percent,
            time_ms,
            sha256,
        ) in table.items():
            is_planned = implementation != "tflite_gpu" and model != "huge"
            is_right = model == "large" or sha256 == SHA256
            if device == score.device and is_planned and is_right:
                vips += percent * 10 / time_ms
                counted += 1
        assert score.vips == pytest.approx(vips)
        assert len(score.missing) + counted == len(plan.tests)
