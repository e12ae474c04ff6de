"""The words that pages, reports and sentences use for a task's figure and its answers."""

from __future__ import annotations

from dataclasses import dataclass

from lpirc_score.errors import CodedError
from lpirc_score.tasks import BOXES


@dataclass(frozen=True)
class Words:
    """The names of the figure (`mAP`), of an answer and of several (`detection`, `detections`), and of a counted unit.

    `title` names the task as pages write it, `of_category` the figure of one category (`AP`).
    """

    accuracy: str = "mAP"
    answer: str = "detection"
    answers: str = "detections"
    row: str = "row"
    rows: str = "rows"
    title: str = "Object detection"
    of_category: str = "AP"
    is_boxes: bool = False

    @property
    def an_accuracy(self) -> str:
        """The name of the figure with its article: an mAP, a top-1."""
        is_vowel = self.accuracy[:1].lower() in "aeiou"
        article = "an" if is_vowel or self.accuracy == "mAP" else "a"
        return f"{article} {self.accuracy}"

    @property
    def in_status(self) -> dict[str, str]:
        """What the status of a contest says of its task: the names of the figure and of the rows that it counts."""
        return {"accuracy": self.accuracy, "rows": self.rows}

    def said(self, sentence: str) -> str:
        """Return a sentence about boxes in the words of this task."""
        with_article = sentence.replace("an mAP", self.an_accuracy)
        return with_article.replace("mAP", self.accuracy)


OF_BOXES = Words(is_boxes=True)
UNKNOWN = Words(
    "accuracy", "answer", "answers", "answer", "answers", "another task", "accuracy"
)
"""The words for a task that is not installed here."""


def words_of_scorer(name: str) -> Words:
    """Return the words of what scores, as a signature names it: a metric of boxes, or a task."""
    # Imported here, as below, because a page of boxes need not wait for NumPy and the list of plug-ins.
    from lpirc_score.metrics.offered import metric_names

    return words_of(None if name in metric_names() else name)


def words_of(task: str | None) -> Words:
    """Return the words of a task; None means boxes."""
    if task in (None, BOXES):
        return OF_BOXES
    from lpirc_score.tasks.offered import task_named

    try:
        found = task_named(str(task))
    except CodedError:
        return UNKNOWN
    return Words(
        found.accuracy,
        found.answer,
        found.answers,
        found.answer,
        found.answers,
        found.title,
        found.category_accuracy or found.accuracy,
    )
