"""What the command line takes for a number."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import pytest

from lpirc_client.arguments import count, seconds, some_seconds, threads


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [(count, "1", 1), (threads, "1024", 1024), (seconds, "0", 0.0), (seconds, "1e9", 1e9), (some_seconds, "0.5", 0.5)],
)  # fmt: skip
def test_numbers_in_range_are_taken(kind: Callable[[str], float], text: str, value: float) -> None:
    assert kind(text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *((count, text) for text in ("0", "-1", "1.5", "", "\u0663")),
        *((threads, text) for text in ("0", "1025", "1000000000000")),
        *((seconds, text) for text in ("-1", "nan", "inf", "1e300", "1.1e9", "soon")),
        (some_seconds, "0"),
    ],
)
def test_a_number_out_of_range_is_wrong_usage(kind: Callable[[str], float], text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        kind(text)
