"""Parts of a page as HTML: tables, lists of figures, checks. Every text is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from lpirc_power.energy import Check
from lpirc_power.report import rounded

_KINDS: Final = {"error": "bad", "warning": "warn"}


@dataclass(frozen=True)
class Table:
    """Rows of texts: the cells below `names`, those below `figures`, aligned right, and those below `notes`."""

    label: str
    names: Sequence[str]
    figures: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def html(self) -> str:
        """Return the table, which can be scrolled sideways, also by keyboard; columns without a text are left out."""
        columns = (*self.names, *self.figures, *self.notes)
        shown = [place for place in range(len(columns)) if self._has_text(place)]
        head = "".join(
            _cell("th", columns[place], self._is_figure(place), ' scope="col"')
            for place in shown
        )
        rows = "".join(self._row(row, shown) for row in self.rows)
        return (
            f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(self.label)}">'
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        )

    def _is_figure(self, place: int) -> bool:
        return 0 <= place - len(self.names) < len(self.figures)

    def _has_text(self, place: int) -> bool:
        return place == 0 or any(row[place] for row in self.rows)

    def _row(self, row: Sequence[str], shown: Sequence[int]) -> str:
        cells = [_cell("th", row[0], False, ' scope="row"')]
        cells += [
            _cell("td", row[place], self._is_figure(place)) for place in shown[1:]
        ]
        return f"<tr>{''.join(cells)}</tr>"


def plus_minus(words: str) -> str:
    """Return words with the sign for plus-minus, where a terminal has +-."""
    return words.replace("+-", "\N{PLUS-MINUS SIGN}")


def with_half_width(value: float, half_width: float | None, unit: str) -> str:
    """Return a value with the half-width of its interval, as everywhere, with the sign for plus-minus."""
    return plus_minus(rounded.with_half_width(value, half_width, unit))


def section(title: str, *content: str) -> str:
    """Return a section of the page: its title and its content in HTML; nothing without content."""
    inner = "".join(content)
    return f"<section><h2>{escape(title)}</h2>{inner}</section>\n" if inner else ""


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph; nothing for an empty text."""
    styled = f' class="{kind}"' if kind else ""
    return f"<p{styled}>{escape(plus_minus(text))}</p>" if text else ""


def facts(rows: Iterable[tuple[str, str]], kind: str = "") -> str:
    """Return named facts; those without a text are left out."""
    styled = f' class="{kind}"' if kind else ""
    inner = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>"
        for name, text in rows
        if text
    )
    return f"<dl{styled}>{inner}</dl>" if inner else ""


def check_list(checks: Iterable[Check]) -> str:
    """Return checks with their sentences: failed errors first, then failed warnings, then those that hold."""
    found = sorted(checks, key=_order)
    items = "".join(_check(one) for one in found)
    return f'<ul class="checks">{items}</ul>'


def warning_list(sentences: Iterable[str]) -> str:
    """Return warnings as a list; nothing without one."""
    items = "".join(
        f'<li class="warn">{escape(plus_minus(one))}</li>' for one in sentences
    )
    return f'<ul class="checks">{items}</ul>' if items else ""


def legend(names: Sequence[str]) -> str:
    """Return the names of several traces, each with its colour; nothing for a single one."""
    if len(names) < 2:
        return ""
    items = []
    for place, name in enumerate(names):
        line = f'<line class="trace t{place % 6}" x1="0" y1="6" x2="26" y2="6"/>'
        drawn = (
            f'<svg class="chart" aria-hidden="true" viewBox="0 0 26 12">{line}</svg>'
        )
        items.append(f"<li>{drawn}{escape(name)}</li>")
    return f'<ul class="legend">{"".join(items)}</ul>'


def _order(one: Check) -> tuple[bool, bool]:
    return (one.ok, one.severity != "error")


def _check(one: Check) -> str:
    kind = "good" if one.ok else _KINDS[one.severity]
    word = "holds" if one.ok else one.severity
    return (
        f'<li class="{kind}"><strong>{word}</strong> <code>{escape(one.code)}</code><br>'
        f"{escape(plus_minus(one.sentence))}</li>"
    )


def _cell(tag: str, text: str, is_figure: bool, more: str = "") -> str:
    kind = ' class="figure"' if is_figure else ""
    return f"<{tag}{kind}{more}>{escape(text)}</{tag}>"
