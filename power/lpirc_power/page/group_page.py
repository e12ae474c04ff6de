"""The page of several meters that recorded one run: all on one time axis, and what is lost between them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lpirc_power.page.document import document
from lpirc_power.page.mark_table import marks_section
from lpirc_power.page.parts import (
    Table,
    legend,
    paragraph,
    plus_minus,
    section,
)
from lpirc_power.page.recording_charts import (
    columns_of,
    ends_of,
    mark_spans,
    power_trace,
)
from lpirc_power.page.recording_page import footer
from lpirc_power.page.recording_parts import (
    budget_section,
    energy_words,
    failed_checks,
    notes_of,
    origin,
    warnings_of,
)
from lpirc_power.page.time_chart import TimeChart
from lpirc_power.report.group_report import Group, loss_words
from lpirc_power.report.reading_facts import figure
from lpirc_power.report.recording_report import Recorded
from lpirc_power.report.recording_words import figure_rows, meter_words


def group_page(group: Group, title: str = "") -> str:
    """Return the page as HTML, below a title or the file's name."""
    recordings = group.recordings
    lead = _verdict(group) + notes_of(recordings)
    body = [_table(group)]
    if recordings:
        first = next(iter(recordings.values()))
        body += [
            _losses(group),
            _power(group, first),
            *(marks_section(one, f"Marks, {name}") for name, one in recordings.items()),
            failed_checks(recordings),
            *_budgets(group),
            *(origin(one, f"How {name} measured") for name, one in recordings.items()),
        ]
    return document(title or Path(group.file).name, lead, "".join(body), footer())


def _verdict(group: Group) -> str:
    sentences = [
        f"{one.name}: {one.failed}" for one in group.record.members if one.failed
    ]
    for name, one in group.recordings.items():
        if one.no_energy:
            sentences.append(f"{name}: {one.no_energy}")
        elif one.failed:
            sentences.append(f"{name} needs review: {', '.join(one.failed)}.")
    if sentences:
        return paragraph(" ".join(sentences), "verdict bad")
    count = len(group.recordings)
    warned = warnings_of(group.recordings.values())
    more = f" Warnings: {', '.join(warned)}." if warned else ""
    text = f"{count} meters recorded one run on one clock.{more}"
    return paragraph(text, "verdict warn" if warned else "verdict")


def _table(group: Group) -> str:
    starts_s = group.start_offsets_s
    ends_s = group.end_offsets_s
    rows = [
        (
            name,
            meter_words(one),
            energy_words(one),
            figure(one.power_w, "W", 5),
            plus_minus(figure_rows(one).get("above idle", "")),
            f"{1e3 * starts_s[name]:+.1f} ms",
            f"{1e3 * ends_s[name]:+.1f} ms",
        )
        for name, one in group.recordings.items()
    ]
    table = Table(
        "Meters",
        ("name", "meter"),
        ("energy", "mean power", "above idle", "began", "ended"),
        rows,
    )
    told = "Began and ended are those of each window, after that of the first meter."
    return section("Meters", table.html(), paragraph(told, "quiet"))


def _losses(group: Group) -> str:
    lines = [
        f"{name}: {words}"
        for loss in group.losses
        for name, words in loss_words(loss).items()
    ]
    shown = "".join(paragraph(f"{plus_minus(one)}.") for one in lines)
    return section("Between the meters", shown)


def _power(group: Group, first: Recorded) -> str:
    traces = [
        power_trace(one, columns_of(one.readings), name)
        for name, one in group.recordings.items()
    ]
    ends = [ends_of(one) for one in group.recordings.values()]
    begin_s = min(one[0] for one in ends)
    end_s = max(one[1] for one in ends)
    names = [trace.name for trace in traces]
    label = f"Power over time of {', '.join(names)}, on one clock."
    chart = TimeChart(label, "W", traces, begin_s, end_s, mark_spans(first))
    return section("Power over time", chart.svg(), legend(names))


def _budgets(group: Group) -> Sequence[str]:
    found = [
        budget_section(one.budget, f"Uncertainty budget of {name}")
        for name, one in group.recordings.items()
    ]
    found += [
        budget_section(loss.budget, f"Uncertainty budget of the loss to {loss.load}")
        for loss in group.losses
    ]
    return found
