"""Report of the checks of a recording, with what its file does not say, as facts for machines and lines for people."""

from __future__ import annotations

from lpirc_power.energy import Check
from lpirc_power.report.advice import advised
from lpirc_power.report.checks_of_several import note_lines
from lpirc_power.report.group_report import Group
from lpirc_power.report.marked_report import marked_lines
from lpirc_power.report.reading_facts import lines
from lpirc_power.report.recording_report import Recorded, recorded_facts
from lpirc_power.report.recording_words import figure_rows, not_checked_line
from lpirc_power.report.series_marks import series_mark_facts
from lpirc_power.report.series_report import Series
from lpirc_power.report.single_report import mark_and_advice_facts


def in_order(checks: tuple[Check, ...]) -> list[Check]:
    """Return checks with the failed errors first, then the failed warnings, then those that hold."""
    return sorted(checks, key=lambda one: (one.ok, one.severity != "error"))


def check_facts(recorded: Recorded) -> dict[str, object]:
    """Return a recording with its checks, ready for JSON."""
    return {
        **recorded_facts(recorded),
        "unanswered": list(recorded.unchecked),
        "notes": list(recorded.doubts),
        **mark_and_advice_facts(recorded),
    }


def series_warnings(found: Recorded | Series | Group) -> dict[str, object]:
    """Return what speaks against the interval of a series, and the means of its marks, for JSON; else nothing."""
    if isinstance(found, Series):
        warnings = {"series_warnings": list(found.warnings)}
        marks = series_mark_facts(found)
        return warnings | ({"series_marks": marks} if marks else {})
    return {}


def check_lines(recorded: Recorded) -> list[str]:
    """Return a recording as lines for people: its figures, every check, and how its file was read."""
    found = [*lines(figure_rows(recorded)), *marked_lines(recorded)]
    found += advised(recorded)
    for one in in_order(recorded.checks):
        word = "holds" if one.ok else one.severity
        found.append(f"{word:16} {one.code}: {one.sentence}")
    if recorded.unchecked:
        found.append(not_checked_line(recorded.unchecked))
    return [*found, *note_lines(recorded.doubts)]


def failure_of(recorded: Recorded) -> str | None:
    """Return one sentence that names the failed checks of severity error; None if there is none."""
    if recorded.no_energy:
        return recorded.no_energy
    if not recorded.failed:
        return None
    return f"{recorded.file} fails: {', '.join(recorded.failed)}."


def what_lacks(found: Recorded | Series | Group) -> list[str]:
    """Return a sentence for each recording of a series or a group that is not there to be checked."""
    if isinstance(found, Group):
        failed = [one for one in found.record.members if one.failed]
        lacking = [f"{one.name} has no energy: {one.failed}" for one in failed]
    elif isinstance(found, Series):
        lacking = [f"{one.name} does not count: {one.why}" for one in found.left_out]
        lacking += [found.shortfall] if found.shortfall else []
    else:
        return []
    nothing = nothing_counts(found)
    return lacking or ([nothing] if nothing else [])


def nothing_counts(found: Recorded | Series | Group) -> str:
    """Return a sentence if no recording of a series or of several meters counts; empty if one does."""
    if isinstance(found, Recorded) or found.recordings:
        return ""
    kind = "attempt" if isinstance(found, Series) else "meter"
    return f"{found.file} has no {kind} that counts."
