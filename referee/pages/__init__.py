"""The shared parts of all pages: the stylesheet, vendored libraries, the page frame, and the formats of figures.

Used by the board, the console and a run's report. Knows nothing of runs or HTTP. `vendor.json` lists the sources of the
files in `static/vendor`; `make vendor` fetches them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from lpirc_score.tasks.words import OF_BOXES, Words
from referee.pages.figure_text import FILTERS

if TYPE_CHECKING:
    from jinja2 import Environment

STATIC = Path(__file__).parent / "static"


def template_environment(*packages: str, words: Words = OF_BOXES) -> Environment:
    """Return a Jinja environment with the templates of this package and of `packages`, with autoescaping.

    Templates say `of_task.accuracy` where a contest of boxes says mAP; `words` are those of the contest's task.
    """
    # Imported here because the command line uses `figure_text` and need not wait for Jinja.
    from jinja2 import (
        ChoiceLoader,
        Environment,
        PackageLoader,
        StrictUndefined,
        select_autoescape,
    )

    from referee.pages.local_times import MARKUP_FILTERS

    loader = ChoiceLoader(
        [PackageLoader(package) for package in (*packages, "referee.pages")]
    )
    environment = Environment(
        loader=loader,
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= FILTERS | MARKUP_FILTERS
    environment.globals["of_task"] = words
    return environment


def page_style() -> str:
    """Return the stylesheet of a standalone page."""
    return (STATIC / "style.css").read_text(encoding="utf-8")


def table_page(
    title: str,
    about: str,
    columns: Sequence[tuple[str, bool]],
    rows: Sequence[Sequence[str]],
    notes: Sequence[str],
    made_utc: datetime,
    more: Sequence[Sequence[str]] = (),
    curves: str = "",
) -> str:
    """Return one table as a page for a web site: it loads nothing, and all names in it are escaped.

    `columns` are (name, True for figures). The `notes` follow below the table, then a foldable table of the rows
    `more`. `curves` is a picture above it (`score_curves`).
    """
    page = template_environment().get_template("table.html")
    return page.render(
        title=title,
        about=about,
        columns=columns,
        rows=rows,
        notes=notes,
        more=more,
        style=page_style(),
        made_utc=made_utc.isoformat(),
        curves=curves,
    )
