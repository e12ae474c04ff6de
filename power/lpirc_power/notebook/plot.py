"""A plot that a notebook shows and that can be saved: an SVG drawn by `lpirc_power.page`, as in a report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lpirc_power.errors import MeterError
from lpirc_power.page.document import style_sheet
from lpirc_power.page.time_chart import TimeChart

WIDTH: Final = 860
"""Width in pixels; a notebook's cell is about as wide."""
_PAPER: Final = ".chart { background: #fff; }"
"""A plot is a picture of its own: it cannot know whether the page around it is dark."""


@dataclass(frozen=True, repr=False)
class Plot:
    """A chart over time. A notebook shows it; `svg` is its text, `save` writes it to a file."""

    chart: TimeChart

    @property
    def svg(self) -> str:
        """The plot as one SVG element, which needs nothing else."""
        return self.chart.svg(width=str(WIDTH), style=style_sheet("chart.css") + _PAPER)

    def save(self, path: str | Path) -> Path:
        """Write the plot to a file whose name ends in .svg, and return its path.

        Raises MeterError `plot-file` for another ending, or if the file cannot be written.
        """
        path = Path(path)
        if path.suffix.lower() != ".svg":
            raise MeterError(
                "plot-file",
                f"{path} must end in .svg: a plot is saved as SVG, which browsers and typesetters read.",
            )
        try:
            path.write_text(self.svg, encoding="utf-8")
        except OSError as error:
            raise MeterError(
                "plot-file", f"{path} cannot be written: {error.strerror or error}."
            ) from error
        return path

    def __repr__(self) -> str:
        return f"<plot: {self.chart.label}>"

    def _repr_svg_(self) -> str:
        return self.svg
