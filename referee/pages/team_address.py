"""The address of a team's public page."""

from __future__ import annotations

from urllib.parse import quote

TEAMS = "/teams/"
DOTS = (".", "..")


def team_address(team: str) -> str:
    """Return the path of a team's public page: `/teams/NAME`.

    For names that browsers or servers would read as another path (`..`, or a slash at an end), it is `/teams/?name=`
    and the name.
    """
    if team in DOTS or team != team.strip("/"):
        return f"{TEAMS}?name={quote(team, safe='')}"
    return TEAMS + quote(team, safe="")
