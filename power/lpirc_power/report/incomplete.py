"""Recordings that do not count in a mean or a comparison: of a part of the work, without an energy, or in doubt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lpirc_power.energy.continuity import why_lost
from lpirc_power.report.recording_report import Recorded

SIGNALS: Final = 128
"""Exit code of a program that a signal ended, less the signal's number, as in a shell."""


@dataclass(frozen=True)
class Verdict:
    """Whether a recording counts in a mean or a comparison; `fault` says what speaks against it, else it is empty."""

    is_counted: bool
    fault: str = ""

    @property
    def sentence(self) -> str:
        """The fault and its effect; empty without a fault."""
        effect = "counts all the same" if self.is_counted else "does not count"
        return f"{self.fault}; it {effect}." if self.fault else ""


def verdict_on(recorded: Recorded, *, is_incomplete_taken: bool) -> Verdict:
    """Return whether a recording counts; with a fault it does if such are taken, but never without an energy."""
    why = why_not_counted(recorded)
    if not why:
        return Verdict(is_counted=True)
    is_taken = is_incomplete_taken and not recorded.no_energy
    return Verdict(is_taken, f"{recorded.file} {why}")


def why_not_counted(recorded: Recorded) -> str:
    """Return why a recording does not count, as the end of a sentence about it; empty if it counts.

    Means, series and comparisons all ask this.
    """
    found = [why_incomplete(recorded)]
    if recorded.no_energy:
        lost = why_lost(recorded.readings, recorded.measured.start_s)
        found.append(f"has no energy: {lost}")
    elif recorded.failed:
        found.append(f"needs review: {', '.join(recorded.failed)}")
    return " and ".join(filter(None, found))


def why_incomplete(recorded: Recorded) -> str:
    """Return why a recording is not of the whole work, as the end of a sentence about it; empty if it is."""
    record = recorded.record
    if record is None:
        return ""
    if record.ended is None:
        return "was cut off"
    code = record.ended.exit_code
    if code > SIGNALS:
        return f"was interrupted: signal {code - SIGNALS} ended its COMMAND"
    if record.ended.interrupted:
        return "was interrupted"
    return f"is of a COMMAND that failed, with exit code {code}" if code else ""
