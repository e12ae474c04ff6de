"""What can go wrong on the contestant's side."""

from __future__ import annotations


class ClientError(Exception):
    """A failure that the contestant must know of.

    `code` is stable and kebab-case: the referee's own code where the referee refused ("bad-credentials",
    "window-closed"), else the client's ("connection-lost"). `sentence` is one line, names the value and says
    what to do.
    """

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence


class AnswerError(ClientError):
    """A failure of what answers the images: the detector, the recording, or rows which the referee refused.

    The connection and the run are well. What was found before it is still posted, then the run is logged out.
    """
