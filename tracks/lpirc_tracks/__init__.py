"""Model tracks: what a measured model is worth (pure), submissions with their board, and suites. Start with `track`.

Here is the registry: a track is an entry point in the group `lpirc.tracks`, named like its track, that refers to a
`Track`; those of `lpirc_tracks.rules` too. Knows nothing of HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping

from lpirc_tracks.measured import Measured
from lpirc_tracks.track import Aim, Entry, Place, Track, Verdict
from referee.errors import BadTrack, BrokenPlugin, RefereeError
from referee.seams import Seam

__all__ = [
    "TRACKS",
    "Aim",
    "Entry",
    "Measured",
    "Place",
    "Track",
    "Verdict",
    "track_named",
    "track_names",
]


def _fits(name: str, found: object) -> bool:
    return isinstance(found, Track) and found.name == name


TRACKS = Seam[Track](
    "lpirc.tracks", "the Track", _fits, former_group="lpirc_referee.tracks"
)


def track_named(name: str, settings: Mapping[str, object] | None = None) -> Track:
    """Return the track of that name, with the settings that a contest changes.

    Raises RefereeError `track-unknown`, BadTrack, `bad-track-setting`.
    """
    names = track_names()
    if name not in names:
        words = f"There is no rule {name!r}; the rules are {', '.join(names)}."
        raise RefereeError("track-unknown", words)
    try:
        found = TRACKS.load(name).brought
    except BrokenPlugin as error:
        raise BadTrack(error.sentence) from error
    return found.with_settings(settings or {})


def track_names() -> tuple[str, ...]:
    """Return the names of all tracks, sorted; no other distribution can take the name of one of ours."""
    return tuple(TRACKS.names())
