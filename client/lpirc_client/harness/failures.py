"""What can be wrong with a model, a test set's images, or the way they are to be run."""

from __future__ import annotations

from lpirc_client.errors import ClientError


class ModelError(ClientError):
    """A failure with its `facts`: the values that the sentence names, for programs to read.

    The sentence is one printable line, whatever a model, a file's name or the runtime's words put into it.
    """

    def __init__(self, code: str, sentence: str, **facts: object) -> None:
        super().__init__(code, printable(sentence))
        self.facts = facts


def missing_extra(name: str) -> ModelError:
    """The failure of a client that was installed without what runs models; `name` is the module that is missing."""
    sentence = f'running models needs {name}; in the project\'s folder: pip install "./client[models]"'
    return ModelError("missing-extra", sentence, missing=name)


def printable(text: str) -> str:
    """The text on one line, without what would steer a terminal."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def facts_of(error: ClientError) -> dict[str, object]:
    """The facts of any failure; none where it has none."""
    return error.facts if isinstance(error, ModelError) else {}
