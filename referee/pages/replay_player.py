"""The player of replays as it stands in a page that is one file, and the policy by which no other script runs there."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import cache

from referee.pages import STATIC

SCRIPTS = ("replay_lane.js", "replay.js")
"""The player, in the order in which a page loads it."""


@cache
def player_script() -> str:
    """Return the text of the player."""
    return "".join((STATIC / name).read_text(encoding="utf-8") for name in SCRIPTS)


@cache
def player_style() -> str:
    """Return the player's stylesheet."""
    return (STATIC / "replay.css").read_text(encoding="utf-8")


@cache
def player_hash() -> str:
    """Return the source expression by which a Content-Security-Policy allows the player and no other script."""
    digest = hashlib.sha256(player_script().encode()).digest()
    return f"'sha256-{b64encode(digest).decode()}'"
