"""Logs of programs that write no table: `perf stat -I -x` and tegrastats, as heads and rows. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lpirc_power.errors import MeterError
from lpirc_power.foreign.column_names import quoted

Lines = Sequence[tuple[int, str]]
Rows = list[tuple[int, Sequence[str]]]
_PERF: Final = re.compile(
    r"\s*(?:(?P<time>\d+[.,]\d+)(?P<sep>[,;|\t])(?:S\d+(?P=sep)\d+(?P=sep))?)?"
    r"(?P<joules>\d+(?:[.,]\d+)?|<not \w+>)[,;|\t]Joules[,;|\t]power/(?P<event>[\w-]+)/",
    re.ASCII,
)
_SOCKET: Final = re.compile(r"\s*\d+[.,]\d+[,;|\t](S\d+)[,;|\t]", re.ASCII)
_RAIL: Final = re.compile(r"\b([A-Z][A-Z0-9_]+) (\d+)(?:mW)?/\d+(?:mW)?(?=\s|$)")
_RAM: Final = re.compile(r"(?:(?P<date>\d\d-\d\d-\d{4} \d\d:\d\d:\d\d) )?RAM \d+/\d+MB")


@dataclass(frozen=True)
class ProgramLog:
    """The table that a log stands for, the lines that are no samples, and a sentence that says how it was read."""

    heads: Sequence[str]
    rows: Rows
    skipped: Sequence[int]
    note: str


def program_log(path: Path, filled: Lines) -> ProgramLog | None:
    """Return the table of a log; None if the file is no log of these programs.

    Raises MeterError `recording-columns` if it has no times, or several counters.
    """
    counted = [(line, _PERF.match(text)) for line, text in filled]
    of_perf = [(line, found) for line, found in counted if found]
    if of_perf:
        sockets = {one[1] for _, text in filled if (one := _SOCKET.match(text))}
        return _perf(path, filled, of_perf, sockets)
    of_tegra = [one for one in filled if _RAM.match(one[1].strip())]
    has_rail = any(_RAIL.search(text) for _, text in of_tegra)
    if has_rail:
        return _tegrastats(path, filled, of_tegra)
    return None


def _perf(
    path: Path,
    filled: Lines,
    found: Sequence[tuple[int, re.Match[str]]],
    sockets: set[str],
) -> ProgramLog:
    events = sorted({one["event"] for _, one in found})
    first = found[0]
    if len(events) > 1 or len(sockets) > 1:
        several = events if len(events) > 1 else sorted(sockets)
        raise MeterError(
            "recording-columns",
            f"{path} has several counters of perf stat, {quoted(several)}, and one may be a part of another: keep the "
            f"lines of one, as with grep {several[0]}.",
        )
    if any(one["time"] is None for _, one in found):
        raise MeterError(
            "recording-columns",
            f"{path}, line {first[0]}: perf stat counted {first[1]['joules']} J of a whole run, and no powers over "
            "time; perf stat -I 1000 -x, writes them each second.",
        )
    rows: Rows = []
    before_s = 0.0
    sum_j = 0.0
    for line, one in found:
        time_s = _number(one["time"])
        if one["joules"].startswith("<") or time_s <= before_s:
            raise MeterError(
                "recording-value",
                f"{path}, line {line}: perf stat has {one['joules']!r} at {time_s:g} s, after {before_s:g} s; its "
                "energy since then is unknown.",
            )
        joules = _number(one["joules"])
        power = f"{joules / (time_s - before_s):.9g}"
        if not rows:
            rows.append((line, ["0.0", power, "0.0"]))
        sum_j += joules
        rows.append((line, [f"{time_s!r}", power, f"{sum_j:.9g}"]))
        before_s = time_s
    taken = {line for line, _ in found}
    return ProgramLog(
        ("Time (s)", "Power (W)", "Energy (J)"),
        rows,
        [line for line, _ in filled if line not in taken],
        f"The file is of perf stat: the joules of power/{events[0]}/ in each interval, summed; the power is their "
        "mean in it.",
    )


def _number(text: str) -> float:
    return float(text.replace(",", "."))


def _tegrastats(path: Path, filled: Lines, samples: Lines) -> ProgramLog:
    rails = [name for name, _ in _RAIL.findall(samples[0][1])]
    rows: Rows = []
    dated = _date(samples[0][1]) is not None
    for line, text in samples:
        values = _RAIL.findall(text)
        date = _date(text)
        if [name for name, _ in values] != rails or (date is None) == dated:
            raise MeterError(
                "recording-value",
                f"{path}, line {line}, has the rails {quoted([name for name, _ in values])} where those of line "
                f"{samples[0][0]} should be, {quoted(rails)}, {'with' if dated else 'without'} a date.",
            )
        cells = [value for _, value in values]
        rows.append((line, [date, *cells] if date is not None else cells))
    heads = [f"{name} [mW]" for name in rails]
    taken = {line for line, _ in samples}
    return ProgramLog(
        ["Time", *heads] if dated else heads,
        rows,
        [line for line, _ in filled if line not in taken],
        "The file is of tegrastats: the first of both values of each rail, in mW.",
    )


def _date(text: str) -> str | None:
    found = _RAM.match(text.strip())
    return found["date"] if found else None
