"""Failures on the contestant's side; each one that some caller handles has its own class."""

from __future__ import annotations

EXTRAS = {
    "completion": ("shtab",),
    "detector": ("numpy", "pillow"),
    "onnx": ("numpy", "onnxruntime", "pillow"),
    "litert": ("ai-edge-litert", "numpy", "pillow"),
    "models": ("ai-edge-litert", "flatbuffers", "numpy", "onnxruntime", "pillow"),
}
"""The packages of each extra by name: these can be installed wherever the client itself came from."""


class ClientError(Exception):
    """A failure to report to the contestant.

    `code` is stable and kebab-case: the referee's own where the referee refused ("bad-credentials"), else the client's
    ("connection-lost"). `sentence` is one printable line, whatever a server, a model or a file name puts into it.
    `facts` are the values that the sentence names, for programs.
    """

    def __init__(
        self,
        code: str,
        sentence: str,
        **facts: object,
    ) -> None:
        self.code = code
        self.sentence = printable(sentence)
        self.facts = facts
        super().__init__(self.sentence)


class AnswerError(ClientError):
    """The detector or the recording failed, or the referee refused the rows; connection and run are fine.

    Rows found earlier are still posted. The run stays open, unless the options say to log out on errors.
    """


class BadCredentials(ClientError):
    """The referee refused team or password."""


class TransientError(ClientError):
    """No answer from the referee; the same request may succeed later."""


class NothingListens(TransientError):
    """No program accepts connections at the URL."""

    def __init__(self, url: str) -> None:
        sentence = f"{url}: nothing listens there; start the referee or check the port"
        super().__init__("connection-refused", sentence)


class ConnectionLost(TransientError):
    """The connection broke after it was established: the request may have taken effect."""


class NotStarted(ClientError):
    """The run belongs to a heat that has not been started yet."""


class WindowClosed(ClientError):
    """The window of the run has ended."""


class UnknownRoute(ClientError):
    """The server at the URL does not know this request."""


class ModelError(ClientError):
    """A model, its images or its settings cannot be used."""


def missing_extra(
    what: str,
    module: str | None,
    extra: str,
    instead: str = "",
) -> ModelError:
    """Return the error for a client installed without `extra`: `module`, needed by `what`, is missing.

    `instead` says what works without it.
    """
    install = f"pip install {' '.join(EXTRAS[extra])}"
    sentence = f"{what} needs {module}, which is not installed: {install}"
    if instead:
        sentence += f". Or {instead}"
    return ModelError("missing-extra", sentence, missing=module)


def printable(text: str) -> str:
    """Return the text on one line, without characters that control a terminal."""
    letters = list(text)
    for place, letter in enumerate(letters):
        if not letter.isprintable():
            letters[place] = " "
    return "".join(letters)
