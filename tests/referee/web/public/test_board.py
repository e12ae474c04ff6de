from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable

import pytest
from flask.testing import FlaskClient

from referee.clock import Clock
from referee.contest import open_contest
from referee.judging.board_publisher import Publisher
from referee.judging.judge import judge
from referee.judging.run_figures import let_stand
from referee.store.published_board_table import PublishedTable
from referee.store.records import BoardState, Released, RunState
from referee.web.app import create_app
from referee.web.app_parts import part_of
from referee.web.callers import Callers
from referee.web.public.kept_answers import PUBLIC
from referee.web.published_board import LOOK_S
from referee.web.team_login import issue_token
from tests.referee.factories import START, TEAM, House
from tests.referee.judging.judged_runs import closed_run, opened_run

Build = Callable[..., House]
BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
HOSTILE = "<script>alert('1')</script>"


@pytest.fixture
def made(build: Build) -> House:
    made = build()
    for team, energy_wh in ((HOSTILE, 2.0), (TEAM, 1.0)):
        judge(made.contest, closed_run(made.contest, team, energy_wh).id, Clock())
    Publisher(made.contest, Clock()).tick()
    return made


@pytest.fixture
def client(made: House) -> FlaskClient:
    return create_app(made.contest, made.control, made.clock).test_client()


def operator(made: House) -> dict[str, str]:
    return {"Authorization": f"Bearer {made.contest.operator_key}"}


def look_again(made: House) -> None:
    made.clock.advance(LOOK_S)


def test_a_browser_gets_the_board_and_an_old_client_what_it_always_got(
    client: FlaskClient,
) -> None:
    board = client.get("/", headers=BROWSER)
    assert board.status_code == 200
    assert board.mimetype == "text/html"
    for old in (
        client.get("/", headers={"Accept": "*/*"}),
        client.get("/"),
        client.post("/", headers=BROWSER),
    ):
        assert old.status_code == 302
        assert old.headers["Location"] == "/help"


def test_the_page_its_live_part_and_json_tell_the_same(client: FlaskClient) -> None:
    page = client.get("/", headers=BROWSER).text
    live = client.get("/board/live").text
    assert live in page
    document = client.get("/board.json").get_json()
    for place in document["ranking"]:
        assert f"{place['score']:.4f}" in live
    assert document["state"] == "live"
    for whole in (document["log"]["link"], document["public_key"]):
        assert re.fullmatch("[0-9a-f]{64}", whole)
        pinned = f'<code title="{whole}"><span class="start">{whole[:12]}…</span><span class="whole">{whole}</span>'
        assert pinned in live


def test_a_teams_name_in_markup_stays_a_name(client: FlaskClient) -> None:
    for path in ("/", "/?view=projector", "/board/live"):
        text = client.get(path, headers=BROWSER).text
        assert "<script>alert" not in text
        assert "&lt;script&gt;alert" in text


def test_who_has_the_newest_board_gets_304(client: FlaskClient, made: House) -> None:
    for path in ("/", "/board/live", "/board.json"):
        first = client.get(path, headers=BROWSER)
        known = BROWSER | {"If-None-Match": first.headers["ETag"]}
        assert client.get(path, headers=known).status_code == 304
        assert first.headers["Cache-Control"] == ("no-cache" if path == "/" else PUBLIC)
        assert "default-src 'self'" in first.headers["Content-Security-Policy"]
    made.store.announcements.add("jo", "Lunch.", START)
    Publisher(made.contest, Clock()).tick()
    look_again(made)
    assert client.get("/", headers=known).status_code == 200


def test_a_poll_is_packed_for_who_takes_it_and_public_unless_it_bears_a_token(
    client: FlaskClient,
) -> None:
    for path in ("/board/live", "/board.json"):
        plain = client.get(path)
        packed = client.get(path, headers={"Accept-Encoding": "br, gzip;q=0.5"})
        assert gzip.decompress(packed.data) == plain.data
        assert packed.headers["ETag"] == plain.headers["ETag"]
        data = client.get(path, headers={"Accept-Encoding": "gzip;q=0"}).data
        assert data == plain.data
        etag = plain.headers["ETag"].removeprefix("W/")
        for known, status in (
            (f'"a", {etag}', 304),
            ("*", 304),
            ('"a"', 200),
            (",", 200),
        ):
            assert (
                client.get(path, headers={"If-None-Match": known}).status_code == status
            ), known
        own = client.get(path, headers={"Authorization": "Bearer x"})
        assert own.headers["Cache-Control"] == "no-cache"


def test_other_web_sites_may_read_the_board_and_show_its_badge(
    client: FlaskClient,
) -> None:
    board = client.get("/board.json")
    shown = client.get("/badge.svg")
    for answer in (board, shown):
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
        assert answer.headers["Cache-Control"] == PUBLIC
    assert shown.mimetype == "image/svg+xml"
    assert f"{board.get_json()['ranking'][0]['score']:.4f}" in shown.text
    for path in ("/", "/board/live", "/v1/health", "/operator/login"):
        headers = client.get(path, headers=BROWSER).headers
        assert "Access-Control-Allow-Origin" not in headers, path


def test_all_who_look_cost_one_look_at_the_database_in_half_a_second(
    client: FlaskClient,
    made: House,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = []
    real = PublishedTable.get
    monkeypatch.setattr(
        PublishedTable,
        "get",
        lambda table: (looks.append(1), real(table))[1],
    )
    start_s = made.clock.monotonic_s()
    for _ in range(50):
        client.get("/board/live")
    assert len(looks) <= 1 + (made.clock.monotonic_s() - start_s) / LOOK_S


def test_an_operator_freezes_and_unveils_and_both_are_on_record(
    client: FlaskClient,
    made: House,
) -> None:
    def act(what: str, **body: str) -> dict[str, object]:
        answer = client.post(
            f"/operator/board/{what}",
            json=body,
            headers=operator(made),
        )
        assert answer.status_code == 200, answer.text
        document: dict[str, object] = answer.get_json()
        return document

    assert act("freeze")["state"] == "frozen"
    with open_contest(made.folder) as other:  # on disk before it was answered
        row = other.store.published.get()
    assert row is not None
    assert row.state is BoardState.FROZEN
    assert act("freeze")["frozen_utc"] == row.frozen_utc, "it is frozen already"
    assert client.get("/board.json").get_json()["state"] == "frozen"
    assert act("unveil") == {
        "state": "unveiling",
        "frozen_utc": row.frozen_utc,
        "unveiled": 1,
        "places": 2,
    }
    assert [one["rank"] for one in client.get("/board.json").get_json()["ranking"]] == [
        None,
        2,
    ]
    assert "being unveiled" in client.get("/board/live").text.lower()
    assert act("unveil", places="all")["state"] == "live"
    assert [one["rank"] for one in client.get("/board.json").get_json()["ranking"]] == [
        1,
        2,
    ]
    done = [
        one["detail"]
        for one in made.store.log.newest_after(0, 9)[1]
        if one["kind"] == "operator"
    ]
    assert [one["action"] for one in done] == [
        "board-unveil",
        "board-unveil",
        "board-freeze",
    ]
    assert {one["operator"] for one in done} == {"key"}


def test_only_an_operator_does_and_only_what_can_be_done(
    client: FlaskClient,
    made: House,
) -> None:
    assert client.post("/operator/board/freeze", json={}).status_code == 401
    answer = client.post("/operator/board/unveil", json={}, headers=operator(made))
    assert answer.status_code == 409
    assert answer.get_json()["code"] == "board-state"
    client.post("/operator/board/freeze", json={}, headers=operator(made))
    answer = client.post(
        "/operator/board/unveil",
        json={"places": "7"},
        headers=operator(made),
    )
    assert answer.status_code == 400
    assert answer.get_json()["code"] == "bad-json"


def test_of_two_operators_who_unveil_at_once_one_shows_the_place(
    client: FlaskClient,
    made: House,
) -> None:
    def act(what: str, **body: str) -> int:
        return client.post(
            f"/operator/board/{what}",
            json=body,
            headers=operator(made),
        ).status_code

    assert act("freeze") == 200
    assert [
        act("unveil", seen="0"),
        act("unveil", seen="0"),
    ] == [200, 409]
    assert [one["rank"] for one in client.get("/board.json").get_json()["ranking"]] == [
        None,
        2,
    ]


def test_before_anything_is_published_the_board_is_empty(build: Build) -> None:
    made = build()
    closed_run(made.contest, TEAM)
    client = create_app(made.contest, made.control, made.clock).test_client()
    document = client.get("/board.json").get_json()
    live = client.get("/board/live").text
    assert "None" not in live
    assert document["state"] == "live"
    assert document["ranking"] == []
    assert document["contest"] == "Test"


def test_a_static_file_is_asked_for_once_and_by_another_name_when_it_changes(
    client: FlaskClient,
) -> None:
    page = client.get("/", headers=BROWSER).text
    (path,) = re.findall(r'href="(/static/style.css[^"]+)"', page)
    assert "immutable" in client.get(path).headers["Cache-Control"]
    assert client.get(path + "0").headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize("by_hand", [True, False])
def test_a_team_does_not_see_its_own_provisional_score_while_the_board_is_frozen(
    build: Build,
    *,
    by_hand: bool,
) -> None:
    planned = {} if by_hand else {"freeze_at": START.replace(year=2100)}
    made = build(teams_see_score=True, **planned)
    mine = closed_run(made.contest, TEAM, nonce="a")
    utc = START.isoformat()
    made.store.provisional.release(Released(mine.id, utc, utc, 0.4, 0.5, 0.8, 30))
    app = create_app(made.contest, made.control, made.clock)
    client = app.test_client()
    callers = part_of(app, Callers)

    def told() -> object:
        bearing = {"Authorization": f"Bearer {issue_token(callers, mine)}"}
        return client.get("/v1/session", headers=bearing).get_json()["provisional"]

    assert told()["map"] == 0.4  # type: ignore[index]
    if by_hand:
        client.post("/operator/board/freeze", json={}, headers=operator(made))
    else:
        made.clock.advance((planned["freeze_at"] - made.clock.utc()).total_seconds())
    assert told() is None
    client.post("/operator/board/freeze", json={}, headers=operator(made))
    client.post(
        "/operator/board/unveil",
        json={"places": "all"},
        headers=operator(made),
    )
    assert (told() is None) is False
    assert made.store.runs.get(mine.id).state is RunState.CLOSED


def test_the_document_is_json_that_others_can_read(client: FlaskClient) -> None:
    text = client.get("/board.json").text
    assert json.loads(text)["champions"][0]["year"] == 2015
    assert HOSTILE in json.loads(text)["ranking"][1]["team"]


def test_the_board_shows_a_run_in_review_below_the_ranking_and_images_seen_before_as_marks(
    build: Build,
) -> None:
    made = build()
    judge(made.contest, closed_run(made.contest, "voles", 1.0).id, Clock())
    odd = closed_run(made.contest, HOSTILE, 0.5, odd=True)
    made.store.log.append(START, odd.id, "images-seen", images=4, runs=[1])
    judge(made.contest, odd.id, Clock())
    Publisher(made.contest, Clock()).tick()
    client = create_app(made.contest, made.control, made.clock).test_client()
    document = client.get("/board.json").get_json()
    live = client.get("/board/live").text
    assert [(one["rank"], one["team"]) for one in document["ranking"]] == [(1, "voles")]
    (below,) = document["unranked"]
    assert below["rank"] is None
    assert below["not_ranked_code"] == "in-review"
    assert below["images_seen"] == 4
    assert [one["code"] for one in below["failed_checks"]] == ["range-changed"]
    assert [
        one["teams"] for one in document["prizes"] if one["rule"] == "best-score"
    ] == [["voles"]]
    table, _, rest = live.partition("</table>")
    assert "&lt;script&gt;" not in table
    assert "settings were not read back" in rest
    for mark in ("in review", "4 images seen before"):
        assert f">{mark}</span>" in rest
    let_stand(made.contest, odd.id, "jo", "the cable was out", START)
    Publisher(made.contest, Clock()).tick()
    look_again(made)
    live = client.get("/board/live").text.partition("</table>")[0]
    assert ">4 images seen before</span>" in live
    assert live.index("&lt;script&gt;") < live.index("voles"), "it counts from now on"


def test_the_clock_of_a_frozen_board_goes_on(build: Build) -> None:
    made = build()
    run = opened_run(made.contest, "voles")
    made.store.runs.change(
        run.id,
        (RunState.OPEN,),
        opened_utc=made.clock.utc().isoformat(),
    )
    publisher = Publisher(made.contest, made.clock)
    client = create_app(made.contest, made.control, made.clock).test_client()
    left = []
    for _ in range(2):
        publisher.tick()
        look_again(made)
        (shown,) = re.findall(r'data-left="([^"]+)"', client.get("/board/live").text)
        left.append(float(shown))
        client.post("/operator/board/freeze", json={}, headers=operator(made))
        made.clock.advance(100.0)
    assert 100.0 <= left[0] - left[1] < 110.0


def test_a_frozen_board_shows_the_clock_and_no_power(build: Build) -> None:
    made = build(public_score=True)
    run = opened_run(made.contest, "voles", heat="final")
    utc = START.isoformat()
    made.store.provisional.release(Released(run.id, utc, utc, 0.43, 0.86, 0.5, 30))
    Publisher(made.contest, Clock()).tick()
    client = create_app(made.contest, made.control, made.clock).test_client()
    before = client.get("/board/live").text
    assert "0.43" in before
    assert ">Power</dt>" in before
    client.post("/operator/board/freeze", json={}, headers=operator(made))
    # Without machine-readable times: their microseconds may be "0.43".
    frozen = re.sub(r'datetime="[^"]*"', "", client.get("/board/live").text)
    for word in ("Time left", "voles", "heat final"):
        assert word in frozen
    for word in ("Power", "so far", "0.43", "0.86", "36.0"):
        assert word not in frozen


def test_an_interval_by_bootstrap_is_not_shown_as_one_of_today(made: House) -> None:
    with made.store.database.transaction() as connection:
        connection.execute(
            "INSERT INTO intervals (score, level, resamples, seed, map_low, map_high, score_low, score_high)"
            " SELECT id, 0.95, 1000, 1, map, map, score, score FROM scores"
        )
    Publisher(made.contest, Clock()).tick()
    live = (
        create_app(made.contest, made.control, made.clock)
        .test_client()
        .get("/board/live")
        .text
    )
    assert live.count("(by an earlier version, too narrow)") == 2


def test_the_board_says_why_a_judged_run_is_not_on_it(made: House) -> None:
    path = made.contest.folder / "contest.toml"
    path.write_text(f'metric = "coco"\n{path.read_text()}')
    with open_contest(made.contest.folder) as contest:
        Publisher(contest, Clock()).tick()
        live = (
            create_app(contest, made.control, made.clock)
            .test_client()
            .get("/board/live")
            .text
        )
    assert (
        "(run 2: it was judged by other rules or settings than contest.toml has now)"
        in live
    )
