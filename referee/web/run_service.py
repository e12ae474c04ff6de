"""The app part that serves open runs: their images, screens, and the checks of their detections."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from lpirc_score.detections import BodyReader
from lpirc_score.detections.plausibility import limits_by_number
from lpirc_score.tasks import BOXES
from lpirc_score.tasks.offered import task_named
from lpirc_score.tasks.task_bodies import question_of
from referee.web.callers import Callers
from referee.web.concurrency_limits import ConcurrencyLimits
from referee.web.task_answers import AnswerReader

if TYPE_CHECKING:
    from lpirc_score.tasks.task_kinds import Question
    from lpirc_testsets import TestSet
    from referee.runs.camera_screens import Screens
    from referee.runs.open_run import OpenRun
    from referee.web.image_files import ImageFiles
    from referee.web.published_board import PublishedBoard


@dataclass(frozen=True)
class RunService:
    """The images, screens, checks, limits and published log that requests of open runs use."""

    callers: Callers
    limits: ConcurrencyLimits
    test_set: TestSet
    images: ImageFiles
    screens: Screens
    board: PublishedBoard
    _questions: WeakKeyDictionary[OpenRun, Question] = field(
        default_factory=WeakKeyDictionary
    )
    _limits_of_runs: WeakKeyDictionary[OpenRun, NDArray[np.float64]] = field(
        default_factory=WeakKeyDictionary
    )

    def reader(self, live: OpenRun, content_type: str) -> BodyReader | AnswerReader:
        """Return the function that parses a body of detections, or of its task's answers, for that run."""
        if live.run.task != BOXES:
            return self._answer_reader(live, content_type)
        plausible = self._limits_of_runs.get(live)
        if plausible is None:
            numbers = np.concatenate([[0], live.order])
            plausible = self.limits_by_number[numbers]
            self._limits_of_runs[live] = plausible
        return BodyReader(content_type, live.run.images, self.category_ids, plausible)

    def _answer_reader(self, live: OpenRun, content_type: str) -> AnswerReader:
        question = self._questions.get(live)
        if question is None:
            question = question_of(self.test_set, live.order)
            self._questions[live] = question
        return AnswerReader(task_named(live.run.task), content_type, question)

    @cached_property
    def limits_by_number(self) -> NDArray[np.float64]:
        """The limits of plausible values by test-set image number, computed at the start because it takes a while."""
        return limits_by_number(self.test_set)

    @cached_property
    def category_ids(self) -> NDArray[np.int64]:
        """The category ids of the test set (K,), ascending."""
        ids = sorted(one.id for one in self.test_set.categories)
        return np.array(ids, np.int64)
