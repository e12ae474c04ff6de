"""One recording as `meter record` says it at its end: figures, failed checks, marks, and advice."""

from __future__ import annotations

from lpirc_power.report.advice import advised, seconds_to_record, times_to_repeat
from lpirc_power.report.checks_of_several import note_lines
from lpirc_power.report.marked_report import marked_facts, marked_lines
from lpirc_power.report.publication import publication
from lpirc_power.report.recording_report import Recorded, recorded_facts
from lpirc_power.report.recording_words import recorded_lines


def single_facts(recorded: Recorded) -> dict[str, object]:
    """Return a recording with its marks and the advice, ready for JSON."""
    return {**recorded_facts(recorded), **mark_and_advice_facts(recorded)}


def single_lines(recorded: Recorded) -> list[str]:
    """Return a recording as lines for people, with its marks, the advice, and a sentence for a paper."""
    return [
        *recorded_lines(recorded),
        *marked_lines(recorded),
        *advised(recorded),
        *note_lines(recorded.doubts),
        publication(recorded).line,
    ]


def mark_and_advice_facts(recorded: Recorded) -> dict[str, object]:
    """Return the energies by mark and how long to record, ready for JSON."""
    return {
        "marks": marked_facts(recorded),
        "repeat_in_loop": times_to_repeat(recorded),
        "record_for_s": seconds_to_record(recorded),
    }
