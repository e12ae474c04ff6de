"""The page of a series of attempts: their mean with its uncertainty, and how they differ."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Final

from lpirc_power.page.attempt_chart import Dots, attempt_chart
from lpirc_power.page.document import document
from lpirc_power.page.parts import (
    Table,
    facts,
    legend,
    paragraph,
    plus_minus,
    section,
    with_half_width,
)
from lpirc_power.page.recording_charts import trace_from_start
from lpirc_power.page.recording_page import footer
from lpirc_power.page.recording_parts import (
    budget_section,
    failed_checks,
    origin,
    warnings_of,
)
from lpirc_power.page.time_chart import TimeChart
from lpirc_power.report.budget_words import interval_words
from lpirc_power.report.reading_facts import figure
from lpirc_power.report.rounded import half_words, percent_words
from lpirc_power.report.series_marks import series_marks
from lpirc_power.report.series_report import Series, above_idle_words

MOST_DRAWN: Final = 30
"""Attempts whose power is drawn; the table has all."""


def series_page(series: Series) -> str:
    """Return the page as HTML."""
    counted = series.recordings
    body = [_figures(series), _left_out(series)]
    if counted:
        body += [
            section("Energy of each attempt", _dots(series), _table(series)),
            _power(series),
            _marks(series),
            failed_checks(series.by_name),
            budget_section(series.budget, "Uncertainty budget of the mean"),
            origin(counted[0], "How the attempts were measured"),
        ]
    return document(Path(series.file).name, _verdict(series), "".join(body), footer())


def _dots(series: Series) -> str:
    if not math.isfinite(series.mean_wh):
        return ""
    told = "Dots are the attempts in their order, the line is their mean; the axis does not begin at 0."
    dots = Dots("", series.energies_wh, series.mean_wh, [*series.by_name])
    return attempt_chart([dots]) + paragraph(told, "quiet")


def _verdict(series: Series) -> str:
    counted = series.recordings
    stopped = series.record.stopped
    stopped = f"{stopped[:1].upper()}{stopped[1:]}" or series.shortfall
    if not counted:
        return paragraph(f"No attempt counts. {stopped}".strip(), "verdict bad")
    budget = series.budget
    half_wh = None if budget is None else budget.coverage_wh
    energy = with_half_width(series.mean_wh, half_wh, "Wh")
    attempts = "1 attempt" if len(counted) == 1 else f"{len(counted)} attempts"
    text = f"{energy}, the mean of {attempts}. {stopped}".strip()
    if series.left_out:
        names = ", ".join(one.name for one in series.left_out)
        text = f"{text} Left out: {names}; why is below."
    if len(counted) == 1:
        more = "A single attempt does not show how much attempts differ."
        return paragraph(f"{text} {more}", "verdict warn")
    warned = warnings_of(counted)
    more = f" Warnings: {', '.join(warned)}." if warned else ""
    is_doubtful = bool(stopped or warned or series.left_out or series.warnings)
    told = "".join(paragraph(one, "verdict warn") for one in series.warnings)
    kind = "verdict warn" if is_doubtful else "verdict"
    return paragraph(f"{text}{more}", kind) + told


def _figures(series: Series) -> str:
    counted = series.recordings
    if not counted:
        return ""
    deviation = series.deviation_wh
    large = [
        ("mean energy", figure(series.mean_wh, "Wh")),
        ("attempts", f"{len(counted)} of {series.record.wanted}"),
        ("standard deviation", "" if deviation is None else figure(deviation, "Wh", 3)),
        ("interval by Student's t", _of_spread(series)),
    ]  # fmt: skip
    pause_s = series.record.cool_down_s
    small = [
        ("uncertainty with the meter's errors", _interval(series)),
        ("above idle", plus_minus(above_idle_words(series))),
        ("not counted, to warm up", f"{len(series.warm_up)} attempts" if series.warm_up else ""),
        ("pause between attempts", f"{pause_s:g} s" if pause_s else ""),
    ]  # fmt: skip
    return facts(large, "figures") + facts(small)


def _left_out(series: Series) -> str:
    """Return the attempts that failed and do not count, with why; nothing without any."""
    rows = [(one.name, one.why) for one in series.left_out]
    if not rows:
        return ""
    table = Table("Attempts that do not count", ("attempt",), (), rows, ("why",))
    return section("Left out", table.html())


def _of_spread(series: Series) -> str:
    """Return half of the interval of the mean by the spread alone; empty for one attempt."""
    half_wh = series.half_wh
    if half_wh is None:
        return ""
    return plus_minus(percent_words(series.relative_half) or half_words(half_wh, "Wh"))


def _interval(series: Series) -> str:
    budget = series.budget
    if budget is None or not budget.is_known:
        return ""
    return plus_minus(interval_words(budget))


def _table(series: Series) -> str:
    rows = []
    for name, one in series.by_name.items():
        off = one.energy_wh / series.mean_wh - 1 if series.mean_wh else math.nan
        # What binary fractions leave is no difference.
        percent = round(100 * off, 6) + 0.0
        from_mean = f"{percent:+.3g} %" if math.isfinite(off) else "no data"
        rows.append(
            (
                name.split()[-1],
                Path(one.file).name,
                figure(one.energy_wh, "Wh"),
                from_mean,
                figure(one.power_w, "W", 5),
                f"{one.measured.energy_s:.3f} s",
                ", ".join(one.failed) or "none",
            )
        )
    return Table(
        "Attempts",
        ("no.", "file"),
        ("energy", "from the mean", "mean power", "duration"),
        rows,
        ("failed checks",),
    ).html()


def _power(series: Series) -> str:
    drawn = dict(itertools.islice(series.by_name.items(), MOST_DRAWN))
    traces = [trace_from_start(one, name) for name, one in drawn.items()]
    longest_s = max(one.measured.elapsed_s for one in drawn.values())
    label = f"Power over time of {len(drawn)} attempts, each from its start."
    chart = TimeChart(label, "W", traces, 0.0, longest_s)
    names = [trace.name for trace in traces]
    left = len(series.recordings) - len(drawn)
    more = f" {left} more attempts are not drawn." if left else ""
    told = paragraph(f"Each attempt counts from its own start.{more}", "quiet")
    return section("Power over time", chart.svg(), legend(names), told)


def _marks(series: Series) -> str:
    """Return the energies by mark over the attempts; nothing without marks."""
    rows = []
    for one in series_marks(series):
        deviation = one.deviation_wh
        net = one.above_idle
        rows.append(
            (
                one.name,
                f"{len(one.energies_wh)}",
                with_half_width(one.mean_wh, one.budget.coverage_wh, "Wh"),
                "" if deviation is None else figure(deviation, "Wh", 3),
                "" if one.each_wh is None else figure(one.each_wh, "Wh"),
                "" if net is None else with_half_width(net.energy_wh, net.coverage_wh, "Wh"),
            )
        )  # fmt: skip
    if not rows:
        return ""
    columns = ("attempts", "mean energy", "standard deviation", "each", "above idle")
    return section("Marks", Table("Marks", ("mark",), columns, rows).html())
