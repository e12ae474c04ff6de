"""What docs/security.md says no one can have."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from referee.store.records import RunState
from referee.web.app import create_app
from referee.web.app_parts import part_of
from referee.web.callers import Callers
from referee.web.team_login import issue_token
from tests.referee.factories import TEAM, House
from tests.referee.judging.judged_runs import opened_run

FILES = ("secret", "operator-key", "signing-key", "contest.db", "contest.toml")
CLIMBS = ("", "../", "../../", "..%2f..%2f", "%2e%2e/%2e%2e/", "/")
ROOTS = (
    "/",
    "/static/",
    "/v1/images/",
    "/board/",
    "/docs/",
    "/client/",
    "/heats/",
    "/live/heats/",
    "/teams/",
    "/replay/",
    "/tracks/",
    "/team/runs/",
)


def test_no_path_leads_to_the_truth_or_to_a_secret(build: Callable[..., House]) -> None:
    made = build()
    app = create_app(made.contest, made.control, made.clock)
    opened_run(made.contest, TEAM)
    (run,) = made.store.runs.find(RunState.OPEN)
    token = issue_token(part_of(app, Callers), run)
    client = app.test_client()
    truth = made.contest.test_set.folder / "ground_truth.json"
    hidden = {
        path: path.read_bytes().strip()[:60]
        for path in (truth, *(made.folder / name for name in FILES))
    }
    places = [str(path).lstrip("/") for path in hidden] + [path.name for path in hidden]
    for root, climb, place in product(
        ROOTS,
        CLIMBS,
        [*places, "testset/ground_truth.json"],
    ):
        body = client.get(
            root + climb + place,
            headers={"Authorization": f"Bearer {token}"},
        ).get_data()
        assert [path for path, content in hidden.items() if content in body] == [], (
            root,
            climb,
            place,
        )
