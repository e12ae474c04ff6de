"""The page of a series of attempts: their mean with its uncertainty, and how they differ."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Final

from lpirc_power.page.attempt_chart import Dots, attempt_chart
from lpirc_power.page.document import document
from lpirc_power.page.mark_table import COVERED
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
    BUDGET,
    budget_section,
    failed_checks,
    failed_codes,
    notes_of,
    origin,
    to_publish,
    warnings_of,
)
from lpirc_power.page.time_chart import TimeChart
from lpirc_power.report.advice import advice
from lpirc_power.report.budget_words import interval_words, stated_words
from lpirc_power.report.publication import series_publication
from lpirc_power.report.reading_facts import figure
from lpirc_power.report.rounded import half_words, percent_words
from lpirc_power.report.series_marks import series_marks
from lpirc_power.report.series_report import Series, above_idle_words, attempts_words

MOST_DRAWN: Final = 30
"""Attempts whose power is drawn; the table has all."""


def series_page(series: Series, title: str = "") -> str:
    """Return the page as HTML, below a title or the file's name."""
    counted = series.recordings
    lead = _verdict(series) + _notes(series)
    body = [
        _figures(series),
        to_publish(series_publication(series)),
        _left_out(series),
    ]
    if counted:
        body += [
            section("Energy of each attempt", _dots(series), _table(series)),
            _power(series),
            _marks(series),
            failed_checks(series.by_name),
            budget_section(series.budget, _of_mean(series)),
            origin(counted[0], "How the attempts were measured"),
        ]
    return document(title or Path(series.file).name, lead, "".join(body), footer())


def _of_mean(series: Series) -> str:
    return BUDGET if len(series.recordings) == 1 else f"{BUDGET} of the mean"


def _dots(series: Series) -> str:
    if len(series.recordings) == 1 or not math.isfinite(series.mean_wh):
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
    energy = stated_words(series.mean_wh, series.budget)
    of = "of 1 attempt"
    if len(counted) > 1:
        of = f"the mean of {attempts_words(len(counted))}"
    text = f"{energy}, {of}. {stopped}".strip()
    if series.left_out:
        names = ", ".join(one.name for one in series.left_out)
        text = f"{text} Left out: {names}; why is below."
    if len(counted) == 1:
        text = f"{text} A single attempt does not show how much attempts differ."
    warned = warnings_of(counted)
    more = f" Warnings: {', '.join(warned)}." if warned else ""
    is_doubtful = bool(stopped or warned or series.left_out or series.warnings)
    is_doubtful = is_doubtful or len(counted) == 1
    told = "".join(paragraph(one, "verdict warn") for one in series.warnings)
    kind = "verdict warn" if is_doubtful else "verdict"
    return paragraph(f"{text}{more}", kind) + told


def _notes(series: Series) -> str:
    """Return the advice for attempts that are short, and what their files do not say."""
    advised = advice(series.recordings[-1]) if series.recordings else None
    return paragraph(advised or "", "quiet") + notes_of(series.by_name)


def _figures(series: Series) -> str:
    counted = series.recordings
    if not counted:
        return ""
    deviation = series.deviation_wh
    large = [
        ("energy" if len(counted) == 1 else "mean energy", figure(series.mean_wh, "Wh")),
        ("attempts", _count(series)),
        ("standard deviation", "" if deviation is None else figure(deviation, "Wh", 3)),
        ("interval by Student's t, 95.45 %", _of_spread(series)),
    ]  # fmt: skip
    pause_s = series.record.cool_down_s
    small = [
        ("uncertainty with the meter's errors", _interval(series)),
        ("above idle", plus_minus(above_idle_words(series))),
        ("not counted, to warm up", attempts_words(len(series.warm_up)) if series.warm_up else ""),
        ("pause between attempts", f"{pause_s:g} s" if pause_s else ""),
    ]  # fmt: skip
    return facts(large, "figures") + facts(small)


def _count(series: Series) -> str:
    """Return how many attempts count, and of how many; a series that ends when it is stable has a most."""
    count = len(series.recordings)
    wanted = series.record.wanted
    if series.record.stable is None:
        return f"{count} of {wanted}"
    return f"{count}, at most {wanted}"


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
        from_mean = ""
        if len(series.recordings) > 1:
            from_mean = _from_mean(one.energy_wh, series.mean_wh)
        rows.append(
            (
                name.split()[-1],
                Path(one.file).name,
                figure(one.energy_wh, "Wh"),
                from_mean,
                figure(one.power_w, "W", 5),
                f"{one.measured.energy_s:.3f} s",
                failed_codes(one),
            )
        )
    return Table(
        "Attempts",
        ("no.", "file"),
        ("energy", "from the mean", "mean power", "duration"),
        rows,
        ("failed checks",),
    ).html()


def _from_mean(energy_wh: float, mean_wh: float) -> str:
    """Return by how much an energy differs from the mean, in percent."""
    off = energy_wh / mean_wh - 1 if mean_wh else math.nan
    # What binary fractions leave is no difference.
    percent = round(100 * off, 6) + 0.0
    return f"{percent:+.3g} %" if math.isfinite(off) else "no data"


def _power(series: Series) -> str:
    drawn = dict(itertools.islice(series.by_name.items(), MOST_DRAWN))
    traces = [trace_from_start(one, name) for name, one in drawn.items()]
    longest_s = max(one.measured.elapsed_s for one in drawn.values())
    label = f"Power over time of {attempts_words(len(drawn))}, each from its start."
    chart = TimeChart(label, "W", traces, 0.0, longest_s)
    names = [trace.name for trace in traces]
    left = len(series.recordings) - len(drawn)
    more = (
        f" {left} more {'attempt is' if left == 1 else 'attempts are'} not drawn."
        if left
        else ""
    )
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
    table = Table("Marks", ("mark",), columns, rows)
    return section("Marks", paragraph(COVERED, "quiet"), table.html())
