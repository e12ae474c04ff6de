"""The help of an option that takes a number shows its limits, and nothing where there are none."""

from __future__ import annotations

import click
import pytest

from lpirc_score.cli.number_type import Number


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (Number(), ""),
        (Number(max=1), "[x<=1]"),
        (Number(min=0, min_open=True), "[x>0]"),
        (Number(min=0, max=1), "[0<=x<=1]"),
    ],
)
def test_limits_are_shown_where_there_are_some(number: Number, shown: str) -> None:
    option = click.Option(["--target"], type=number, help="The target.")
    record = option.get_help_record(click.Context(click.Command("fit")))
    assert record is not None
    assert record[1] == f"The target.  {shown}".rstrip()
