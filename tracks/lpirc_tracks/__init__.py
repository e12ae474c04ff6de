"""Model tracks: rules that judge a measured model (pure), submissions with their board, and suites. Start with `track`.

This module is the registry: a track is an entry point in the group `lpirc.tracks` that has the track's name and refers
to a `Track`. The tracks in `lpirc_tracks.rules` are entry points, too. Knows nothing of HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping

from lpirc_testsets.close_names import did_you_mean
from lpirc_testsets.plugins import PluginError, UnknownPlugin
from lpirc_tracks.measured import Measured
from lpirc_tracks.track import Aim, Entry, Place, Track, Verdict
from referee.errors import BadTrack, RefereeError
from referee.seams import ShapedSeam

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


TRACKS = ShapedSeam(
    "lpirc.tracks", "Track", "lpirc-tracks", _fits, "a Track of that name"
)
FORMER = ShapedSeam(
    "lpirc_referee.tracks", "Track", "lpirc-tracks", _fits, "a Track of that name"
)
"""Former name of the entry point group; plug-ins under it are still found."""


def track_named(name: str, settings: Mapping[str, object] | None = None) -> Track:
    """Return the track of that name, with a contest's changes to its settings.

    Raises RefereeError `track-unknown`, BadTrack, `bad-track-setting`.
    """
    seams = [seam for seam in (TRACKS, FORMER) if name in seam.names()]
    if len(seams) > 1:
        words = f"Two distributions offer the Track {name!r}"
        groups = f"in {TRACKS.group} and in {FORMER.group}"
        raise BadTrack(f"{words}, {groups}; uninstall one of them.")
    seam = seams[0] if seams else TRACKS
    try:
        found: Track = seam.load(name).value
    except UnknownPlugin as error:
        names = track_names()
        meant = did_you_mean(name, names)
        words = f"There is no rule {name!r}; the rules are {', '.join(names)}.{meant}"
        raise RefereeError("track-unknown", words) from error
    except PluginError as error:
        raise BadTrack(error.sentence) from error
    return found.with_settings(settings or {})


def track_names() -> tuple[str, ...]:
    """Return the names of all tracks, sorted."""
    return tuple(sorted({*TRACKS.names(), *FORMER.names()}))
