"""The model tracks by name: the rules of `referee.tracks.rules` and those of plug-ins.

A plug-in is another distribution with an entry point in the group `lpirc_referee.tracks`, named like its track and
leading to a `Track`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from referee.errors import RefereeError
from referee.tracks import rules
from referee.tracks.measured import Measured
from referee.tracks.track import Aim, Entry, Place, Track, Verdict

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

    Raises RefereeError `track-unknown`, `bad-track` (a rule that is none), `bad-track-setting`.
    """
    own = _own_tracks()
    found = own.get(name)
    if found is None:
        plugin = _plugins().get(name)
        if plugin is None:
            names = ", ".join(track_names())
            raise RefereeError("track-unknown", f"There is no rule {name!r}; the rules are {names}.")
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
                raise RefereeError("bad-track", f"{where}: TRACKS holds {track!r}, which is no Track.")
            if track.name in found:
                raise RefereeError("bad-track", f"{where}: the track name {track.name!r} is given twice.")
            found[track.name] = track
    return found


def _plugins() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _loaded(point: EntryPoint) -> Track:
    try:
        track = point.load()
    except Exception as error:  # whatever a plug-in raises at its import
        raise RefereeError("bad-track", f"The track {point.name!r} cannot be loaded: {error}.") from error
    if not isinstance(track, Track) or track.name != point.name:
        raise RefereeError("bad-track", f"{point.value} is not the Track {point.name!r} but {track!r}.")
    return track
