"""A task of another distribution whose functions fail or give nonsense: one sentence names plug-in and function."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from lpirc_score.errors import PluginTaskFailed
from lpirc_score.tasks.offered import SEAM, task_engine, task_named
from lpirc_score.tasks.task_bodies import read_answers
from lpirc_score.tasks.task_kinds import Answer, Question, SummedTask, Truth
from lpirc_score.tasks.task_scores import (
    accuracy_by_image,
    figures_of,
    halves_accuracy,
    statistics_of,
)
from lpirc_score.tasks.truth_reading import truth_of
from lpirc_testsets import TestSet, synthesize
from tests.plugins_installed import Installer, plugins_in
from tests.referee.judging.tallied_runs import install

GROUP = "lpirc.tasks"
NAMED = "The plug-in lpirc.tasks tally = lpirc_tally:COUNTING of lpirc_tally 1.0 cannot be used: "
TRUTH = Truth((), {1: 1, 2: 2, 3: 3, 4: 4})
IMAGES = np.array([1, 2, 3, 4])
ANSWERS = [Answer(1, 1), Answer(2, 0)]
QUESTION = Question(np.full((4, 2), 32), np.array([1]))


@pytest.fixture
def installer(tmp_path: Path) -> Iterator[Installer]:
    (tmp_path / "plugins").mkdir()
    with plugins_in(tmp_path / "plugins") as installer:
        yield installer


def everything() -> None:
    """Score some answers, their halves and their images, as a judge and a report do."""
    task = task_named("tally")
    assert isinstance(task, SummedTask)
    read_answers(task, b'[{"image": 1, "count": 1}]', "application/json", QUESTION)
    figures_of(task, TRUTH, ANSWERS, IMAGES)
    halves_accuracy(task, TRUTH, ANSWERS, IMAGES)
    accuracy_by_image(task, TRUTH, statistics_of(task, TRUTH, ANSWERS, IMAGES))


@pytest.mark.parametrize(
    ("function", "body", "words"),
    [
        ("read", "1 / 0", "its read failed: ZeroDivisionError: division by zero"),
        ("read", "return None", "its read failed: TypeError"),
        ("read", "return [Answer(1, None)]", "whose value is None"),
        ("read", "raise SystemExit(0)", "its read failed: SystemExit: 0"),
        ("statistics", "return {}['ap']", "its statistics failed: KeyError: 'ap'"),
        (
            "statistics",
            "return np.zeros(2 if given[1] is None else 3)",
            "its statistics of image 1 have the shape (3,), but those of image 3 have (2,); they need one shape",
        ),
        ("statistics", "return [float('nan')]", "its statistics of image 1 are [nan]"),
        ("statistics", "return np.zeros((2, 2))", "which is no array (S,)"),
        ("statistics", "return 'text'", "its statistics failed: ValueError"),
        (
            "figures",
            "raise ValueError('<b>' + 'x' * 9999 + chr(10) + 'y')",
            "its figures failed: ValueError: <b>xxx",
        ),
        ("figures", "return 0.5", "it gave 0.5, which are no Figures"),
        ("figures", "return Figures(float('nan'))", "its accuracy is nan"),
        ("figures", "return Figures('high')", "its Figures failed: ValueError"),
        ("figures", "return Figures(None)", "its Figures failed: TypeError"),
        (
            "figures",
            "return Figures(0.5, others={'x' * 99: 1})",
            "has 99 characters, and the most is 40",
        ),
        (
            "figures",
            "return Figures(0.5, others={str(n): 1 for n in range(101)})",
            "it gave 101 further figures, and the most is 100",
        ),
        ("figures", "return Figures(0.5, others={'a\\nb': 1})", "which is no word"),
        ("figures", "return Figures(0.5, {1: 'x'})", "its Figures failed: ValueError"),
    ],
)  # fmt: skip
def test_what_a_plug_in_does_wrong_is_one_sentence_with_its_function(
    installer: Installer, function: str, body: str, words: str
) -> None:
    install(installer, **{function: body})
    with pytest.raises(PluginTaskFailed) as caught:
        everything()
    assert caught.value.sentence.startswith(NAMED)
    assert words in caught.value.sentence
    assert "\n" not in caught.value.sentence
    assert len(caught.value.sentence) < 500


@pytest.fixture(scope="module")
def two_images(tmp_path_factory: pytest.TempPathFactory) -> TestSet:
    folder = tmp_path_factory.mktemp("sets") / "two"
    return synthesize(folder, images=2, categories=2, seed=1, size=(96, 64))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return None", "its read_truth gave None, which is no Truth"),
        ("return Truth((), None)", "its read_truth gave Truth("),
        ("return Truth((), {1: 1})", "its read_truth has no image 2"),
        ("raise KeyError('annotations')", "its read_truth failed: KeyError"),
    ],
)
def test_a_truth_that_is_none_is_one_sentence(
    installer: Installer, two_images: TestSet, body: str, words: str
) -> None:
    install(installer, read_truth=body)
    with pytest.raises(PluginTaskFailed) as caught:
        truth_of("tally", two_images)
    assert caught.value.sentence.startswith(NAMED + words)


def test_a_plug_in_with_the_name_of_a_built_in_task_is_refused_by_name(
    installer: Installer,
) -> None:
    entries = "classification = greedy:TASK\nboxes = greedy:TASK"
    installer.install("greedy", GROUP, entries, "TASK = 7")
    for name in ("classification", "boxes"):
        assert task_named(name).name == name
        assert task_engine(name) is None
    assert SEAM.refused() == [
        f"The plug-in lpirc.tasks {name} = greedy:TASK of greedy 1.0 cannot be used: lpirc-score has the task "
        f"{name!r} itself; rename yours."
        for name in ("boxes", "classification")
    ]
