"""Sentences of the command line in the words of Python: its options are arguments here."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

from lpirc_power.errors import MeterError

_IN_PYTHON: Final = {
    "add --force": "give force=True",
    "add --take-over": "give take_over=True",
}


@contextlib.contextmanager
def in_python_words() -> Iterator[None]:
    """Raise a MeterError of a with statement with its options named as arguments; code and class stay."""
    try:
        yield
    except MeterError as error:
        sentence = error.sentence
        for option, argument in _IN_PYTHON.items():
            sentence = sentence.replace(option, argument)
        error.sentence = sentence
        error.args = (sentence,)
        raise
