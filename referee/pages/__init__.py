"""The shared parts of all pages: the stylesheet, the vendored pieces, the frame, and how a figure is written.

Used by the board, the console and a run's report. Knows nothing of runs or HTTP. `vendor.json` says where the pieces in
`static/vendor` come from; `make vendor` fetches them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from referee.pages.figure_text import FILTERS

if TYPE_CHECKING:
    from jinja2 import Environment

STATIC = Path(__file__).parent / "static"


def template_environment(*packages: str) -> Environment:
    """Templates of this room and those of other packages (their folder `templates`), with every name escaped."""
    # The command line writes figures in the same way, and need not wait for Jinja.
    from jinja2 import (
        ChoiceLoader,
        Environment,
        PackageLoader,
        StrictUndefined,
        select_autoescape,
    )

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
    environment.filters |= FILTERS
    return environment


def page_style() -> str:
    """The stylesheet of a page that stands alone."""
    return (STATIC / "style.css").read_text(encoding="utf-8")


def table_page(
    title: str,
    about: str,
    columns: Sequence[tuple[str, bool]],
    rows: Sequence[Sequence[str]],
    notes: Sequence[str],
    made_utc: datetime,
    more: Sequence[Sequence[str]] = (),
) -> str:
    """One table as a page for a web site: it loads nothing, and every name in it is escaped.

    `columns` are (name, whether it has figures); below the table stand the `notes`, then `more` rows.
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
        made=f"{made_utc:%Y-%m-%d %H:%M} UTC",
    )
