"""The live page: power until now, energy, marks and the link. A script of a few lines asks for what is new."""

from __future__ import annotations

import math
from typing import Final

from lpirc_power.live.live_state import MOST_MARKS, LiveMeter, LiveView
from lpirc_power.page.document import document
from lpirc_power.page.parts import Table, facts, paragraph, section
from lpirc_power.page.time_chart import TimeChart
from lpirc_power.page.traces import Span
from lpirc_power.report.reading_facts import figure, flag_words

SCRIPT: Final = """
const box = document.querySelector("#renew");
const state = document.querySelector("#state");
async function renew() {
  if (!box.checked || document.hidden) return;
  try {
    const answer = await fetch("now", {signal: AbortSignal.timeout(5000)});
    if (!answer.ok) throw answer.status;
    document.querySelector("#now").innerHTML = await answer.text();
    state.textContent = "";
  } catch {
    state.textContent = "No answer: the program that records has ended, or is busy. What follows is old.";
  }
}
setInterval(renew, 1000);
"""
JOULES_PER_WH: Final = 3600.0


def live_page(view: LiveView) -> str:
    """Return the whole page."""
    lead = (
        '<p><label><input type="checkbox" id="renew" checked> Renew every second</label></p>'
        '<p id="state" role="status" class="bad"></p>'
    )
    body = f'<div id="now">{live_part(view)}</div>'
    metrics = '<p>For Prometheus: <a href="metrics">/metrics</a>.</p>'
    return document("Meter, live", lead, body, metrics, script=SCRIPT)


def live_part(view: LiveView) -> str:
    """Return the part of the page that changes."""
    if not view.meters:
        return paragraph("No meter is set up yet.", "verdict warn")
    shown = "".join(_meter(one, view) for one in reversed(view.meters))
    return shown + _marks(view)


def _meter(meter: LiveMeter, view: LiveView) -> str:
    reading = meter.reading
    parts = [_state(meter)]
    if reading is not None:
        energy_j = reading.energy_wh * JOULES_PER_WH
        rows = [
            ("power", figure(reading.power_w, "W", 5) if meter.is_current else ""),
            ("energy", figure(reading.energy_wh, "Wh")),
            ("in joules", figure(energy_j, "J")),
            (
                "integrated",
                f"{figure(reading.integrator_s, 's')}, {reading.state.value}",
            ),
            ("readings", f"{meter.readings}"),
        ]
        parts.append(facts(rows, "figures"))
        flags = flag_words(reading)
        parts.append(paragraph(f"The last reading: {flags}." if flags else ""))
    parts.append(_chart(meter, view))
    identity = "" if meter.identity is None else str(meter.identity)
    return section(f"{meter.name} {identity}".strip(), *parts)


def _state(meter: LiveMeter) -> str:
    if meter.lost:
        age = (
            ""
            if math.isinf(meter.age_s)
            else f" The last reading is {meter.age_s:.0f} s old."
        )
        return paragraph(f"{meter.lost}{age}", "verdict bad")
    if meter.is_stopped:
        return paragraph("The recording has ended; its energy is final.", "verdict")
    if meter.reading is None:
        return paragraph(
            "The meter is set up; there is no reading yet.", "verdict warn"
        )
    if not meter.is_current:
        text = f"No reading for {meter.age_s:.0f} s; the figures below are those of the last one."
        return paragraph(text, "verdict bad")
    if meter.begin_s is None:
        return paragraph("Watching; nothing is recorded.", "verdict")
    since_s = meter.now_s - meter.begin_s
    return paragraph(f"Recording for {since_s:.0f} s.", "verdict")


def _chart(meter: LiveMeter, view: LiveView) -> str:
    trace = meter.trace
    if trace is None or meter.reading is None or not len(trace.times_s):
        return ""
    begin_s = float(trace.times_s[0]) if meter.begin_s is None else meter.begin_s
    end_s = meter.reading.monotonic_s
    marks = [] if meter.begin_s is None else _spans(view, begin_s, end_s)
    least = float(trace.values.min())
    most = float(trace.values.max())
    label = (
        f"Power until now, between {figure(least, 'W', 4)} and {figure(most, 'W', 4)}."
    )
    return TimeChart(label, "W", [trace], begin_s, end_s, marks).svg()


def _spans(view: LiveView, begin_s: float, end_s: float) -> list[Span]:
    spans = []
    for one in view.marks:
        last_s = end_s if one.end_s is None else one.end_s
        if last_s >= begin_s and one.begin_s <= end_s:
            spans.append(Span(one.name, max(one.begin_s, begin_s), min(last_s, end_s)))
    return spans


def _marks(view: LiveView) -> str:
    """Return the table of marks by name: how often, how long, and whether one is open now."""
    names: dict[str, list[float]] = {}
    is_open = set()
    now_s = max(one.now_s for one in view.meters)
    for one in view.marks:
        last_s = now_s if one.end_s is None else one.end_s
        names.setdefault(one.name, []).append(last_s - one.begin_s)
        if one.end_s is None:
            is_open.add(one.name)
    rows = []
    for number, (name, lengths) in enumerate(names.items(), start=1):
        in_all = f"{math.fsum(lengths):.3g} s"
        is_now = "now" if name in is_open else ""
        rows.append((f"{number}", name, f"{len(lengths)}", in_all, is_now))
    if not rows:
        return ""
    table = Table("Marks", ("no.", "mark"), ("times", "in all", "open"), rows)
    told = f"{view.marks_lost} marks were lost." if view.marks_lost else ""
    if len(view.marks) == MOST_MARKS:
        told = f"These are the last {MOST_MARKS} marks. {told}".strip()
    return section("Marks", table.html(), paragraph(told))
