"""A body on which the code of a task fails: the team learns that, the operator's log the reason."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import numpy as np
import pytest

from lpirc_score.tasks.offered import task_named
from lpirc_score.tasks.task_kinds import Question
from referee.errors import RefereeError
from referee.web import task_answers
from referee.web.bounded_calls import BoundedCalls
from referee.web.task_answers import AnswerReader
from tests.plugins_installed import plugins_in

SOURCE = """
from lpirc_score.tasks.task_kinds import Figures, WholeTask


def read(body, content_type, question):
    return body["no such key"]


TASK = WholeTask(name="failing", title="Failing", accuracy="share", answer="one", answers="ones",
                 content_types=("text/plain",), read=read, read_truth=read, evaluate=read)
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


HANGING = """
import threading
from lpirc_score.tasks.task_kinds import WholeTask

GO_ON = threading.Event()


def read(body, content_type, question):
    GO_ON.wait()
    return []


TASK = WholeTask(name="hanging", title="Hanging", accuracy="share", answer="one", answers="ones",
                 content_types=("text/plain",), read=read, read_truth=read, evaluate=read)
"""


def test_a_task_that_hangs_is_given_up_and_said(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reading = BoundedCalls(limit_s=0.01, most=1)
    monkeypatch.setattr(task_answers, "READING", reading)
    with plugins_in(tmp_path) as installer:
        installer.install("hanging", "lpirc.tasks", "hanging = hanging:TASK", HANGING)
        task = task_named("hanging")
        reader = AnswerReader(
            task, "text/plain", Question(np.full((3, 2), 8), np.array([1]))
        )
        with pytest.raises(RefereeError, match="The task hanging failed on this body"):
            reader(b"x")
        sys.modules["hanging"].GO_ON.set()
    assert "its read hangs: it did not end within 0.01 s" in caplog.text
