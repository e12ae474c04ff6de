"""The failures of meters: one class, a stable code, one clear sentence, the facts beside it."""

from __future__ import annotations


class MeterError(Exception):
    """A failure of a meter, of the way to it, or of what was asked of it.

    `code` is stable and kebab-case ("meter-lost"); the sentence names the value and says what to do; `facts`
    are JSON-ready details for machines. The codes in use are listed in docs/energy.md.
    """

    def __init__(self, code: str, sentence: str, **facts: object) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence
        self.facts = facts
