"""Tables and parts of a page, as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from lpirc_score.files.plots import printable


class Table(NamedTuple):
    """Rows of texts: first the cells below `names`, then those below `figures`, which are aligned right."""

    names: Sequence[str]
    figures: Sequence[str]
    rows: Sequence[Sequence[str]]


def table_element(table: Table, label: str) -> str:
    """Return a table that can be scrolled sideways, also by keyboard."""
    texts = len(table.names)
    head = "".join(
        _cell("th", name, place >= texts, ' scope="col"')
        for place, name in enumerate((*table.names, *table.figures))
    )
    rows = []
    for row in table.rows:
        first, *others = row
        cells = [_cell("th", first, is_figure=False, more=' scope="row"')]
        for place, text in enumerate(others, start=1):
            cells.append(_cell("td", text, place >= texts))
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def folded(summary: str, table: Table) -> str:
    """Return a table that is shown when asked for."""
    inner = table_element(table, summary)
    return f"<details><summary>{escape(summary)}</summary>{inner}</details>"


def part(
    title: str,
    sentence: str,
    *content: str,
    is_wide: bool = False,
) -> str:
    """Return a part of the page: its title, what it says, and its content in HTML."""
    kind = "part wide" if is_wide else "part"
    return (
        f'<section class="{kind}"><h3>{escape(title)}</h3>'
        f'<p class="quiet">{escape(printable(sentence))}</p>{"".join(content)}</section>'
    )


def scrolled(drawing: str, label: str) -> str:
    """Return a drawing that may be wider than the screen."""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">'
        f"{drawing}</div>"
    )


def figure(value: float | None, digits: int = 5, sign: str = "") -> str:
    """Write a figure, or "none" where there is none; the sign "+" is written before a gain."""
    return "none" if value is None else f"{value:{sign}.{digits}f}"


def _cell(
    tag: str,
    text: str,
    is_figure: bool,
    more: str = "",
) -> str:
    kind = ' class="figure"' if is_figure else ""
    return f"<{tag}{kind}{more}>{escape(printable(text))}</{tag}>"
