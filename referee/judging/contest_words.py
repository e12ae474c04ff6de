"""What operators and the public are told of what a contest scores: the words of its task, or that nothing is scored."""

from __future__ import annotations

from lpirc_score.tasks import BOXES
from lpirc_score.tasks.words import words_of
from lpirc_testsets.truth_marks import NO_TRUTH_SENTENCE
from referee.contest import Contest


def no_truth(contest: Contest) -> dict[str, str]:
    """Return `no_truth`, a sentence, if the test set of a contest of boxes has no ground truth; else nothing."""
    if contest.config.task == BOXES and not contest.test_set.objects:
        return {"no_truth": NO_TRUTH_SENTENCE}
    return {}


def scored_words(contest: Contest) -> dict[str, str]:
    """Return the names of the figure (`accuracy`) and of the `rows` that are counted, and what `no_truth` returns."""
    return words_of(contest.config.task).in_status | no_truth(contest)
