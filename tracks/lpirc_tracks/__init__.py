"""Model tracks: what a measured model is worth (pure), submissions with their board, and suites. Start with `track`.

Here is the registry: a track is a rule in `lpirc_tracks.rules` or in a plug-in, another distribution with an entry
point in the group `lpirc_referee.tracks` that has the track's name and refers to a `Track`. Knows nothing of HTTP.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from lpirc_tracks import rules
from lpirc_tracks.measured import Measured
from lpirc_tracks.track import Aim, Entry, Place, Track, Verdict
from referee.errors import BadTrack, RefereeError

GROUP = "lpirc_referee.tracks"

__all__ = [
    "GROUP",
    "Aim",
    "Entry",
    "Measured",
    "Place",
    "Track",
    "Verdict",
    "track_named",
    "track_names",
]


def track_named(name: str, settings: Mapping[str, object] | None = None) -> Track:
    """The track of that name, with the settings that a contest changes.

    Raises RefereeError `track-unknown`, BadTrack, `bad-track-setting`.
    """
    own = _own_tracks()
    found = own.get(name)
    if found is None:
        plugin = _plugins().get(name)
        if plugin is None:
            names = ", ".join(track_names())
            raise RefereeError(
                "track-unknown", f"There is no rule {name!r}; the rules are {names}."
            )
        found = _loaded(plugin)
    return found.with_settings(settings or {})


def track_names() -> tuple[str, ...]:
    """The names of all tracks, sorted; a plug-in cannot take the name of one of ours."""
    return tuple(sorted({*_own_tracks(), *_plugins()}))


def _own_tracks() -> dict[str, Track]:
    found: dict[str, Track] = {}
    for module in pkgutil.iter_modules(rules.__path__):
        where = f"{rules.__name__}.{module.name}"
        for track in getattr(import_module(where), "TRACKS", ()):
            if not isinstance(track, Track):
                raise BadTrack(
                    f"{where}: TRACKS holds {track!r}, which is not a Track."
                )
            if track.name in found:
                raise BadTrack(
                    f"{where}: the track name {track.name!r} is given twice."
                )
            found[track.name] = track
    return found


def _plugins() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _loaded(point: EntryPoint) -> Track:
    try:
        track = point.load()
    except Exception as error:  # whatever a plug-in raises at its import
        raise BadTrack(
            f"The track {point.name!r} cannot be loaded: {error}."
        ) from error
    if not isinstance(track, Track) or track.name != point.name:
        raise BadTrack(f"{point.value} is not the Track {point.name!r} but {track!r}.")
    return track
