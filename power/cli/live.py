"""The live table of `meter watch` on a terminal."""

from __future__ import annotations

import contextlib
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from power.meter import Reading
from power.report.readings import figure, flag_words

SPAN_S: Final = 60.0
WIDTH: Final = 60
MOST_POINTS: Final = 1200
BARS: Final = "▁▂▃▄▅▆▇█"


@contextlib.contextmanager
def live_table(title: str) -> Iterator[Callable[[Reading], None]]:
    """Give a function that shows a reading in place of the last one."""
    points: deque[tuple[float, float]] = deque(maxlen=MOST_POINTS)
    # Drawn when a reading comes, not by a thread of its own.
    with Live(Text("waiting for the meter"), console=Console(), auto_refresh=False) as live:

        def show(reading: Reading) -> None:
            points.append((reading.monotonic_s, reading.power_w))
            live.update(_drawn(title, reading, points), refresh=True)

        yield show


def _drawn(title: str, reading: Reading, points: deque[tuple[float, float]]) -> Group:
    table = Table(title=title, title_justify="left", show_header=False, title_style="bold")
    table.add_column()
    table.add_column(justify="right", min_width=18)
    for name, value in (
        ("power", Text(figure(reading.power_w, "W", 5), style="bold")),
        ("voltage", figure(reading.voltage_v, "V", 5)),
        ("current", figure(reading.current_a, "A", 5)),
        ("apparent power", figure(reading.apparent_va, "VA", 5)),
        ("power factor", figure(reading.power_factor, digits=4)),
        ("energy", figure(reading.energy_wh, "Wh")),
        ("integrated for", figure(reading.integrator_s, "s")),
        ("integrator", reading.state.value),
        ("at", f"{reading.utc:%H:%M:%S} UTC"),
    ):
        table.add_row(name, value)
    flags = flag_words(reading)
    table.add_row("flags", Text(flags or "none", style="bold red" if flags else "dim"))
    return Group(table, *_history(reading, points))


def _history(reading: Reading, points: deque[tuple[float, float]]) -> tuple[Text, ...]:
    recent = [power_w for at_s, power_w in points if at_s > reading.monotonic_s - SPAN_S]
    finite = [power_w for power_w in recent if abs(power_w) < float("inf")]
    if not finite:
        return (Text("no power measured in the last minute", style="dim"),)
    width = max(10, min(WIDTH, Console().width))
    scale = f"power of the last minute: {min(finite):.5g} to {max(finite):.5g} W"
    return Text(sparkline(points, reading.monotonic_s, SPAN_S, width)), Text(scale, style="dim")


def sparkline(points: Iterable[tuple[float, float]], end_s: float, span_s: float, width: int) -> str:
    """Return `width` bars for the `span_s` seconds up to `end_s`, from points of (seconds, value).

    Each bar is the mean of its stretch of time, a blank where it has no finite value. The lowest bar stands for the
    least mean, the highest for the largest; if all are the same, the line is in the middle.
    """
    stretches: list[list[float]] = [[] for _ in range(width)]
    for at_s, value in points:
        place = math.floor((at_s - (end_s - span_s)) / span_s * width)
        if math.isfinite(value) and 0 <= place <= width:
            stretches[min(place, width - 1)].append(value)
    means = [math.fsum(values) / len(values) if values else math.nan for values in stretches]
    finite = [mean for mean in means if math.isfinite(mean)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    return "".join(_bar(mean, low, high) for mean in means)


def _bar(value: float, low: float, high: float) -> str:
    if math.isnan(value):
        return " "
    # Noise in the last digits is not a change of power.
    if high - low <= 1e-4 * abs(high):
        return BARS[len(BARS) // 2 - 1]
    return BARS[min(int((value - low) / (high - low) * len(BARS)), len(BARS) - 1)]
