"""The table of series that docs/lab.md shows: small here, and whole for the kinds that are drawn quickly."""

from __future__ import annotations

import pytest

from bench.figures import as_markdown
from bench.series import DOCUMENT, SERIES, SITUATIONS, row_of

BY_NAME = {one.name: one for one in SITUATIONS}
FEW = 300


@pytest.mark.parametrize(
    ("name", "figure", "least", "most"),
    [
        ("independent, scatter 2 %", "hold, %", 89.0, 98.0),
        ("independent, scatter 2 %", "warned, %", 0.0, 6.0),
        ("1 of 10 takes 30 % more", "hold, %", 0.0, 3.0),
        ("1 of 10 takes 30 % more", "bias, %", -3.2, -2.6),
        ("each keeps 0.8 of the one before", "hold, %", 30.0, 56.0),
        ("warms up by 5 % over 5 attempts", "warned, %", 96.0, 100.0),
    ],
)
def test_few_series_show_what_the_page_says(
    name: str, figure: str, least: float, most: float
) -> None:
    assert least <= row_of(BY_NAME[name], FEW)[figure] <= most


@pytest.mark.parametrize(
    "name",
    ["independent, scatter 0.5 %", "warms up by 5 % over 15 attempts"],
)
def test_the_page_has_the_figures_that_are_drawn(name: str) -> None:
    line = as_markdown([row_of(BY_NAME[name], SERIES)]).splitlines()[-1]
    assert line in DOCUMENT.read_text().splitlines()
