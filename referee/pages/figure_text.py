"""Formats figures for pages, each kind in one way; a missing figure is a dash."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

NONE = "–"  # noqa: RUF001 - an en dash, as tables have it


def _fixed(digits: int) -> Callable[[float | None], str]:
    return lambda value: NONE if value is None else f"{value:.{digits}f}"


map_text = _fixed(5)
score_text = _fixed(4)  # an exact one, in the unit of the rule
SCORE_DIGITS = 4
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


def begun_text(words: str) -> str:
    """Return words as they begin a line: with a capital, all other letters as they are."""
    return words[:1].upper() + words[1:]


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


MAP = "mAP"


def score_of(figures: Mapping[str, Any], name: str = "score") -> str:
    """Return a published score, or an end of its interval, with the decimal places that were published of it."""
    value = figures.get(name)
    if value is None:
        return NONE
    digits = max(figures.get("score_digits", SCORE_DIGITS), 0)
    return f"{value:.{digits}f}"


def score_unit(board: Mapping[str, Any], accuracy: str = MAP) -> str:
    """Return the unit of the scores of a public board; `accuracy` is the name of its accuracy."""
    rule = board.get("ranked_by")
    unit = "mAP/Wh" if rule is None else str(rule["unit"])
    return unit.replace(MAP, accuracy)


def score_words(board: Mapping[str, Any], accuracy: str = MAP) -> str:
    """Return what the score of a public board is, in words; `accuracy` is the name of its accuracy."""
    rule = board.get("ranked_by")
    if rule is None:
        return (
            f"Score: accuracy over energy ({accuracy} per watt-hour), more is better."
        )
    figure = str(rule["figure"]).replace(MAP, accuracy)
    return f"Score: {figure}, {rule['order']}. {rule['sentence']}"


FILTERS: dict[str, Callable[..., str]] = {
    "map": map_text,  # replaces Jinja's own, which no page uses
    "score": score_text,
    "score_of": score_of,
    "score_unit": score_unit,
    "score_words": score_words,
    "wh": wh_text,
    "watt": watt_text,
    "clock": clock_text,
    "percent": percent_text,
    "utc_time": time_text,
    "figure_state": state_text,
    "rough": rough_text,
    "heat": heat_text,
    "begun": begun_text,
}
