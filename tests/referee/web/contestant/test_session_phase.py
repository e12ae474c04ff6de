"""What a run's session says at its end: `closed` once the closing receipt is there; no energy while frozen."""

from __future__ import annotations

from collections.abc import Callable

from referee.auth.passwords import hash_password
from referee.judging.public_documents import empty_board
from referee.web.app import create_app
from referee.web.app_parts import part_of
from referee.web.published_board import PublishedBoard
from tests.contest_day import PASSWORD
from tests.referee.factories import START, House


def test_a_run_is_closing_until_its_closing_receipt_exists(
    build: Callable[..., House],
) -> None:
    house = build(auto_arm=True)
    house.store.teams.add("ant", hash_password(PASSWORD), START)
    client = create_app(house.contest, house.control, house.clock).test_client()
    opened = client.post(
        "/v1/session",
        json={"team": "ant", "password": PASSWORD},
    ).get_json()
    bearer = {"Authorization": f"Bearer {opened['token']}"}

    def told() -> tuple[str, bool]:
        shown = client.get("/v1/session", headers=bearer).get_json()
        assert shown["rules_sha256"] == opened["rules_sha256"] is not None
        return shown["phase"], "receipt" in shown

    assert told() == ("open", False)
    # The meter is still to be read, and the run to be stored.
    house.control.live(1).end("operator")
    assert told() == ("closing", False)
    house.control.close(1, "operator")
    assert told() == ("closed", True)


def test_a_run_that_no_server_has_taken_up_is_closing(
    build: Callable[..., House],
) -> None:
    house = build(auto_arm=True)
    house.store.teams.add("ant", hash_password(PASSWORD), START)
    app = create_app(house.contest, house.control, house.clock)
    opened = (
        app.test_client()
        .post("/v1/session", json={"team": "ant", "password": PASSWORD})
        .get_json()
    )
    house.control.shutdown()
    bearer = {"Authorization": f"Bearer {opened['token']}"}
    shown = app.test_client().get("/v1/session", headers=bearer).get_json()
    assert shown["phase"] == "closing"
    assert ("receipt" in shown) is False


def test_a_log_out_says_no_energy_while_the_board_is_frozen(
    build: Callable[..., House],
) -> None:
    """Its own mAP a team can estimate; with the energy of record it would know its score, and its place."""
    house = build(auto_arm=True)
    house.store.teams.add("ant", hash_password(PASSWORD), START)
    app = create_app(house.contest, house.control, house.clock)
    client = app.test_client()
    opened = client.post("/v1/session", json={"team": "ant", "password": PASSWORD})
    bearer = {"Authorization": f"Bearer {opened.get_json()['token']}"}
    house.clock.advance(60.0)

    def told() -> float | None:
        answer = client.delete("/v1/session", headers=bearer).get_json()
        assert answer["phase"] == "closed"
        energy_wh: float | None = answer["energy_wh"]
        return energy_wh

    assert told() is not None
    house.store.published.freeze(START, empty_board(house.contest))
    part_of(app, PublishedBoard).forget()
    assert told() is None
