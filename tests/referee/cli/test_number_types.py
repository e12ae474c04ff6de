"""The help of an option that takes a whole number shows its limits, and nothing where there are none."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from referee.cli.main import main
from referee.cli.number_types import WholeNumber


@pytest.mark.parametrize(
    ("number", "shown"),
    [(WholeNumber(), ""), (WholeNumber(1), "x>=1"), (WholeNumber(1, 9), "1<=x<=9")],
)
def test_limits_are_shown_where_there_are_some(number: WholeNumber, shown: str) -> None:
    option = click.Option(["--count"], type=number)
    extra = option.get_help_extra(click.Context(click.Command("fit")))
    assert extra.get("range", "") == shown


@pytest.mark.parametrize("words", ["practice", "rehearse", "testset synthesize"])
def test_no_help_speaks_of_none(words: str) -> None:
    told = CliRunner().invoke(main, [*words.split(), "--help"])
    assert told.exit_code == 0
    assert "None" not in told.stdout
