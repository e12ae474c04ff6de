"""What a value that was written with its unit is as a plain number, for the sentence that refuses it. Pure."""

from __future__ import annotations

import re

_UNITS = {
    "s": ("seconds", {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}),
    "min": (
        "minutes",
        {"ms": 1e-3 / 60, "s": 1 / 60, "m": 1.0, "h": 60.0, "d": 1440.0},
    ),
}
_FURTHER = {
    "v": "volts",
    "a": "amperes",
    "w": "watts",
    "wh": "Wh",
    "c": "degrees C",
    "mb": "MB",
}
_TIMES = r"(?P<time>ms|s(?:ec)?|seconds?|m(?:in)?|minutes?|h(?:rs?)?|hours?|d|days?)"
_DURATION = re.compile(rf"(?P<number>\d{{1,9}}(?:[.,]\d{{1,9}})?)\s*{_TIMES}\.?", re.I)
_FIGURE = re.compile(
    r"(?P<number>\d{1,9}(?:[.,]\d{1,9})?)\s*(?P<scale>[mk]?)(?P<unit>[vVaAwWC]|[wW]h)"
)
_CLOCK = re.compile(r"(?P<first>\d{1,3}):(?P<second>[0-5]\d)(?::(?P<third>[0-5]\d))?")
_PARTS = re.compile(
    r"(?:(?P<h>\d{1,9})\s*h(?:rs?|ours?)?)?\s*(?:(?P<m>\d{1,9})\s*m(?:in(?:ute)?s?)?)?"
    r"\s*(?:(?P<s>\d{1,9})\s*s(?:ec(?:ond)?s?)?)?",
    re.I,
)
"""A time in hours, minutes and seconds: 1h30m, 1m30s, 1 min 30 s."""
_SCALES = {"": 1.0, "m": 1e-3, "k": 1e3}
_SHARE = re.compile(r"(?P<number>\d{1,9}(?:[.,]\d{1,9})?)\s*%")


def unit_of(key: str) -> str:
    """Return the unit that the end of a key names, as words; "" for a key without one."""
    end = key.rpartition("_")[2] if "_" in key and "_per_" not in key else ""
    return _UNITS[end][0] if end in _UNITS else _FURTHER.get(end, "")


def of_unit(key: str) -> str:
    """Return " of seconds" for a key in seconds, and alike; "" for one without a unit."""
    unit = unit_of(key)
    return unit and f" of {unit}"


def as_number(key: str, given: object) -> str:
    """Return "; 10 min is 600" for a key in seconds, "; 1% is 0.01" for one without a unit; "" for another value."""
    text = str(given).strip()
    end = key.rpartition("_")[2]
    if unit_of(key) and end in _UNITS and (found := _DURATION.fullmatch(text)):
        time = found["time"].lower()
        factor = _UNITS[end][1][time if time == "ms" else time[0]]
        return f"; {text} is {_plain(found['number']) * factor:.10g}"
    if end in _UNITS and (found := _PARTS.fullmatch(text)) and found.lastgroup:
        factors = _UNITS[end][1]
        parts = [
            int(number or 0) * factors[one] for one, number in found.groupdict().items()
        ]
        return f"; {text} is {sum(parts):.10g}"
    if end in _UNITS and (found := _CLOCK.fullmatch(text)):
        seconds = int(found["first"]) * 60 + int(found["second"])
        if found["third"] is not None:
            seconds = seconds * 60 + int(found["third"])
        number = f"{seconds * _UNITS[end][1]['s']:.10g}"
        form = "minutes and seconds" if found["third"] is None else "hours to seconds"
        return f"; {text}, read as {form}, is {number}"
    if (found := _FIGURE.fullmatch(text)) and found["unit"].lower() == end:
        scale = _SCALES[found["scale"]]
        return f"; {text} is {_plain(found['number']) * scale:.10g}"
    if re.fullmatch(r"\d{1,9},\d{1,9}", text):
        return f"; the decimal sign is a point: {text.replace(',', '.')}"
    if not unit_of(key) and (found := _SHARE.fullmatch(text)):
        return f"; {text} is {_plain(found['number']) / 100:.10g}"
    return ""


def too_high(least: object) -> str:
    """Return what is wrong with a least accuracy of 1 or, in per cent, above; "" for any other."""
    try:
        given = float(str(least))
    except ValueError:
        return ""
    if not 1 <= given <= 100:
        return ""
    if given == 1:
        return "1 is an accuracy of 100 %, so no run would be ranked; 1 % is 0.01."
    return f"{given:g} is above 1, and an accuracy is at most 1{per_cent(given)}."


def per_cent(given: float) -> str:
    """Return "; 5 % is 0.05" for a number that may be meant in per cent."""
    return f"; {given:g} % is {given / 100:g}" if given <= 100 else ""


def _plain(number: str) -> float:
    return float(number.replace(",", "."))
