"""Findings of `referee doctor` about the tracks of a contest: their test sets, and the confinement of models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

import click

from lpirc_testsets import TestSetError, load_test_set
from lpirc_tracks import track_named, track_names
from lpirc_tracks.submissions.confining import (
    NOT_CONFINED,
    confinement_of,
    hidden_files,
    takes_models,
    unconfined_tracks,
)
from lpirc_tracks.submissions.open_track import rule_of, track_on, wrong_rules
from lpirc_tracks.submissions.results_files import results_set
from referee.config.tracks import RESULTS, ModelTrack
from referee.contest import Contest
from referee.errors import RefereeError
from referee.seams import Finding


def look_at_tracks(contest: Contest) -> Iterator[Finding]:
    """Yield all findings. This is the entry `tracks` of `lpirc.checks`."""
    for name in track_names():
        yield from _failure(partial(track_named, name))
    yield from wrong_rules(contest)
    yield from _look_at_models(contest)
    for track in contest.config.tracks:
        yield from _look_at_track(contest, track)


def _look_at_models(contest: Contest) -> Iterator[Finding]:
    """Yield how submitted models are confined on this host, if a track takes any."""
    if not any(map(takes_models, contest.config.tracks)):
        return
    found = confinement_of(hidden_files(contest))
    # Set-up pages ask at each view, in threads without a command's context: the sentence is for a terminal alone.
    is_command = click.get_current_context(silent=True) is not None
    if found.is_in_force and is_command:
        words = "The server's log says how the server confines models."
        click.echo(f"{found.sentence} {words}", err=True)
    for track, sentence in unconfined_tracks(contest, found):
        yield Finding(NOT_CONFINED, sentence, is_advice=track.unconfined)


def _look_at_track(contest: Contest, track: ModelTrack) -> Iterator[Finding]:
    if track.rule_name == RESULTS:
        yield from _failure(partial(results_set, contest, track))
        return
    for key in ("testset", "holdout"):
        name = getattr(track, key)
        if not name:
            continue
        for found in _failure(partial(_require_fit, contest, track, name)):
            where = f"track {track.name!r} has {key} = {name!r}"
            yield found._replace(sentence=f"{found.sentence}; {where}.")


def _require_fit(contest: Contest, track: ModelTrack, name: str) -> None:
    """Raise RefereeError or TestSetError unless a test set can be loaded, and has what the track's rule needs."""
    folder = contest.folder / name
    load_test_set(folder)
    rule = None
    with suppress(RefereeError):  # what is wrong with the rule is a finding of its own
        rule = rule_of(contest, track)
    if rule is not None:
        track_on(folder, track.name, rule, to_run=False)


def _failure(look: Callable[[], object]) -> Iterator[Finding]:
    try:
        look()
    except (RefereeError, TestSetError) as error:
        yield Finding(error.code, error.sentence)
