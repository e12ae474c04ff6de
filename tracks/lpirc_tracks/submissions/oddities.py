"""Finds oddities of a track's final board that an operator should check before publishing it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lpirc_tracks.submissions.results_files import HOLDOUT, PUBLIC
from referee.config.tracks import ModelTrack
from referee.store.model_records import Submission

DIGITS_OF_SHA256 = 12


@dataclass(frozen=True)
class Oddity:
    """A finding to check before publication: a stable code, a sentence, and the submissions concerned."""

    code: str
    sentence: str
    submissions: tuple[int, ...]


def oddities(
    config: ModelTrack, submissions: Sequence[Submission], holdout_digest: str
) -> Iterator[Oddity]:
    """Return what an operator should check before publishing the final board of a track with these submissions."""
    standing = [one for one in submissions if one.withdrawn is None]
    yield from _equal_files(standing)
    yield from _withdrawn(submissions)
    yield from _without_holdout(standing, holdout_digest)
    for one in {(one.model_key, one.split): one for one in standing}.values():
        yield from _unsettled(one)
    for one in standing:
        yield from _doubtful(config, one)


def odd_uploads(submissions: Sequence[Submission]) -> Iterator[Oddity]:
    """Return what an operator should look at before the track ends: equal files of several teams, entries in doubt."""
    standing = [one for one in submissions if one.withdrawn is None]
    yield from _equal_files(standing)
    for one in standing:
        outcome = one.measurement
        if outcome is not None and outcome.doubt is not None:
            words = f"{_named(one)} has no place: {outcome.doubt}"
            yield Oddity("in-doubt", words, (one.id,))


def _equal_files(standing: Sequence[Submission]) -> Iterator[Oddity]:
    by_file: dict[str, list[Submission]] = {}
    for one in standing:
        if one.model_sha256:
            by_file.setdefault(one.model_sha256, []).append(one)
    for sha256, alike in by_file.items():
        teams = sorted({one.team for one in alike})
        if len(teams) > 1:
            sentence = f"Teams {', '.join(teams)} handed in the same file, SHA-256 {sha256[:DIGITS_OF_SHA256]}."
            yield Oddity("equal-files", sentence, tuple(one.id for one in alike))


def _withdrawn(submissions: Sequence[Submission]) -> Iterator[Oddity]:
    entries: dict[tuple[str, str], list[Submission]] = {}
    for one in submissions:
        if one.withdrawn_utc is not None:
            entries.setdefault(one.model_key, []).append(one)
    for parts in entries.values():
        newest = max(parts, key=lambda one: one.withdrawn_utc or "")
        since = f"since {str(newest.withdrawn_utc)[:19]} by {newest.withdrawn_by}"
        sentence = f"{_named(newest)} is withdrawn, {since}: {newest.withdrawn}"
        yield Oddity("withdrawn", sentence, tuple(one.id for one in parts))


def _without_holdout(standing: Sequence[Submission], digest: str) -> Iterator[Oddity]:
    """Yield entries that have a score on the public images but were not measured on the present hold-out images."""
    on_holdout = {
        one.model_key
        for one in standing
        if one.split == HOLDOUT and one.testset_digest == digest
    }
    for key, one in {
        one.model_key: one for one in standing if one.split == PUBLIC
    }.items():
        is_valid = one.measurement is not None and one.measurement.valid
        if is_valid and key not in on_holdout:
            sentence = f"{_named(one)} was not measured on the present hold-out images."
            yield Oddity("no-holdout", sentence, (one.id,))


def equal_scores(places: Sequence[Mapping[str, Any]]) -> Iterator[Oddity]:
    """Yield groups of teams with equal scores on both test sets, for example because one team copied another's file."""
    by_scores: dict[tuple[float, float | None], list[str]] = {}
    for place in places:
        by_scores.setdefault((place["score"], place["public_score"]), []).append(
            place["team"]
        )
    for teams in by_scores.values():
        if len(teams) > 1:
            sentence = (
                f"Teams {', '.join(sorted(teams))} have equal scores, public and final."
            )
            yield Oddity("equal-scores", sentence, ())


def _unsettled(one: Submission) -> Iterator[Oddity]:
    outcome = one.measurement
    if outcome is None:
        yield Oddity("not-measured", f"{_named(one)} is not measured yet.", (one.id,))
    elif outcome.unstable:
        yield Oddity(
            "unstable",
            f"{_named(one)} is to be measured again: {outcome.sentence}",
            (one.id,),
        )
    elif not outcome.valid:
        yield Oddity(
            "not-valid", f"{_named(one)} is not valid: {outcome.sentence}", (one.id,)
        )


def _doubtful(config: ModelTrack, one: Submission) -> Iterator[Oddity]:
    for code, words in _doubts(config, one):
        yield Oddity(code, f"{_named(one)} {words}.", (one.id,))


def _doubts(config: ModelTrack, one: Submission) -> Iterator[tuple[str, str]]:
    if one.measured_by is not None:
        yield (
            "measured-elsewhere",
            f"was measured by {one.measured_by}, not by the organiser",
        )
    outcome = one.measurement
    until = config.holdout_until
    if outcome is not None and outcome.doubt is not None:
        yield "in-review", f"has no place: {outcome.doubt.removesuffix('.')}"
    if outcome is not None and outcome.confined is False:
        yield (
            "not-confined",
            "could reach the network or the contest folder while it was measured",
        )
    if outcome is not None and not outcome.official:
        yield "unofficial-meter", "has its energy from an unofficial meter"
    accepted = datetime.fromisoformat(one.accepted_utc)
    if one.counts and until is not None and accepted >= until:
        yield "late", f"was handed in at {one.accepted_utc[:19]}, after holdout_until"


def _named(one: Submission) -> str:
    return f"Submission {one.id} of {one.team} ({one.model_file or 'no file'}, {one.split})"
