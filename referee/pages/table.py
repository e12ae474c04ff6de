"""One table as a page of its own, for a web site: it loads nothing, and every name in it is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from referee.pages import STATIC, template_environment


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
    """The page; `columns` are (name, whether it has figures), below the table stand the `notes`, then `more` rows."""
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
