"""What operators see of each team: its affiliation, whether it is disabled, and its used attempts."""

from __future__ import annotations

from typing import Any

from referee.store import Store

Document = dict[str, Any]


def team_documents(store: Store) -> dict[str, Document]:
    """Return the JSON document of each team, by the team's name."""
    used = store.runs.attempts_used()
    affiliations = store.teams.affiliations()
    return {
        team: {
            "team": team,
            "disabled": off,
            "affiliation": affiliations.get(team),
            "attempts_used": used.get(team, 0),
        }
        for team, off in store.teams.all().items()
    }
