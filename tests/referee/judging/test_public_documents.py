from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from referee.clock import Clock
from referee.contest import Contest, open_contest
from referee.errors import StorageFailed
from referee.judging.board_publisher import Publisher, publish
from referee.judging.freeze import NO_FIGURES, public_view
from referee.judging.judge import judge
from referee.judging.judge_many import judge_with_interval
from referee.judging.public_documents import empty_board, public_board, public_hall
from referee.store.published_board_table import PublishedTable
from referee.store.records import (
    BoardState,
    Provisional,
    Published,
    Released,
    Review,
    RunState,
)
from tests.referee.factories import START, House
from tests.referee.judging.judged_runs import armed_run, closed_run, opened_run

Build = Callable[..., House]
FREEZE = START + timedelta(hours=6)


class SetClock(Clock):
    """Shows the time that a test sets."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def utc(self) -> datetime:
        return self.now


@pytest.fixture
def contest(build: Build) -> Contest:
    return build().contest


def row(contest: Contest) -> Published:
    found = contest.store.published.get()
    assert found is not None
    return found


def teams(contest: Contest) -> list[tuple[int | None, str]]:
    return [
        (place["rank"], place["team"]) for place in public_view(row(contest))["ranking"]
    ]


def judged(
    contest: Contest,
    team: str,
    energy_wh: float = 1.0,
    seed: int = 0,
) -> int:
    run = closed_run(contest, team, energy_wh, seed)
    judge(contest, run.id, Clock())
    return run.id


def frozen(contest: Contest, clock: Clock) -> None:
    contest.store.published.freeze(clock.utc(), empty_board(contest))


def unveiled(contest: Contest, clock: Clock, places: int = 1) -> None:
    final = row(contest).final or public_board(contest, START)
    assert contest.store.published.unveil(
        clock.utc(),
        final,
        row(contest).unveiled,
        places,
    )


def test_an_unveiling_by_an_outdated_page_changes_nothing(contest: Contest) -> None:
    frozen(contest, Clock())
    before = row(contest)
    assert not contest.store.published.unveil(START, public_board(contest, START), 3, 1)
    assert row(contest) == before


def test_the_board_has_what_the_hall_may_know(contest: Contest) -> None:
    judged(contest, "badgers", 2.0)
    judged(contest, "otters", 1.0)
    opened_run(contest, "voles")
    armed_run(contest, "otters", station="two", heat="final")
    contest.store.queue.change(lambda _: ["voles", "otters"])
    contest.store.announcements.add("jo", "Lunch at noon.", START)
    Publisher(contest, SetClock(START + timedelta(seconds=60))).tick()
    board = public_view(row(contest))
    assert [
        (place["rank"], place["team"], place["images"]) for place in board["ranking"]
    ] == [
        (1, "otters", 5),
        (2, "badgers", 5),
    ]
    first, second = board["now"]
    assert first["team"] == "voles"
    assert first["state"] == "open"
    assert first["power_w"] == 36.0
    assert first["ends_utc"] == (START + timedelta(seconds=600)).isoformat()
    assert len(first["power"]["power_w"]) == len(first["power"]["elapsed_s"]) > 5
    assert second["team"] == "otters"
    assert second["state"] == "armed"
    assert second["heat"] == "final"
    assert board["next"] == ["voles", "otters"]
    assert [one["text"] for one in board["announcements"]] == ["Lunch at noon."]
    assert [(one["team"], one["used"]) for one in board["attempts"]] == [
        ("badgers", 1),
        ("otters", 2),
        ("voles", 1),
    ]
    assert [one["year"] for one in board["champions"]] == [2015, 2016, 2017]
    for one in board["champions"]:
        assert one["map"] / one["energy_wh"] == pytest.approx(one["score"], abs=5e-5)


@pytest.mark.parametrize("public", [False, True])
def test_the_score_of_an_open_run_is_public_only_where_the_contest_says_so(
    build: Build,
    *,
    public: bool,
) -> None:
    contest = build(public_score=public).contest
    run = opened_run(contest, "voles")
    at = (START + timedelta(seconds=60)).isoformat()
    contest.store.provisional.set(Provisional(run.id, at, 0.4321, 0.8642, 0.5, 30))
    utc = (START + timedelta(seconds=30)).isoformat()
    contest.store.provisional.release(
        Released(run.id, utc, utc, 0.46, 0.8642, 0.53, 30)
    )
    Publisher(contest, SetClock(START + timedelta(seconds=60))).tick()
    (now,) = public_view(row(contest))["now"]
    told = (0.46, 0.8642, 0.53) if public else (None, None, None)
    assert (now["map"], now["energy_wh"], now["score"]) == told
    assert now["figure_state"] == "fresh"
    assert now["as_of_utc"] == (utc if public else None)
    assert (
        ("0.46" in row(contest).document)
        is ("0.8642" in row(contest).document)
        is public
    )
    assert "0.4321" not in row(contest).document


def test_nothing_that_happens_after_a_freeze_is_published(contest: Contest) -> None:
    publisher = Publisher(contest, Clock())
    clock = Clock()
    judged(contest, "otters")
    publisher.tick()
    before = row(contest)
    document = public_board(contest, START, log=json.loads(before.document)["log"])
    frozen(contest, clock)
    judged(contest, "badgers", 0.5)
    publisher.tick()
    # One that was under way.
    contest.store.published.publish(
        public_board(contest, START),
        "{}",
        clock.utc(),
    )
    assert (
        (row(contest).document, row(contest).utc)
        == (before.document, before.utc)
        == (document, before.utc)
    )
    assert row(contest).state is BoardState.FROZEN


def test_while_the_board_is_frozen_the_hall_goes_on_without_figures(
    build: Build,
) -> None:
    contest = build(public_score=True).contest
    clock = SetClock()
    publisher = Publisher(contest, clock)
    judged(contest, "otters")
    publisher.tick()
    frozen(contest, clock)
    results = row(contest).document
    run = opened_run(contest, "voles", heat="final")
    contest.store.provisional.set(
        Provisional(run.id, START.isoformat(), 0.4321, 0.8642, 0.5, 30)
    )
    armed_run(contest, "badgers", station="two", heat="next")
    contest.store.queue.change(lambda _: ["otters"])
    contest.store.announcements.add("jo", "The buses leave at six.", START)
    clock.now += timedelta(seconds=7)
    publisher.tick()
    board = public_view(row(contest))
    assert row(contest).document == results
    assert [
        (one["team"], one["station"], one["heat"], one["state"]) for one in board["now"]
    ] == [
        ("voles", "one", "final", "open"),
        ("badgers", "two", "next", "armed"),
    ]
    assert board["now"][0]["ends_utc"] == (START + timedelta(seconds=600)).isoformat()
    assert board["utc"] == clock.now.isoformat(), "the clock of the hall"
    assert board["next"] == ["otters"]
    assert [one["text"] for one in board["announcements"]] == [
        "The buses leave at six."
    ]
    for one in board["now"]:
        assert {name: one[name] for name in NO_FIGURES} == NO_FIGURES
    used = [(one["team"], one["used"]) for one in board["attempts"]]
    assert used == [("badgers", 0), ("otters", 1)], (
        "as at the freeze: a void run would lower them"
    )


def test_the_figures_of_a_station_are_those_of_the_run_that_it_has_now(
    build: Build,
) -> None:
    contest = build(public_score=True).contest
    first = opened_run(contest, "voles")
    utc = START.isoformat()
    contest.store.provisional.release(
        Released(first.id, utc, utc, 0.43, 0.8642, 0.5, 30)
    )
    before = public_board(contest, START + timedelta(seconds=60))
    assert "0.8642" in before
    contest.store.runs.change(first.id, (RunState.OPEN,), state="closed")
    armed_run(contest, "otters")
    contest.store.published.publish(before, public_hall(contest, START), START)
    (now,) = public_view(row(contest))["now"]
    assert now["team"] == "otters"
    assert now["map"] is None
    assert now["power_w"] is None


def test_a_board_that_an_earlier_form_froze_stays_frozen_and_gets_its_hall(
    contest: Contest,
) -> None:
    judged(contest, "otters")
    earlier = json.loads(public_board(contest, START)) | {
        "next": ["voles"],
        "announcements": [],
        "now": [],
    }
    del earlier["figures"]
    contest.store.published.publish(json.dumps(earlier), "{}", START)
    frozen(contest, Clock())
    with contest.store.database.transaction() as connection:
        connection.execute("UPDATE published SET hall = NULL, hall_utc = NULL")
    board = public_view(row(contest))
    assert board["state"] == "frozen"
    assert board["utc"] == START.isoformat()
    assert board["next"] == []
    contest.store.queue.change(lambda _: ["otters"])
    Publisher(contest, Clock()).tick()
    board = public_view(row(contest))
    assert board["state"] == "frozen"
    assert board["next"] == ["otters"]
    assert len(board["ranking"]) == 1


def test_a_board_is_unveiled_from_the_last_place_up_then_its_prizes_and_then_it_is_live_again(
    contest: Contest,
) -> None:
    publisher = Publisher(contest, Clock())
    clock = Clock()
    judged(contest, "otters", 1.0)
    judged(contest, "badgers", 2.0)
    publisher.tick()
    frozen(contest, clock)
    judged(contest, "badgers", 0.5)
    judged(contest, "voles", 4.0)
    publisher.tick()
    assert teams(contest) == [(1, "otters"), (2, "badgers")]
    unveiled(contest, clock)
    assert teams(contest) == [
        (None, "otters"),
        (None, "badgers"),
        (3, "voles"),
    ]
    judged(contest, "stoats", 0.45)  # the ranking that is unveiled is fixed
    unveiled(contest, clock)
    assert teams(contest) == [
        (None, "badgers"),
        (2, "otters"),
        (3, "voles"),
    ]
    assert public_view(row(contest))["ranking"][0]["energy_wh"] == 2.0, (
        "as it was frozen"
    )
    unveiled(contest, clock)
    assert row(contest).state == BoardState.UNVEILING
    assert row(contest).unveiled == row(contest).places == 3
    assert teams(contest)[0] == (1, "badgers")
    assert public_view(row(contest))["prizes"] == [], "the winner is seen first"
    unveiled(contest, clock)
    assert row(contest).state == BoardState.LIVE
    assert row(contest).unveiled == 0
    assert public_view(row(contest))["prizes"][0]["teams"] == ["badgers"]
    assert teams(contest) == [
        (1, "badgers"),
        (2, "otters"),
        (3, "voles"),
    ]
    publisher.tick()
    assert teams(contest)[0] == (1, "stoats")


def test_an_unveiled_place_does_not_say_how_it_compares_with_one_that_is_not(
    contest: Contest,
) -> None:
    for team, energy_wh in (
        ("otters", 1.0),
        ("badgers", 1.001),
        ("voles", 1.002),
    ):
        run = closed_run(contest, team, energy_wh)
        judge_with_interval(contest, run.id, Clock())
    Publisher(contest, Clock()).tick()
    frozen(contest, Clock())
    final = json.loads(public_board(contest, START))
    final["ranking"][2]["level_with"] = [
        {"team": "badgers", "chance": 0.6},
        {"team": "otters", "chance": 0.7},
    ]
    contest.store.published.unveil(START, json.dumps(final), 0, 1)
    assert public_view(row(contest))["ranking"][2]["level_with"] == []
    contest.store.published.unveil(START, "", 1, 1)
    assert [
        one["team"] for one in public_view(row(contest))["ranking"][2]["level_with"]
    ] == ["badgers"]


def test_the_board_freezes_at_its_time_with_what_was_known_before(build: Build) -> None:
    contest = build(freeze_at=FREEZE).contest
    clock = SetClock(FREEZE - timedelta(seconds=1))
    publisher = Publisher(contest, clock)
    judged(contest, "otters")
    publisher.tick()
    assert row(contest).state is BoardState.LIVE
    before = row(contest).document
    clock.now = FREEZE
    judged(contest, "badgers")
    publisher.tick()
    assert row(contest).state == BoardState.FROZEN
    assert row(contest).document == before
    assert row(contest).frozen_utc == FREEZE.isoformat()
    assert [one["kind"] for one in contest.store.log.newest_after(0, 9)[1]].count(
        "board-freeze"
    ) == 1
    clock.now = FREEZE + timedelta(hours=1)
    unveiled(contest, clock, places=99)
    publisher.tick()
    judged(contest, "voles")
    publisher.tick()
    assert row(contest).state is BoardState.LIVE, "the time has done its work"
    assert len(teams(contest)) == 3


def test_what_is_read_before_the_freeze_and_published_after_it_is_not_shown(
    build: Build,
) -> None:
    opened = build(freeze_at=FREEZE).contest

    class Slow(SetClock):
        def utc(self) -> datetime:
            judged(opened, "badgers") if self.now < FREEZE else None
            self.now = FREEZE
            return self.now

    Publisher(opened, SetClock(FREEZE - timedelta(seconds=1))).tick()
    judged(opened, "otters")
    Publisher(opened, Slow()).tick()
    assert teams(opened) == []


@pytest.mark.parametrize("was_published", [False, True])
def test_a_server_that_was_down_at_the_freeze_shows_what_was_published_before(
    build: Build,
    *,
    was_published: bool,
) -> None:
    contest = build(freeze_at=FREEZE).contest
    judged(contest, "otters")
    if was_published:
        Publisher(contest, SetClock()).tick()
    judged(contest, "badgers")
    Publisher(contest, SetClock(FREEZE + timedelta(hours=2))).tick()
    assert row(contest).state is BoardState.FROZEN
    assert teams(contest) == ([(1, "otters")] if was_published else [])


def test_a_freeze_by_hand_that_was_unveiled_leaves_the_planned_one(
    build: Build,
) -> None:
    contest = build(freeze_at=FREEZE).contest
    clock = SetClock(FREEZE - timedelta(hours=1))
    publisher = Publisher(contest, clock)
    frozen(contest, clock)
    unveiled(contest, clock, places=1)
    publisher.tick()
    assert row(contest).state is BoardState.LIVE
    clock.now = FREEZE
    publisher.tick()
    assert row(contest).state is BoardState.FROZEN


def test_an_unchanged_board_is_not_written_again(contest: Contest) -> None:
    clock = SetClock()
    publisher = Publisher(contest, clock)
    publisher.tick()
    clock.now += timedelta(seconds=1)
    publisher.tick()
    assert row(contest).utc == START.isoformat()
    opened_run(contest, "voles")
    for second in (2, 3):
        clock.now = START + timedelta(seconds=second)
        publisher.tick()
        assert row(contest).utc == clock.now.isoformat(), (
            "the clock of an open run needs the time"
        )


def test_what_fails_is_tried_again(
    contest: Contest,
    until: Callable[[Callable[[], object]], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    real = PublishedTable.publish
    fails = [StorageFailed("The disk is full."), ValueError("a defect")]

    def failing(self: PublishedTable, *given: Any) -> None:
        if fails:
            raise fails.pop(0)
        real(self, *given)

    monkeypatch.setattr(PublishedTable, "publish", failing)
    stop = threading.Event()
    clock = Clock()
    monkeypatch.setattr("referee.judging.board_publisher.TICK_S", 0.01)
    thread = threading.Thread(target=publish, args=(contest, clock, stop))
    thread.start()
    try:
        until(contest.store.published.get)
    finally:
        stop.set()
        thread.join()
    assert "The disk is full." in caplog.text
    assert "a defect" in caplog.text


ACTIONS = (
    "judge",
    "judge fully",
    "void",
    "unvoid",
    "review",
    "energy",
    "new run",
    "disable",
)


@pytest.fixture
def busy(contest: Contest) -> Contest:
    for seed, team in enumerate(("otters", "badgers", "voles")):
        closed_run(contest, team, 1.0 + seed / 10, seed)
    return contest


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(ACTIONS), st.integers(0, 9)),
        min_size=1,
        max_size=8,
    )
)
def test_the_published_board_is_always_that_of_a_full_recomputation(
    busy: Contest,
    steps: list[tuple[str, int]],
) -> None:
    """The examples go on from what the earlier ones left: the publisher has seen all of it."""
    publisher = Publisher(busy, Clock())
    for action, pick in steps:
        act(busy, action, pick)
        publisher.tick()
        with open_contest(busy.folder) as again:
            published = json.loads(row(busy).document)
            assert published == json.loads(
                public_board(again, START, log=published["log"])
            ), action


def act(contest: Contest, action: str, pick: int) -> None:
    store = contest.store
    runs = contest.store.runs.find()
    run = runs[pick % len(runs)]
    over = (RunState.CLOSED, RunState.JUDGED)
    if action == "new run":
        closed_run(contest, run.team, 0.5 + pick / 10, pick)
    elif action == "disable":
        store.teams.set_disabled(run.team, pick % 2 == 0)
    elif action == "review":
        store.reviews.add(run.id, Review("jo", "It stands.", START.isoformat(), ()))
    elif action == "unvoid" and run.state is RunState.VOID:
        state = RunState.JUDGED if store.scores.latest(run.id) else RunState.CLOSED
        store.runs.change(run.id, (RunState.VOID,), state=state.value, void_reason=None)
    elif run.state in over and action == "void":
        store.runs.change(run.id, over, state=RunState.VOID.value, void_reason="a test")
    elif run.state in over and action == "energy":
        store.runs.change(run.id, over, energy_wh=0.7 + pick / 10)
    elif run.state in over and action.startswith("judge"):
        judging = judge_with_interval if action == "judge fully" else judge
        judging(contest, run.id, Clock())


def test_the_board_has_the_newest_link_of_the_log_and_none_newer_while_frozen(
    contest: Contest,
) -> None:
    clock = SetClock(START)
    publisher = Publisher(contest, clock)
    store = contest.store

    def pinned() -> dict[str, Any]:
        publisher.tick()
        board = public_view(row(contest))
        assert board["public_key"] == contest.key.public
        log: dict[str, Any] = board["log"]
        return log

    def at(seconds: float, number: int) -> dict[str, Any]:
        clock.now = START + timedelta(seconds=seconds)
        store.log.append(clock.now, None, "odd", number=number)
        return pinned()

    events, _, link = store.log.head()
    assert pinned() == {
        "utc": START.isoformat(),
        "events": events,
        "link": link,
    }
    clock.now = START + timedelta(seconds=58)
    assert pinned()["utc"] == START.isoformat(), "the page stands still"
    second = at(59, 1)
    assert second == {
        "utc": "2026-05-04T09:00:59+00:00",
        "events": events + 1,
        "link": store.log.head()[2],
    }
    clock.now = START + timedelta(seconds=120)
    assert pinned()["utc"] == "2026-05-04T09:02:00+00:00", "it is the newest still"
    store.published.freeze(clock.now, "")
    assert at(600, 3)["utc"] == "2026-05-04T09:02:00+00:00"
