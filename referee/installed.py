"""Checks for distributions besides the referee's own that a command or a contest needs."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, entry_points, version

from referee.config import ContestConfig
from referee.errors import RefereeError
from referee.seams import PAGES

TRACKS = "tracks"
"""Name of the plug-in with the web pages of lpirc-tracks."""


def client_version() -> str:
    """Return the version of the client, which is a separate distribution. Raises RefereeError `client-missing`."""
    try:
        return version("lpirc-client")
    except PackageNotFoundError:
        sentence = (
            "The client, which this command runs, is not installed here: pip install ./client in the project's folder, "
            "or lpirc_client-*.whl of the release"
        )
        raise RefereeError("client-missing", sentence) from None


def require_tracks(config: ContestConfig) -> None:
    """Raise RefereeError `tracks-missing` if the contest has tracks and no installed distribution serves them."""
    if config.tracks and TRACKS not in PAGES.names():
        names = ", ".join(one.name for one in config.tracks)
        sentence = (
            f"contest.toml has [[tracks]] ({names}), but lpirc-tracks, which serves them, is not installed here: "
            "pip install ./tracks in the project's folder, or lpirc_tracks-*.whl of the release"
        )
        raise RefereeError("tracks-missing", sentence)


def track_rules() -> list[str]:
    """Return the names of the rules that installed distributions offer for tracks."""
    return sorted(entry_points(group="lpirc.tracks").names)
