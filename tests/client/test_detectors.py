"""A contestant's own detectors: how they are found, and what their mistakes cause."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lpirc_client import detectors
from lpirc_client.errors import AnswerError, ClientError
from lpirc_client.wire import Category, Login

LOGIN = Login("token", "r1", 1, 60.0, 60.0, (Category(7, "red-disc"),))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("mine"):
            del sys.modules[name]


def test_a_function_of_a_file_here_is_found(folder: Path) -> None:
    (folder / "mine_a.py").write_text(
        "def detect(jpeg, categories):\n    yield categories[0].id, .5, 1, 2, 3, 4\n"
    )
    answer = detectors.answers_of(detectors.load("mine_a:detect"), LOGIN)
    assert answer(3, b"") == [(7, 0.5, 1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nonsense", "must be sample, onnx:FILE, litert:FILE or module:function"),
        ("no_such_module:f", "there is no module 'no_such_module', neither in "),
        ("mine_b:nothing", "mine_b has no function 'nothing'"),
        ("mine_b:number", "'number' of mine_b is of type int, not a function"),
        (
            "mine_c:detect",
            "importing 'mine_c' failed: ModuleNotFoundError: No module named 'no_such_framework'",
        ),
        ("mine_d:detect", "importing 'mine_d' failed: SyntaxError"),
        ("mine_e:detect", "importing 'mine_e' failed: SystemExit: 2"),
    ],
)
def test_a_detector_that_cannot_be_loaded_is_named(
    folder: Path,
    name: str,
    words: str,
) -> None:
    (folder / "mine_b.py").write_text("number = 1\n")
    (folder / "mine_c.py").write_text("import no_such_framework\n")
    (folder / "mine_d.py").write_text("def\n")
    (folder / "mine_e.py").write_text("raise SystemExit(2)\n")
    with pytest.raises(ClientError) as caught:
        detectors.load(name)
    assert words in caught.value.sentence
    assert "\n" not in caught.value.sentence


def test_the_sample_detector_says_which_extra_it_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(
        sys.modules,
        "lpirc_client.sample_detector.detector",
        raising=False,
    )
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ClientError, match="pip install numpy pillow") as caught:
        detectors.load("sample")
    # In a hall there is no folder of the project: a team has the zipapp alone.
    assert "--detector module:function" in caught.value.sentence


def test_an_exception_names_the_image_also_when_it_comes_late() -> None:
    def late(*_: object) -> Iterator[Any]:
        yield 7, 0.5, 1, 2, 3, 4
        raise OSError("camera\ngone")

    with pytest.raises(
        AnswerError,
        match="image 12: the detector failed: OSError: camera gone",
    ):
        detectors.answers_of(late, LOGIN)(12, b"")


def test_a_failure_in_a_library_names_the_line_of_ones_own_code(folder: Path) -> None:
    (folder / "mine_f.py").write_text(
        "import json\nimport numpy as np\n\n"
        "def reads(jpeg, categories):\n    return json.loads('{')\n\n"
        "def adds(jpeg, categories):\n    return np.broadcast_to([1, 2], 3)\n"
    )
    for name, line in (("reads", 5), ("adds", 8)):
        with pytest.raises(AnswerError) as caught:
            detectors.answers_of(detectors.load(f"mine_f:{name}"), LOGIN)(12, b"")
        assert caught.value.sentence.endswith(f" ({folder / 'mine_f.py'}, line {line})")


def test_a_failure_outside_of_ones_own_code_names_no_line() -> None:
    with pytest.raises(
        AnswerError,
        match=r"the detector failed: UnidentifiedImageError: [^()]*$",
    ):
        detectors.answers_of(detectors.load("sample"), LOGIN)(12, b"no picture")


def test_a_detector_that_ends_the_program_is_an_answer_like_another_failure() -> None:
    def leaves(*_: object) -> None:
        sys.exit("no weights")

    with pytest.raises(
        AnswerError,
        match="image 12: the detector failed: SystemExit: no weights",
    ):
        detectors.answers_of(leaves, LOGIN)(12, b"")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("onnx:http://x/m.onnx", "it has an address; download the file, and name it: "),
        (".", r"module:function; \. is a folder$"),
    ],
)
def test_an_address_or_a_folder_is_no_detector(name: str, told: str) -> None:
    with pytest.raises(ClientError, match=told):
        detectors.load(name)
