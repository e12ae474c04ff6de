"""Tasks by entry point: the built-in ones, those of another distribution, and those that cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from lpirc_score.errors import CodedError
from lpirc_score.metrics.evaluation_result import VERSION
from lpirc_score.tasks import BOXES
from lpirc_score.tasks.offered import (
    task_engine,
    task_missing,
    task_named,
    task_names,
    task_signature,
)
from lpirc_score.tasks.task_bodies import read_answers
from lpirc_score.tasks.task_kinds import Answer, Question, Truth
from lpirc_score.tasks.task_scores import figures_of, halves_accuracy
from tests.plugins_installed import Installer, plugins_in

GROUP = "lpirc.tasks"
QUESTION = Question(np.full((4, 2), 32), np.array([1]))
TRUTH = Truth((), {1: 1, 2: 2, 3: 3, 4: 4})
IMAGES = np.array([1, 2, 3, 4])
SOURCE = """
import numpy as np
from lpirc_score.tasks.task_kinds import Answer, Figures, SummedTask, WholeTask


def read(body, content_type, question):
    return [Answer(image, image) for image in range(1, 1 + len(body))]


SAID = dict(title="My task", accuracy="share", answer="one", answers="ones", content_types=("text/plain",), read=read,
            read_truth=lambda test_set: None)
SUM = SummedTask(name="sum", statistics=lambda truth, value, categories: np.array([value == truth, 0.5]),
                 figures=lambda total, categories: Figures(total[0] / total[1] / 2), **SAID)
WHOLE = WholeTask(name="whole", evaluate=lambda truth, answers, images: Figures(len(answers) / len(images)), **SAID)
TOO_HIGH = WholeTask(name="high", evaluate=lambda truth, answers, images: Figures(1.5), **SAID)
TEXT, UPPER, UNREAD, BOUND = (
    WholeTask(**{"evaluate": print, **SAID, "name": name, **odd})
    for name, odd in {
        "text": {"content_types": "text/plain"},
        "upper": {"content_types": ("Text/Plain; charset=utf-8",)},
        "unread": {"read": None},
        "bound": {"largest_body_bytes": "4 MB"},
    }.items()
)
FAILS = WholeTask(name="fails", evaluate=lambda truth, answers, images: {}["ap"],
                  **SAID | {"read": lambda body, kind, question: [7]})
"""
ENTRIES = """sum = my_tasks:SUM
whole = my_tasks:WHOLE
high = my_tasks:TOO_HIGH
fails = my_tasks:FAILS
other = my_tasks:SUM
text = my_tasks:TEXT
upper = my_tasks:UPPER
unread = my_tasks:UNREAD
bound = my_tasks:BOUND

gone = my_tasks:GONE"""


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[Installer]:
    with plugins_in(tmp_path) as installer:
        installer.install("my_tasks", GROUP, ENTRIES, SOURCE)
        yield installer


def test_the_built_in_tasks_are_entry_points() -> None:
    assert task_names()[:2] == (BOXES, "classification")
    for name in task_names():
        assert task_named(name).name == name
    assert task_named(BOXES).accuracy == "mAP"


def test_an_unknown_task_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(
        CodedError, match="no task 'boxs'; choose one of boxes, classification"
    ):
        task_named("boxs")


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("other", "its task is named 'sum'"),
        ("gone", "my_tasks 1.0 cannot be used: AttributeError"),
        ("text", "its content_types are 'text/plain', which is no tuple of texts"),
        ("upper", "its content type 'Text/Plain; charset=utf-8' is none in small"),
        ("unread", "its read is None, which is no function"),
        ("bound", "its largest_body_bytes is '4 MB', which is no whole number"),
    ],
)
def test_a_task_that_cannot_be_used_is_named(name: str, words: str) -> None:
    with pytest.raises(CodedError, match=words) as caught:
        task_named(name)
    assert caught.value.code == "bad-task"


@pytest.mark.usefixtures("installed")
def test_tasks_of_another_distribution_score_and_sign_with_its_name() -> None:
    assert task_engine("sum") == "my_tasks-1.0"
    assert task_signature("sum", "12345678901234") == (
        f"sum|gt:123456789012|engine:my_tasks-1.0|rules:1|v:{VERSION}"
    )
    answers = [Answer(1, 1), Answer(2, 0)]
    for name in ("sum", "whole"):
        task = task_named(name)
        accuracy = figures_of(task, TRUTH, answers, IMAGES).accuracy
        assert accuracy == {"sum": 0.25, "whole": 0.5}[name]
        halves = halves_accuracy(task, TRUTH, answers, IMAGES)
        assert (halves[::2] + halves[1::2]) / 2 == pytest.approx(accuracy)


@pytest.mark.usefixtures("installed")
def test_what_a_task_gives_is_checked() -> None:
    with pytest.raises(CodedError, match=r"1\.5, which is not from 0 to 1"):
        figures_of(task_named("high"), TRUTH, [], IMAGES)
    with pytest.raises(CodedError, match=r"KeyError: 'ap' \(my_tasks.py, line"):
        figures_of(task_named("fails"), TRUTH, [], IMAGES)
    with pytest.raises(CodedError, match="gave 7, which is no Answer"):
        read_answers(task_named("fails"), b"", "text/plain", QUESTION)
    with pytest.raises(CodedError, match="its truth has no image 5"):
        figures_of(task_named("sum"), TRUTH, [], np.array([5]))


@pytest.mark.usefixtures("installed")
def test_answers_for_other_images_are_refused_whatever_the_task_reads() -> None:
    with pytest.raises(CodedError, match=r"Answer 5, image 5: the image 5 is not"):
        read_answers(task_named("sum"), b"12345", "text/plain", QUESTION)


@pytest.mark.usefixtures("installed")
def test_an_engine_that_is_not_here_is_named() -> None:
    assert task_missing("sum", "my_tasks-1.0") == ""
    assert "but here my_tasks-1.0 is installed" in task_missing("sum", "my_tasks-2.0")
    assert "which is not installed here" in task_missing("other-one", "theirs-1.0")
