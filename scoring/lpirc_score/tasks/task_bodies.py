"""What the bodies of all tasks have in common: the problems of one body, each with its place and image."""

from __future__ import annotations

from lpirc_score.errors import CodedError

MOST_LISTED = 20
"""Maximum number of problems that an answer lists; all are counted."""


class AnswerProblems:
    """Collects what is wrong with the answers of one body."""

    def __init__(self) -> None:
        self.listed: list[dict[str, object]] = []
        self.total = 0

    def add(self, place: int, image: object, problem: str) -> None:
        """Add a problem of the answer at `place` (1, 2, ...) about `image`."""
        self.total += 1
        if len(self.listed) < MOST_LISTED:
            self.listed.append({"line": place, "image": image, "problem": problem})

    def raise_if_any(self) -> None:
        """Raise `CodedError` `bad-answers` if a problem was added."""
        if self.total:
            raise bad_answers(self)


def bad_answers(problems: AnswerProblems) -> CodedError:
    """Return the refusal of a body, with the facts `problems` and `total`; nothing of it counts."""
    first = problems.listed[0]
    more = f" (and {problems.total - 1} more)" if problems.total > 1 else ""
    sentence = f"Answer {first['line']}, image {first['image']}: {first['problem']}{more}; nothing was taken."
    return CodedError(
        "bad-answers", sentence, problems=problems.listed, total=problems.total
    )
