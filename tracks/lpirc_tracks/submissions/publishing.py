"""The final board of a track: how an operator lists and publishes it, and what everyone sees.

A publication stores the document of the board on the hold-out images, exactly as the operator saw it. Withdrawing or
restoring an entry ends the publication, so that no withdrawn entry leads and no rank changes unless an operator
publishes again.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from lpirc_tracks.submissions.entries import board_by, is_closed
from lpirc_tracks.submissions.oddities import Oddity, equal_scores, oddities
from lpirc_tracks.submissions.open_track import open_track
from lpirc_tracks.submissions.receiving import count_arrived, replaceable_until
from lpirc_tracks.submissions.results_files import HOLDOUT, PUBLIC
from lpirc_tracks.submissions.track_board import judged_now
from referee.config.tracks import ModelTrack
from referee.contest import Contest
from referee.errors import RefereeError
from referee.store.acts import Act
from referee.store.model_records import Publication

CODE_LENGTH = 12


@dataclass(frozen=True)
class FinalBoard:
    """A final board that can be published: its document, its oddities, and a code that identifies both.

    `mark` is the state of the track at the time: see `PublicationTables.track_mark`.
    """

    document: dict[str, Any]
    oddities: tuple[Oddity, ...]
    code: str
    mark: tuple[object, ...]


def final_board(contest: Contest, config: ModelTrack, now: datetime) -> FinalBoard:
    """Return the final board as it would be published now.

    Raises RefereeError `no-holdout`, `track-open`, `track-unsettled`, `nothing-to-publish`, and what `open_track`
    raises.
    """
    if config.holdout_until is None:
        sentence = f"The track {config.name} has no holdout_until, so no final board; give it one in contest.toml."
        raise RefereeError("no-holdout", sentence)
    if now < config.holdout_until:
        sentence = f"The track {config.name} takes entries until {config.holdout_until}; publish its final board then."
        raise RefereeError("track-open", sentence)
    mark = contest.store.publications.track_mark(config.name)
    if (unsettled := unsettled_sentence(contest, config, now)) is not None:
        raise RefereeError(
            "track-unsettled",
            f"{unsettled} Publish the final board of {config.name} then.",
        )
    submissions = contest.store.submissions.all(config.name)
    opened = open_track(contest, config.name, holdout=True, to_run=False)
    document = board_by(contest, config, submissions, HOLDOUT, opened.digest)
    if not document["places"]:
        sentence = f"No entry of the track {config.name} has a valid measurement on the hold-out set."
        raise RefereeError("nothing-to-publish", sentence)
    judged = [judged_now(one, opened.rule) for one in submissions]
    found = (
        *oddities(config, judged, opened.digest),
        *equal_scores(document["places"]),
    )
    text = json.dumps([document, [asdict(one) for one in found]])
    code = hashlib.sha256(text.encode()).hexdigest()[:CODE_LENGTH]
    return FinalBoard(document, found, code, mark)


def publish(
    contest: Contest,
    config: ModelTrack,
    code: str,
    by: str,
    now: datetime,
    act: Act | None = None,
) -> FinalBoard:
    """Publish the final board with this code, which identifies the board that the operator looked at.

    Raises RefereeError as `final_board`, `track-changed`, `already-published`.
    """
    made = final_board(contest, config, now)
    if made.code != code:
        sentence = f"The board or its oddities changed: the code is now {made.code}, not {code}. Nothing was published;"
        raise RefereeError(
            "track-changed", f"{sentence} look at the board again.", now=made.code
        )
    publication = Publication(
        config.name, now.isoformat(), by, made.code, made.document
    )
    contest.store.publications.publish(
        publication, made.mark, [one.sentence for one in made.oddities], act
    )
    return made


def board_document(
    contest: Contest, config: ModelTrack, now: datetime
) -> dict[str, Any]:
    """Return the public board. After its publication, the figures are those on the hold-out images.

    `published` says when and by whom. `taken_back` says why the final board is no longer shown, null if there was none
    or it is still shown. `closed` is true if the track takes no more entries. `being_scored` counts the entries being
    checked or scored. `provisional` says why entries received in time may still change the board, null if they cannot.
    """
    newest = contest.store.publications.newest(config.name)
    is_over = newest is not None or is_closed(config, now)
    scoring = count_unscored(contest, config)
    provisional = None
    if newest is None or newest.taken_back is not None:
        provisional = unsettled_sentence(contest, config, now)
    standing = {"closed": is_over, "being_scored": scoring, "provisional": provisional}
    standing |= {
        "public_key": contest.store.identity.public_key()
    }  # that the receipts of entries are verified with
    return _board_document(contest, config, newest, now) | standing


def _board_document(
    contest: Contest, config: ModelTrack, newest: Publication | None, now: datetime
) -> dict[str, Any]:
    if newest is not None and newest.taken_back is None:
        published = {"utc": newest.utc, "by": newest.by}
        return newest.document | {"published": published, "taken_back": None}
    submissions = contest.store.submissions.all(config.name)
    if publishes_itself(contest, config, now):
        document = board_by(contest, config, submissions, HOLDOUT)
        if document["places"]:
            itself = {"utc": document["holdout_until"], "by": None}
            return document | {"published": itself, "taken_back": None}
    taken_back = (
        None
        if newest is None
        else {"utc": newest.taken_back_utc, "reason": newest.taken_back}
    )
    document = board_by(contest, config, submissions, PUBLIC)
    return document | {"published": None, "taken_back": taken_back}


def count_unscored(contest: Contest, config: ModelTrack) -> int:
    """Count the entries of a track that are being received, checked, scored or measured."""
    standing = (
        one
        for one in contest.store.submissions.all(config.name)
        if one.job and one.withdrawn is None
    )
    unscored = {one.model_key for one in standing if one.measurement is None}
    return len(unscored) + count_arrived(contest)


def unsettled_sentence(
    contest: Contest, config: ModelTrack, now: datetime
) -> str | None:
    """Return why uploads received in time, or their replacements, may still change the board, or None."""
    if count := count_unscored(contest, config):
        return f"Provisional: {count} {'entry is' if count == 1 else 'entries are'} being scored."
    since = now - timedelta(minutes=config.replacement_minutes)
    refused = (
        contest.store.uploads.refused(config.name, since)
        if is_closed(config, now)
        else []
    )
    until = max(
        (replaceable_until(config, one) for one in refused), key=str, default=None
    )
    if until is None:
        return None
    return f"Provisional: files that were found broken may be replaced until {until.isoformat()[:19]} UTC."


def publishes_itself(contest: Contest, config: ModelTrack, now: datetime) -> bool:
    """Return True if the contest publishes hold-out figures automatically and their time has come."""
    is_over = config.publish_automatically and is_closed(config, now)
    return is_over and unsettled_sentence(contest, config, now) is None


def is_final_shown(contest: Contest, config: ModelTrack, now: datetime) -> bool:
    """Return True if the hold-out figures are public."""
    newest = contest.store.publications.newest(config.name)
    is_published = newest is not None and newest.taken_back is None
    return is_published or publishes_itself(contest, config, now)
