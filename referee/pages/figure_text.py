"""Formats figures for pages, each kind in one way; a missing figure is a dash."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

NONE = "–"  # noqa: RUF001 - an en dash, as tables have it


def _fixed(digits: int) -> Callable[[float | None], str]:
    return lambda value: NONE if value is None else f"{value:.{digits}f}"


map_text = _fixed(5)
score_text = _fixed(4)  # in mAP/Wh
wh_text = _fixed(4)  # these two without the unit
watt_text = _fixed(2)


def clock_text(seconds: float | None) -> str:
    """Return a time of a window as minutes and seconds, rounded down as on a stopwatch."""
    if seconds is None:
        return NONE
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def rough_text(value: float | None) -> str:
    """Return a published figure as text, with the digits that it was rounded to."""
    return NONE if value is None else f"{value:g}"


def percent_text(value: float | None) -> str:
    """Return a probability as a percentage."""
    return NONE if value is None else f"{value:.1%}"


def time_text(utc: str | None) -> str:
    """Return a stored UTC time as hours, minutes and seconds."""
    return NONE if utc is None else datetime.fromisoformat(utc).strftime("%H:%M:%S")


def heat_text(name: str) -> str:
    """Return what pages call a heat: "Heat final", but not "Heat Heat 1"."""
    return name if name.casefold().startswith("heat") else f"Heat {name}"


NOT_RENEWED = "the figures are not up to date at the moment, so there is no score"
_STATES = {
    "fresh": "provisional",
    "meter-away": "the meter cannot be reached: its energy is not known now, so there is no score",
    "integrator-stopped": "integrator stopped: no energy is counted now, so there is no score",
    "in-review": "in review",
    "final": "final",
}


def state_text(state: str | None) -> str:
    """Return a `referee.judging.figure_state.FigureState` of a run's figures in words."""
    return NOT_RENEWED if state is None else _STATES[state]


FILTERS: dict[str, Callable[..., str]] = {
    "map": map_text,  # replaces Jinja's own, which no page uses
    "score": score_text,
    "wh": wh_text,
    "watt": watt_text,
    "clock": clock_text,
    "percent": percent_text,
    "utc_time": time_text,
    "figure_state": state_text,
    "rough": rough_text,
    "heat": heat_text,
}
