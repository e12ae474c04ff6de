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
_ARGUMENTS: Final = {
    "--columns": "columns",
    "--interval": "interval_s",
    "--decimal": "decimal",
    "--model": "model",
    "--mode": "mode",
    "--voltage-range": "voltage_range_v",
    "--current-range": "current_range_a",
}
"""Options that state what a file does not say, by the arguments of `read_measurement`."""


@contextlib.contextmanager
def in_python_words() -> Iterator[None]:
    """Raise a MeterError of a with statement with its options named as arguments; code and class stay."""
    try:
        yield
    except MeterError as error:
        sentence = python_words(error.sentence)
        error.sentence = sentence
        error.args = (sentence,)
        raise


def python_words(sentence: str) -> str:
    """Return a sentence with what stands in Python for each option that it names."""
    for option, argument in _IN_PYTHON.items():
        sentence = sentence.replace(option, argument)
    words = sentence.split()
    named = [f"{one} is {_ARGUMENTS[one]}=" for one in _ARGUMENTS if one in words]
    return f"{sentence} In Python, {', '.join(named)}." if named else sentence
