"""The failures of scoring: one base class with a stable code, one clear sentence, and facts.

The failures of the referee share the base class, so one `except` catches both. A failure that some caller handles has a
class of its own: code never branches on `code` or on the sentence.
"""

from __future__ import annotations


class CodedError(Exception):
    """A failure that a person can cause or needs to know about.

    `code` is stable and kebab-case ("window-closed"); the sentence names the value and says what to do; `facts` are
    JSON-ready details for machines. The command line and the web interface each translate it in one place.
    """

    def __init__(
        self,
        code: str,
        sentence: str,
        **facts: object,
    ) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence
        self.facts = facts

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the error by its attributes, since subclasses take different arguments."""
        return _again, (type(self), self.code, self.sentence, self.facts)


def _again(
    kind: type[CodedError],
    code: str,
    sentence: str,
    facts: dict[str, object],
) -> CodedError:
    error = kind.__new__(kind)
    CodedError.__init__(error, code, sentence, **facts)
    return error


def with_more(error: CodedError, sentence: str) -> CodedError:
    """Return the same failure with one more sentence at its end."""
    longer = f"{error.sentence} {sentence}"
    return _again(type(error), error.code, longer, error.facts)


class BadRows(CodedError):
    """Detections with rows that break a rule (`bad-rows`), or with lists of different lengths (`length-mismatch`)."""


class LengthMismatch(BadRows):
    """Parallel lists of a form that differ in length."""

    def __init__(
        self,
        sentence: str,
        **facts: object,
    ) -> None:
        super().__init__("length-mismatch", sentence, **facts)


class MetricFailed(CodedError):
    """A metric of another distribution cannot be used or failed; the sentence names plug-in and line."""

    def __init__(
        self,
        sentence: str,
        **facts: object,
    ) -> None:
        super().__init__("bad-metric", sentence, **facts)


class TaskFailed(CodedError):
    """A task cannot be used, its code failed, or it gave what the interface does not allow.

    The sentence names plug-in, function and line.
    """

    def __init__(
        self,
        sentence: str,
        **facts: object,
    ) -> None:
        super().__init__("bad-task", sentence, **facts)


class PluginTaskFailed(TaskFailed):
    """The same of a task of another distribution: what it was given need not be at fault."""
