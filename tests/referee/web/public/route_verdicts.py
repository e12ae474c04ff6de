"""Who may see what of each route of the server, while the board is frozen: the verdict on every one, by its endpoint.

A route without a verdict fails a test. Whoever adds one decides here who may read it, and the tests hold it to that.
"""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """Who gets an answer with content."""

    EVERYONE = "everyone reads it"
    SECRET = "everyone may ask, but what it shows is secret now"
    ABSENT = "everyone may ask; this contest has no model track, whose results no freeze of runs hides"
    TEAM = "a team reads its own by a session of its pages"
    TEAM_BY_PASSWORD = "a team reads its own by its session or its password"
    TEAM_LATER = "a team reads its own once the board hides nothing"
    RUN = "a program with the token of a run, or a team's password, as an old client sends it"
    DEVICE = "a device or a program of a model track, with a token of its own"
    OPERATOR = "operators alone"
    SENT = "it takes what anyone sends, and answers with nothing of the contest"


OPERATORS_BLUEPRINTS = frozenset(
    {
        "ceremony",
        "console",
        "jury",
        "operator",
        "operator-access",
        "operator-day",
        "operator-decisions",
        "operator-heat-page",
        "operator-heats",
        "operator-questions",
        "operator-replay",
        "operator_board",
        "settings-apply",
        "settings-day",
        "settings-hall",
        "settings-meters",
        "settings-operators",
        "settings-prizes",
        "settings-rules",
        "settings-stations",
        "settings-teams",
        "settings-testset",
        "settings-tracks",
        "site",
        "display",
    }
)
"""Every route of these is for operators alone, unless it has a verdict of its own."""
OF_ROUTES = {
    "board.front": Verdict.EVERYONE,
    "board.as_badge_route": Verdict.EVERYONE,
    "board.as_json_route": Verdict.EVERYONE,
    "board.live_part_route": Verdict.EVERYONE,
    "client.how_to_begin": Verdict.EVERYONE,
    "client.list_of_sums": Verdict.EVERYONE,
    "client.one_file": Verdict.EVERYONE,
    "client.to_page": Verdict.EVERYONE,
    "console.login": Verdict.EVERYONE,
    "contest.batch": Verdict.RUN,
    "contest.health": Verdict.EVERYONE,
    "contest.image": Verdict.RUN,
    "contest.log_in": Verdict.RUN,
    "contest.log_out": Verdict.RUN,
    "contest.openapi": Verdict.EVERYONE,
    "contest.post_answers": Verdict.RUN,
    "contest.post_detections": Verdict.RUN,
    "contest.show_image": Verdict.RUN,
    "contest.show_session": Verdict.RUN,
    "documents.list_of_documents": Verdict.EVERYONE,
    "documents.one_document": Verdict.EVERYONE,
    "documents.to_list": Verdict.EVERYONE,
    "entries.hand_in": Verdict.DEVICE,
    "entries.show": Verdict.DEVICE,
    "heats.all_heats": Verdict.EVERYONE,
    "heats.one_heat": Verdict.EVERYONE,
    "heats.race_part_route": Verdict.EVERYONE,
    "heats.standings_part_route": Verdict.EVERYONE,
    "log.all_links": Verdict.EVERYONE,
    "legacy.count_images": Verdict.RUN,
    "legacy.image": Verdict.RUN,
    "legacy.log_in": Verdict.SENT,
    "legacy.log_out": Verdict.RUN,
    "legacy.result": Verdict.RUN,
    "legacy.show_help": Verdict.EVERYONE,
    "legacy.show_image": Verdict.RUN,
    "legacy.verify": Verdict.RUN,
    "legacy.zipped_images": Verdict.RUN,
    "operator-access.log_in": Verdict.SENT,
    "pages.static_file": Verdict.EVERYONE,
    "projector.live_part_route": Verdict.EVERYONE,
    "public-team.by_name": Verdict.EVERYONE,
    "public-team.show": Verdict.EVERYONE,
    "replay.course": Verdict.EVERYONE,
    "replay.listed": Verdict.EVERYONE,
    "replay.of_run": Verdict.EVERYONE,
    "replay.of_two": Verdict.EVERYONE,
    "replay.picture": Verdict.SECRET,
    "replay.playlist": Verdict.EVERYONE,
    "team-access.log_in": Verdict.SENT,
    "team-access.log_out": Verdict.TEAM,
    "team-questions.ask": Verdict.TEAM,
    "team-runs.receipts": Verdict.TEAM,
    "team-runs.report": Verdict.TEAM_LATER,
    "team.as_json": Verdict.TEAM_BY_PASSWORD,
    "team.front": Verdict.TEAM,
    "team.live": Verdict.TEAM,
    "team.login": Verdict.EVERYONE,
    "team.without_slash": Verdict.EVERYONE,
    "tracks.as_json": Verdict.ABSENT,
    "tracks.as_page": Verdict.ABSENT,
    "uploads.about": Verdict.DEVICE,
    "uploads.add": Verdict.DEVICE,
    "uploads.create": Verdict.DEVICE,
    "uploads.offset": Verdict.DEVICE,
    "uploads.remove": Verdict.DEVICE,
    "work.hand_in": Verdict.DEVICE,
    "work.images": Verdict.DEVICE,
    "work.lease": Verdict.DEVICE,
    "work.model": Verdict.DEVICE,
    "work.renew": Verdict.DEVICE,
}
QUERIES = {
    "board.front": ("view=projector", "view=projector&theme=light"),
    "heats.all_heats": ("view=projector",),
    "heats.one_heat": ("view=projector",),
    "public-team.by_name": ("name=otters",),
    "public-team.show": ("part=live",),
    "replay.listed": ("view=projector",),
}
"""Queries with which a route answers something else; it is asked with them, too."""
NOTHING_WITHOUT_QUERY = ("public-team.by_name",)


OF_TEAM = ("page", "password")


def verdict_of(endpoint: str) -> Verdict | None:
    """The verdict on a route; None if nobody has decided yet."""
    own = OF_ROUTES.get(endpoint)
    if own is None and endpoint.partition(".")[0] in OPERATORS_BLUEPRINTS:
        return Verdict.OPERATOR
    return own


def why_not(verdict: Verdict, method: str, who: str, status: int) -> str | None:
    """Why an answer does not fit the verdict on its route; None if it does."""
    is_read = method in ("GET", "HEAD")
    shows = status in (200, 201, 202, 206)
    if verdict is Verdict.EVERYONE and is_read and status >= 400:
        return "everyone may read it, so that the comparison would compare nothing"
    if verdict in (Verdict.SECRET, Verdict.ABSENT) and is_read and shows:
        return "it is secret now"
    if verdict is Verdict.OPERATOR and status not in (401, 303, 405):
        return "nobody but an operator gets an answer"
    if verdict is Verdict.TEAM and is_read and shows is not (who == "page"):
        return "the team's own session reads it and nobody else"
    if verdict is Verdict.TEAM_BY_PASSWORD and shows is not (who in OF_TEAM):
        return "the team's session or password reads it and nothing else"
    if verdict is Verdict.TEAM_LATER and shows:
        return "it is not given out now"
    if verdict in (Verdict.RUN, Verdict.DEVICE) and who == "public" and shows:
        return "it needs a token"
    return None
