"""The table of an uncertainty budget as text for people, and as CSV for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Final

from lpirc_power.energy.budget import Budget, Term
from lpirc_power.report.budget_words import (
    HEADINGS,
    budget_rows,
    budget_summary,
    wh,
)
from lpirc_power.report.group_report import Group
from lpirc_power.report.reading_facts import figure, lines
from lpirc_power.report.recording_report import Recorded
from lpirc_power.report.series_report import Series

COLUMNS: Final = (
    "recording", "code", "term", "half_width", "unit", "distribution", "freedom", "sensitivity_wh_per_unit",
    "standard_wh", "share", "source",
)  # fmt: skip
COMBINED: Final = "combined"


def budgets_of(found: Recorded | Series | Group) -> dict[str, Budget]:
    """Return the budgets of a measurement by file or meter, and that of a series' mean as "mean"."""
    named: dict[str, Budget | None] = {}
    if isinstance(found, Recorded):
        named[found.file] = found.budget
    elif isinstance(found, Series):
        named = {one.file: one.budget for one in found.recordings}
        named["mean"] = found.budget
    else:
        named = {name: one.budget for name, one in found.recordings.items()}
    return {name: one for name, one in named.items() if one is not None}


def budget_text(budgets: Mapping[str, Budget]) -> str:
    """Return the tables as text, each below its name, energy and stated interval."""
    blocks = []
    for name, budget in budgets.items():
        head = {
            "budget": name,
            "energy": figure(budget.energy_wh, "Wh"),
            **budget_summary(budget),
        }
        head.pop("terms", None)
        blocks.append("\n".join([*lines(head), "", *_table(budget)]))
    return "\n\n".join(blocks)


def _table(budget: Budget) -> list[str]:
    rows: list[Sequence[str]] = [HEADINGS]
    for one in budget_rows(budget):
        limit = one.limit.replace("\N{PLUS-MINUS SIGN}", "+-")
        rows.append(
            (
                one.name,
                limit,
                one.distribution,
                one.sensitivity,
                one.standard,
                one.share,
                one.source,
            )
        )
    if budget.combined_wh is not None:
        rows.append((COMBINED, "", "", "", wh(budget.combined_wh), "100.0%", ""))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def budget_csv(budgets: Mapping[str, Budget]) -> str:
    """Return the tables as one CSV text, with a row for each term and one for the combined standard uncertainty."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for name, budget in budgets.items():
        writer.writerows(_cells(name, budget, one) for one in budget.terms)
        combined = {"standard_wh": budget.combined_wh, "share": 1 if budget.is_known else None}  # fmt: skip
        named = {"recording": name, "code": COMBINED, "term": COMBINED, **combined}
        writer.writerow([named.get(column) for column in COLUMNS])
    return stream.getvalue().rstrip("\n")


def _cells(name: str, budget: Budget, term: Term) -> Sequence[object]:
    known = term.document()
    return (
        name,
        term.code,
        term.name,
        known["half_width"],
        term.unit,
        known["distribution"],
        term.freedom,
        known["sensitivity_wh"],
        term.standard_wh,
        budget.share(term),
        term.source,
    )
