"""The final board of a track: what looks odd before an operator publishes it, and what everyone sees of it.

A publication is the document of the board by the hold-out images, as it was when an operator looked at it. Withdrawing
or restoring an entry takes it back, so that no one withdrawn leads, and no place changes without an operator's act.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from referee.config.tracks import ModelTrack
from referee.contest import Contest
from referee.errors import RefereeError
from referee.store.records import Publication, Submission
from referee.tracks.submissions.board import judged_now
from referee.tracks.submissions.entries import board_by, is_closed
from referee.tracks.submissions.open_track import open_track
from referee.tracks.submissions.results_files import HOLDOUT, PUBLIC

CODE_LENGTH = 12


@dataclass(frozen=True)
class Oddity:
    """Something to look at before publication: a stable code, a sentence, and the submissions that it is about."""

    code: str
    sentence: str
    submissions: tuple[int, ...]


@dataclass(frozen=True)
class FinalBoard:
    """A final board that could be published: its document, what looks odd, and a code that identifies both.

    `mark` is the state of the track that it was computed at: see `PublicationTables.track_mark`.
    """

    document: dict[str, Any]
    oddities: tuple[Oddity, ...]
    code: str
    mark: tuple[object, ...]


def final_board(contest: Contest, config: ModelTrack, now: datetime) -> FinalBoard:
    """The final board as it would be published now.

    Raises RefereeError `no-holdout`, `track-open`, `nothing-to-publish`, and what `open_track` raises.
    """
    if config.holdout_until is None:
        sentence = (
            f"The track {config.name} has no holdout_until, so no final board; give it one in contest.toml."
        )
        raise RefereeError("no-holdout", sentence)
    if now < config.holdout_until:
        sentence = f"The track {config.name} takes entries until {config.holdout_until}; publish its final board then."
        raise RefereeError("track-open", sentence)
    mark = contest.store.track_mark(config.name)
    submissions = contest.store.submissions(config.name)
    opened = open_track(contest, config.name, holdout=True, to_run=False)
    document = board_by(contest, config, submissions, HOLDOUT, opened.digest)
    if not document["places"]:
        sentence = f"No entry of the track {config.name} has a valid measurement on the hold-out set."
        raise RefereeError("nothing-to-publish", sentence)
    judged = [judged_now(one, opened.rule) for one in submissions]
    found = (*oddities(config, judged, opened.digest), *equal_scores(document["places"]))
    text = json.dumps([document, [asdict(one) for one in found]])
    code = hashlib.sha256(text.encode()).hexdigest()[:CODE_LENGTH]
    return FinalBoard(document, found, code, mark)


def publish(contest: Contest, config: ModelTrack, code: str, by: str, now: datetime) -> FinalBoard:
    """Publish the final board that has this code, so what the operator looked at.

    Raises RefereeError as `final_board`, `track-changed`, `already-published`.
    """
    made = final_board(contest, config, now)
    if made.code != code:
        sentence = f"The board or what looks odd is not that of {code}, but of {made.code}, so nothing was published;"
        raise RefereeError("track-changed", f"{sentence} look at it again.", now=made.code)
    publication = Publication(config.name, now.isoformat(), by, made.code, made.document)
    contest.store.publish_track(publication, made.mark)
    return made


def board_document(contest: Contest, config: ModelTrack, now: datetime) -> dict[str, Any]:
    """The board for everyone, by the hold-out images once it is published: `published` says when and by whom.

    `taken_back` says why there is no final board any more, null while there is none or it stands.
    """
    newest = contest.store.publication(config.name)
    if newest is not None and newest.taken_back is None:
        published = {"utc": newest.utc, "by": newest.by}
        return newest.document | {"published": published, "taken_back": None}
    submissions = contest.store.submissions(config.name)
    if publishes_itself(config, now):
        document = board_by(contest, config, submissions, HOLDOUT)
        if document["places"]:
            itself = {"utc": document["holdout_until"], "by": None}
            return document | {"published": itself, "taken_back": None}
    taken_back = None if newest is None else {"utc": newest.taken_back_utc, "reason": newest.taken_back}
    document = board_by(contest, config, submissions, PUBLIC)
    return document | {"published": None, "taken_back": taken_back}


def publishes_itself(config: ModelTrack, now: datetime) -> bool:
    """Whether the organizer let the hold-out figures come out by themselves, and they are out."""
    return config.publish_automatically and is_closed(config, now)


def is_final_shown(contest: Contest, config: ModelTrack, now: datetime) -> bool:
    """Whether everyone may know the hold-out figures."""
    newest = contest.store.publication(config.name)
    is_published = newest is not None and newest.taken_back is None
    return is_published or publishes_itself(config, now)


def oddities(config: ModelTrack, submissions: Sequence[Submission], holdout_digest: str) -> Iterator[Oddity]:
    """What an operator should look at before publishing the final board of a track with these submissions."""
    standing = [one for one in submissions if one.withdrawn is None]
    yield from _equal_files(standing)
    yield from _withdrawn(submissions)
    yield from _without_holdout(standing, holdout_digest)
    for one in {(one.model_key, one.split): one for one in standing}.values():
        yield from _unsettled(one)
    for one in standing:
        yield from _doubtful(config, one)


def _equal_files(standing: Sequence[Submission]) -> Iterator[Oddity]:
    by_file: dict[str, list[Submission]] = {}
    for one in standing:
        if one.model_sha256:
            by_file.setdefault(one.model_sha256, []).append(one)
    for sha256, alike in by_file.items():
        teams = sorted({one.team for one in alike})
        if len(teams) > 1:
            sentence = f"Teams {', '.join(teams)} handed in the same file, SHA-256 {sha256[:12]}."
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
    """Entries with a score on the public images, but no chance of one on the final board."""
    on_holdout = {one.model_key for one in standing if one.split == HOLDOUT and one.testset_digest == digest}
    for key, one in {one.model_key: one for one in standing if one.split == PUBLIC}.items():
        is_valid = one.measurement is not None and one.measurement.valid
        if is_valid and key not in on_holdout:
            sentence = f"{_named(one)} was not measured on the present hold-out images."
            yield Oddity("no-holdout", sentence, (one.id,))


def equal_scores(places: Sequence[Mapping[str, Any]]) -> Iterator[Oddity]:
    """Teams whose scores are equal on both test sets, as of a copy with another blank at its end."""
    by_scores: dict[tuple[float, float | None], list[str]] = {}
    for place in places:
        by_scores.setdefault((place["score"], place["public_score"]), []).append(place["team"])
    for teams in by_scores.values():
        if len(teams) > 1:
            sentence = f"Teams {', '.join(sorted(teams))} have equal scores, public and final."
            yield Oddity("equal-scores", sentence, ())


def _unsettled(one: Submission) -> Iterator[Oddity]:
    outcome = one.measurement
    if outcome is None:
        yield Oddity("not-measured", f"{_named(one)} is not measured yet.", (one.id,))
    elif outcome.unstable:
        yield Oddity("unstable", f"{_named(one)} is to be measured again: {outcome.sentence}", (one.id,))
    elif not outcome.valid:
        yield Oddity("not-valid", f"{_named(one)} is not valid: {outcome.sentence}", (one.id,))


def _doubtful(config: ModelTrack, one: Submission) -> Iterator[Oddity]:
    for code, words in _doubts(config, one):
        yield Oddity(code, f"{_named(one)} {words}.", (one.id,))


def _doubts(config: ModelTrack, one: Submission) -> Iterator[tuple[str, str]]:
    if one.measured_by is not None:
        yield "measured-elsewhere", f"was measured by {one.measured_by}, not by the organiser"
    outcome, until = one.measurement, config.holdout_until
    if outcome is not None and outcome.confined is False:
        yield "not-confined", "could reach the network or the contest folder while it was measured"
    if outcome is not None and not outcome.official:
        yield "unofficial-meter", "has its energy from an unofficial meter"
    accepted = datetime.fromisoformat(one.accepted_utc)
    if one.counts and until is not None and accepted >= until:
        yield "late", f"was handed in at {one.accepted_utc[:19]}, after holdout_until"


def _named(one: Submission) -> str:
    return f"Submission {one.id} of {one.team} ({one.model_file or 'no file'}, {one.split})"
