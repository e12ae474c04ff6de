"""What a notebook shows of a recording: its figures, the checks that fail, and the plot, in the notebook's colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from lpirc_power.notebook.marked_energy import (
    MarkEnergy,
    above_idle_words,
    energy_words,
)
from lpirc_power.page.document import style_sheet
from lpirc_power.page.parts import Table, check_list, paragraph, plus_minus
from lpirc_power.page.recording_charts import charts_of
from lpirc_power.report.advice import advice
from lpirc_power.report.reading_facts import figure
from lpirc_power.report.recording_report import Recorded
from lpirc_power.report.recording_words import figure_rows

_COLOURS: Final = {
    "text": "--jp-content-font-color1, var(--vscode-editor-foreground, #1c2128)",
    "quiet": "--jp-content-font-color2, var(--vscode-descriptionForeground, #57606a)",
    "paper": "--jp-layout-color0, var(--vscode-editor-background, #fff)",
    "line": "--jp-border-color2, var(--vscode-panel-border, #d0d7de)",
    "mark": "--jp-info-color1, #0a5fb4",
    "bad": "--jp-error-color1, #b3261e",
    "t0": "--jp-brand-color1, #0a5fb4",
}
"""Colours of JupyterLab and of VS Code, which follow their theme."""
_STYLE: Final = (
    ".lpirc table { margin: .5em 0; border-collapse: collapse; }"
    ".lpirc th, .lpirc td { text-align: left !important; vertical-align: top; padding: .2em 1.5em .2em 0; }"
    ".lpirc pre { white-space: pre-wrap; }"
    ".lpirc th { white-space: nowrap; }"
    ".lpirc .figure { text-align: right !important; }"
    ".lpirc ul { list-style: none; margin: .5em 0; padding: 0; }"
    ".lpirc .bad { color: var(--bad); }"
)
"""Every rule of a cell begins with its class, since the notebook's page is not ours; its own align tables right."""
MOST_NUMBERS: Final = 5
"""Numbers of bands that are listed for one name."""


def recording_cell(
    found: Recorded,
    marks: Mapping[str, MarkEnergy],
    problem: str | None,
) -> str:
    """Return a recording as HTML for a notebook, with the energies of its marks and what must go with its energy."""
    parts = [
        paragraph(problem or "", "bad"),
        _figures(figure_rows(found)),
        _checks(found),
        paragraph(advice(found) or ""),
        *(paragraph(note) for note in found.doubts),
    ]
    if found.readings:
        charts = charts_of(found)
        parts += [charts.power.svg(), *(paragraph(one) for one in charts.sentences)]
    parts.append(_marks(found, marks))
    return _cell("".join(parts))


def _checks(found: Recorded) -> str:
    """Return the checks that fail and those that the file does not answer; that all hold only if they do."""
    failed = [one for one in found.checks if not one.ok]
    left = ", ".join(found.unchecked)
    if left:
        left = f"Not checked, since the file does not say what they need: {left}."
    elif not failed:
        left = "All checks hold."
    return (check_list(failed) if failed else "") + paragraph(left)


def facts_cell(named: Mapping[str, str]) -> str:
    """Return named texts as a table for a notebook."""
    return _cell(_figures(named))


def text_cell(lines: Sequence[str]) -> str:
    """Return lines of text for a notebook, as a terminal shows them."""
    text = escape("\n".join(lines))
    return _cell(f"<pre>{text}</pre>")


def _cell(content: str) -> str:
    colours = "".join(f"--{name}: var({value});" for name, value in _COLOURS.items())
    style = f".lpirc {{ {colours} }}{_STYLE}{style_sheet('chart.css')}"
    return f'<div class="lpirc"><style>{style}</style>{content}</div>'


def _figures(named: Mapping[str, str]) -> str:
    """Return figures as a table: a notebook's page has rules of its own for lists of terms."""
    rows = [
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(plus_minus(text))}</td></tr>'
        for name, text in named.items()
    ]
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


def _marks(found: Recorded, marks: Mapping[str, MarkEnergy]) -> str:
    """Return the energies of the marks, with the numbers of their bands in the chart; nothing without marks."""
    numbers: dict[str, list[str]] = {}
    for number, one in enumerate(found.marks, start=1):
        numbers.setdefault(one.name, []).append(str(number))
    rows = [
        (one.name, _listed(numbers[one.name]), *_words(one)) for one in marks.values()
    ]
    if not rows:
        return ""
    figures = ("energy", "mean power", "duration", "above idle")
    return Table("marks", ("mark", "bands"), figures, rows).html()


def _words(one: MarkEnergy) -> tuple[str, ...]:
    if not one.count:
        return ("", "", "", "")
    return (
        plus_minus(energy_words(one)),
        figure(one.mean_power_w, "W", 5),
        f"{one.duration_s:.3f} s",
        plus_minus(above_idle_words(one)),
    )


def _listed(numbers: list[str]) -> str:
    more = ", ..." if len(numbers) > MOST_NUMBERS else ""
    return ", ".join(numbers[:MOST_NUMBERS]) + more
