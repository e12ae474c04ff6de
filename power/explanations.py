"""What the meter's error codes mean, in words an operator can act on (IM WT310-17EN, list of messages)."""

from __future__ import annotations

from typing import Final

EXPLANATIONS: Final[dict[int, str]] = {
    113: "it does not know the command",
    222: "the value is out of range",
    350: "its error queue overflowed",
    410: "a new command came before the last answer was read",
    813: "this cannot be changed until the integrator is reset",
    842: "the integrator cannot start now: it runs already, or must be reset first",
    844: "the integrator cannot stop: it does not run",
    845: "the integrator cannot be reset while it runs",
}


def explained(error: str) -> str:
    """Return an answer of :STATus:ERRor? (`842,"text"`) with its meaning behind it."""
    code, _, text = error.partition(",")
    meaning = EXPLANATIONS.get(int(code)) if code.strip().lstrip("+-").isdigit() else None
    shown = f"{code.strip()} {text.strip()}"
    return f"{shown}: {meaning}" if meaning else shown


def is_error(error: str) -> bool:
    """Whether an answer of :STATus:ERRor? tells of an error: its code is not 0."""
    return error.partition(",")[0].strip().lstrip("+") != "0"
