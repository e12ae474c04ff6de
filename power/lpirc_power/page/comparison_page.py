"""The page of a comparison: which of two measurements takes more, what that rests on, and what speaks against it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from lpirc_power.comparison.attempts import Attempt, Side
from lpirc_power.comparison.comparison_report import (
    Comparison,
    method,
    ratio_words,
    sentence,
)
from lpirc_power.page.attempt_chart import Dots, attempt_chart
from lpirc_power.page.document import document
from lpirc_power.page.parts import (
    Table,
    facts,
    legend,
    paragraph,
    section,
    warning_list,
    with_half_width,
)
from lpirc_power.page.recording_charts import trace_from_start
from lpirc_power.page.recording_page import footer
from lpirc_power.page.recording_parts import (
    budget_section,
    failed_checks,
    failed_codes,
    origin,
)
from lpirc_power.page.time_chart import TimeChart
from lpirc_power.report.reading_facts import figure
from lpirc_power.report.recording_report import Recorded


def comparison_page(found: Comparison) -> str:
    """Return the page as HTML."""
    sides = (found.first, found.second)
    body = [
        _figures(found),
        section("What speaks against it", warning_list(found.warnings)),
        _attempts(sides),
        _power(sides),
        failed_checks(dict(_named(sides))),
        *(_budget(one) for one in sides),
        *(origin(one.recordings[0], f"How {one.name} was measured") for one in sides),
    ]
    title = f"{found.first.name} and {found.second.name}"
    return document(title, _verdict(found), "".join(body), footer("meter compare"))


def _verdict(found: Comparison) -> str:
    """Return the sentence; it is green if a difference is shown, or none is, and nothing speaks against that."""
    is_open = found.difference.is_shown is None or found.difference.unknown
    is_doubtful = bool(is_open or found.warnings)
    return paragraph(sentence(found), "verdict warn" if is_doubtful else "verdict")


def _figures(found: Comparison) -> str:
    difference = found.difference
    half_wh = difference.half_wh if difference.is_known else None
    large = [
        *((one.name, _mean(one)) for one in (found.first, found.second)),
        ("difference", with_half_width(difference.value_wh, half_wh, "Wh")),
        ("ratio", ratio_words(found)),
    ]
    small = [
        ("compared energies", found.energies.words or "those of the whole recordings"),
        ("interval of the difference", method(found)),
    ]
    told = paragraph(_coverage(found), "quiet")
    return facts(large, "figures") + facts(small) + told


def _coverage(found: Comparison) -> str:
    """Return which intervals have the stated coverage: not that of a difference of which something is unknown."""
    difference = found.difference
    budgets = [one.budget for one in (found.first, found.second)]
    if not all(one is not None and one.is_known for one in budgets):
        return ""
    is_whole = difference.spread_wh is not None and not difference.unknown
    too = ", and so does the difference" if is_whole else ""
    return f"Each mean energy stands with its own interval of 95.45 %{too}."


def _mean(side: Side) -> str:
    half_wh = None if side.budget is None else side.budget.coverage_wh
    return with_half_width(side.mean_wh, half_wh, "Wh")


def _attempts(sides: Sequence[Side]) -> str:
    """Return the section of the attempts of both sides: dots beside each other, and a table."""
    dots = [_dots(one) for one in sides]
    told = "Dots are the attempts in their order, a line is the mean of a side; the axis does not begin at 0."
    rows = [
        _row(f"{side.name} {number}", one)
        for side in sides
        for number, one in enumerate(side.attempts, start=1)
    ]
    table = Table(
        "Attempts",
        ("attempt", "file"),
        ("energy", "mean power", "duration"),
        rows,
        ("failed checks",),
    )
    names = legend([one.name for one in sides])
    drawn = attempt_chart(dots) + names + paragraph(told, "quiet")
    return section("Energy of each attempt", drawn, table.html())


def _dots(side: Side) -> Dots:
    count = len(side.attempts)
    names = [f"{side.name} {number}" for number in range(1, count + 1)]
    return Dots(side.name, side.energies_wh, side.mean_wh, names)


def _row(name: str, one: Attempt) -> tuple[str, ...]:
    return (
        name,
        Path(one.recorded.file).name,
        figure(one.energy_wh, "Wh"),
        figure(one.power_w, "W", 5),
        f"{one.lasted_s:.3f} s",
        failed_codes(one.recorded),
    )


def _power(sides: Sequence[Side]) -> str:
    """Return the power over time of the first attempt of each side."""
    firsts = [one.recordings[0] for one in sides]
    names = [one.name for one in sides]
    traces = [
        trace_from_start(one, name) for one, name in zip(firsts, names, strict=True)
    ]
    longest_s = max(one.measured.elapsed_s for one in firsts)
    label = f"Power over time of {names[0]} and {names[1]}, each from its start."
    chart = TimeChart(label, "W", traces, 0.0, longest_s)
    told = "The first attempt of each side, whole, from its own start."
    drawn = chart.svg() + legend(names)
    return section("Power over time", drawn, paragraph(told, "quiet"))


def _named(sides: Sequence[Side]) -> Iterator[tuple[str, Recorded]]:
    for side in sides:
        for number, one in enumerate(side.recordings, start=1):
            yield f"{side.name} {number}", one


def _budget(side: Side) -> str:
    """Return the budget of the mean energy of a side."""
    return budget_section(side.budget, f"Uncertainty budget of {side.name} alone")
