from __future__ import annotations

from pathlib import Path

import pytest

from lpirc_tracks.suites import implementations
from lpirc_tracks.suites.implementations import (
    ANDROID_MARK,
    IMPLEMENTATIONS,
    DeviceRuntimes,
    obstacle,
    runtimes_here,
)

BOTH = frozenset({"litert", "onnxruntime"})
LINUX = DeviceRuntimes("Linux", BOTH)
ANDROID = DeviceRuntimes("Android", BOTH)
CPU = IMPLEMENTATIONS["tflite_cpu"]
NNAPI = IMPLEMENTATIONS["tflite_nnapi"]


def test_with_litert_the_processor_tests_can_run() -> None:
    assert obstacle(CPU, LINUX, {}) == ""
    only_litert = DeviceRuntimes("Linux", frozenset({"litert"}))
    assert obstacle(CPU, only_litert, {}) == ""


def test_without_litert_the_sentence_says_how_to_install_it() -> None:
    only_onnx = DeviceRuntimes("Linux", frozenset({"onnxruntime"}))
    sentence = obstacle(CPU, only_onnx, {})
    assert sentence.startswith("LiteRT, which runs TensorFlow Lite models, is not")
    assert 'pip install "./client[models]"' in sentence


@pytest.mark.parametrize("name", ["caffe2", "pytorch_mobile"])
@pytest.mark.parametrize("device", [LINUX, ANDROID])
def test_frameworks_that_the_harness_does_not_run_can_run_nowhere(
    name: str, device: DeviceRuntimes
) -> None:
    one = IMPLEMENTATIONS[name]
    sentence = obstacle(one, device, {"delegate": "xnnpack"})
    assert sentence.startswith(f"{one.framework} is a runtime of its own")


def test_nnapi_is_androids(tmp_path: Path) -> None:
    library = tmp_path / "nnapi.so"
    library.write_bytes(b"x")
    given = {"delegate": str(library)}
    # A library of that name makes no Android of this machine.
    assert "this device runs Linux" in obstacle(NNAPI, LINUX, given)
    assert obstacle(NNAPI, ANDROID, given) == ""


@pytest.mark.parametrize("delegate", [None, "xnnpack", "none"])
def test_the_processor_is_not_taken_for_nnapi(delegate: str | None) -> None:
    given = {} if delegate is None else {"delegate": delegate}
    assert "NNAPI needs its delegate" in obstacle(NNAPI, ANDROID, given)


def test_a_delegate_that_is_not_there_is_named(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone.so")
    sentence = obstacle(NNAPI, ANDROID, {"delegate": gone})
    assert sentence == f"there is no delegate's library {gone}"


def test_this_machine_has_both_runtimes() -> None:
    found = runtimes_here()
    assert found.installed == BOTH
    assert found.titles == "LiteRT, ONNX Runtime"


@pytest.mark.parametrize("absent", ["lpirc_client", "ai_edge_litert"])
def test_what_is_not_installed_is_not_told(
    monkeypatch: pytest.MonkeyPatch, absent: str
) -> None:
    def found(module: str) -> object | None:
        return None if module == absent else object()

    monkeypatch.setattr(implementations, "find_spec", found)
    has_client = absent != "lpirc_client"
    runtimes = runtimes_here()
    assert runtimes.installed == ({"onnxruntime"} if has_client else set())
    assert runtimes.titles == ("ONNX Runtime" if has_client else "none")


def test_android_is_known_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ANDROID_MARK, "/system")
    assert runtimes_here().system == "Android"
