"""The failed checks of several recordings, each told once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lpirc_power.energy import Check
from lpirc_power.report.recording_report import Recorded
from lpirc_power.report.recording_words import not_checked_line


def check_lines(recordings: Mapping[str, Recorded]) -> list[str]:
    """Return a line for each check that failed in some of the recordings, by name, with its first sentence."""
    failed: dict[str, dict[str, Check]] = {}
    for name, recorded in recordings.items():
        for one in recorded.checks:
            if not one.ok:
                failed.setdefault(one.code, {})[name] = one
    told = [_line(found, len(recordings)) for found in failed.values()]
    unchecked = {code: None for one in recordings.values() for code in one.unchecked}
    if unchecked:
        told.append(not_checked_line([*unchecked]))
    elif not failed and recordings:
        told.append(f"{'checks':16} all hold")
    return told


def note_sentences(recordings: Mapping[str, Recorded]) -> list[str]:
    """Return what the recordings do not say, each sentence once, with the names of those that it is about."""
    found: dict[str, list[str]] = {}
    for name, recorded in recordings.items():
        for sentence in recorded.doubts:
            found.setdefault(sentence, []).append(name)
    return [f"{', '.join(names)}: {sentence}" for sentence, names in found.items()]


def note_lines(sentences: Iterable[str]) -> list[str]:
    """Return notes as lines for people."""
    return [f"{'note':16} {one}" for one in sentences]


def _line(found: Mapping[str, Check], count: int) -> str:
    first = next(iter(found.values()))
    names = "all" if len(found) == count else ", ".join(found)
    return f"{first.severity:16} {first.code} ({names}): {first.sentence}"
