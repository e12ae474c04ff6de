"""The referee's failures: one base class, a stable code, one clear sentence, the facts beside it."""

from __future__ import annotations


class RefereeError(Exception):
    """A failure that a person can cause or must know of.

    `code` is stable and kebab-case ("window-closed"); the sentence names the value and says what to do; `facts`
    are JSON-ready details for machines. The edges (command line, web) translate it, once each.
    """

    def __init__(self, code: str, sentence: str, **facts: object) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence
        self.facts = facts
