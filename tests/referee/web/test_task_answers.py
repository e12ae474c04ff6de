"""A body on which the code of a task fails: the team learns that, the operator's log the reason."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from lpirc_score.tasks.offered import task_named
from lpirc_score.tasks.task_kinds import Question
from referee.errors import RefereeError
from referee.web.task_answers import AnswerReader
from tests.plugins_installed import plugins_in

SOURCE = """
from lpirc_score.tasks.task_kinds import Figures, WholeTask


def read(body, content_type, question):
    return body["no such key"]


TASK = WholeTask(name="failing", title="Failing", accuracy="share", answer="one", answers="ones",
                 content_types=("text/plain",), read=read, read_truth=None, evaluate=None)
"""


def test_a_task_that_fails_is_told_to_the_team_without_its_line(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with plugins_in(tmp_path) as installer:
        installer.install("failing", "lpirc.tasks", "failing = failing:TASK", SOURCE)
        question = Question(np.full((3, 2), 8), np.array([1]))
        reader = AnswerReader(task_named("failing"), "text/plain", question)
        with (
            caplog.at_level(logging.ERROR),
            pytest.raises(
                RefereeError, match="The task failing failed on this body"
            ) as caught,
        ):
            reader(b"x")
    assert caught.value.code == "task-failed"
    assert "failing.py" not in caught.value.sentence
    assert "TypeError" in caplog.text
    assert "failing.py, line 6" in caplog.text
