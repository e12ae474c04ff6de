"""One table as a page of its own, for a web site: it loads nothing, and every name in it is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import count

from referee.pages import STATIC, template_environment

STYLES = ("vendor/pico.min.css", "style.css")


def table_page(
    title: str,
    caption: str,
    columns: Sequence[tuple[str, bool]],
    rows: Sequence[tuple[Sequence[str], str]],
    made_utc: datetime,
) -> str:
    """The page; `columns` are (name, whether it has figures), `rows` the cells and a remark, which stands below."""
    style = "\n".join((STATIC / name).read_text(encoding="utf-8") for name in STYLES)
    remarks, number = [remark for _, remark in rows if remark], count(1)
    told = [[*cells, str(next(number)) if remark else ""] for cells, remark in rows]
    page = template_environment().get_template("table.html")
    return page.render(
        title=title,
        caption=caption,
        columns=[*columns, ("remark" if remarks else " ", True)],
        rows=told,
        remarks=remarks,
        style=style,
        made=f"{made_utc:%Y-%m-%d %H:%M} UTC",
    )
