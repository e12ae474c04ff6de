"""What can be wrong with a test set."""

from __future__ import annotations


class TestSetError(Exception):
    """A test set, or a file meant to become one, that cannot be used.

    `code` is stable and kebab-case; the sentence names file and value; `problems` lists everything found, one
    sentence each, when there is more to say than the first.
    """

    __test__ = False  # pytest would take the name for a class of tests

    def __init__(self, code: str, sentence: str, problems: tuple[str, ...] = ()) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence
        self.problems = problems
