"""Which numbers the command line takes."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import pytest

from lpirc_client.option_types import file_path, positive_seconds, seconds, whole

Type = Callable[[str], float]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        *(
            (whole(0), "0", 0),
            (whole(1, 1024), "1024", 1024),
        ),
        *(
            (seconds, "0", 0.0),
            (seconds, "1e9", 1e9),
            (positive_seconds, "0.5", 0.5),
        ),
    ],
)
def test_numbers_in_range_are_taken(
    kind: Type,
    text: str,
    value: float,
) -> None:
    assert kind(text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *((whole(1), text) for text in ("0", "-1", "1.5", "", "\u0663")),
        *((whole(1, 1024), text) for text in ("0", "1025", "1000000000000")),
        *((seconds, text) for text in ("-1", "nan", "inf", "1e300", "1.1e9", "soon")),
        (positive_seconds, "0"),
    ],
)
def test_a_number_out_of_range_is_wrong_usage(kind: Type, text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        kind(text)


@pytest.mark.parametrize(
    ("kind", "text", "told"),
    [
        (seconds, "30s", "; 30s is 30"),
        (seconds, "0,5", "; 0,5 is 0.5"),
        (seconds, "5 min", "; 5 min is 300"),
        (seconds, "200ms", "; 200ms is 0.2"),
        (seconds, "2 weeks", "from 0 to 1000000000"),
        (positive_seconds, "1h", "; 1h is 3600"),
        (whole(1, 1000), "1,000", "; write 1000"),
        (whole(1), "1-10", "is not a whole number from 1"),
    ],
)
def test_a_number_written_otherwise_is_told_as_a_number(
    kind: Type, text: str, told: str
) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=rf"{told}$"):
        kind(text)


def test_a_folder_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is a folder; name a file"):
        file_path(str(tmp_path))
    assert file_path(str(tmp_path / "new")) == tmp_path / "new"
