"""Answers of any task from a file: the figures of a contest for the same body, and its refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lpirc_score import CodedError, evaluate_answers
from lpirc_testsets import TestSet, TestSetError, synthesize
from lpirc_testsets.task_truth import read_class_truth


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> TestSet:
    folder = tmp_path_factory.mktemp("answers") / "set"
    return synthesize(
        folder, images=4, categories=3, size=(96, 64), task="classification"
    )


def test_every_form_of_a_body_gives_the_same_figures(
    made: TestSet, tmp_path: Path
) -> None:
    _, labels = read_class_truth(made)
    rows = [(image, labels[image]) for image in (1, 2, 3)]
    texts = {
        "answers.json": json.dumps(rows),
        "answers.csv": "\n".join(f"{image},{label}" for image, label in rows),
        "answers.TXT": "\n".join(f"{image},{label}" for image, label in rows),
    }
    for name, text in texts.items():
        file = tmp_path / name
        file.write_text(text)
        figures = evaluate_answers("classification", made.folder, file)
        assert figures.accuracy == 0.75
        assert figures.others == {"top-5": 0.75}


def test_an_answer_for_an_image_beyond_the_set_is_named(
    made: TestSet, tmp_path: Path
) -> None:
    file = tmp_path / "answers.json"
    file.write_text("[[5, 1]]")
    with pytest.raises(
        CodedError, match=r"answers\.json: Answer 1, image 5: .* 1\.\.4"
    ):
        evaluate_answers("classification", made.folder, file)


def test_what_cannot_be_scored_is_one_sentence(made: TestSet, tmp_path: Path) -> None:
    file = tmp_path / "answers.json"
    boxes = synthesize(tmp_path / "set", images=1, categories=1, size=(96, 64)).folder
    with pytest.raises(CodedError, match=r"There is no file .*answers\.json"):
        evaluate_answers("classification", made.folder, file)
    file.write_text("[]")
    with pytest.raises(CodedError, match="There is no task 'tasting'"):
        evaluate_answers("tasting", made.folder, file)
    with pytest.raises(CodedError, match="choose a metric, such as lpirc"):
        evaluate_answers("boxes", boxes, file)
    with pytest.raises(TestSetError, match="classes"):
        evaluate_answers("classification", boxes, file)
    packed = tmp_path / "answers.png"
    packed.write_bytes(b"\0" * 7)
    with pytest.raises(CodedError):
        evaluate_answers("classification", made.folder, packed)


def test_a_folder_in_place_of_the_file_is_named(made: TestSet, tmp_path: Path) -> None:
    with pytest.raises(CodedError, match=r": Is a directory") as refused:
        evaluate_answers("classification", made.folder, tmp_path)
    assert refused.value.sentence == f"{tmp_path}: Is a directory"
