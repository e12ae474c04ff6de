"""With publish_by a judgement is public once the jury has confirmed and published it: as many people as it says."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from referee.contest import Contest
from referee.errors import RefereeError
from referee.judging.judge import judge
from referee.judging.jury_decisions import (
    Awaited,
    Seen,
    barred_from_publishing,
    confirm,
    is_published,
    publish,
    unpublished,
)
from referee.judging.jury_people import ADDED, SET_UP
from referee.judging.standings import standings
from referee.store.records import Review
from tests.referee.factories import START, House, StillClock
from tests.referee.judging.judged_runs import closed_run

LATER = START + timedelta(minutes=1)
JUDGED = Seen(START.isoformat())
Build = Callable[..., House]


@pytest.fixture
def by(build: Build) -> Callable[[int], Contest]:
    """A contest with that publish_by, and a judged run of each of two teams."""

    def make(publish_by: int) -> Contest:
        contest = build(publish_by=publish_by).contest
        for seed, team in enumerate(("ant", "bee")):
            run = closed_run(contest, team, 1.0 + seed, seed)
            judge(contest, run.id, StillClock())
        return contest

    return make


def ranked(contest: Contest, *, published_only: bool) -> list[int]:
    found = standings(contest, published_only=published_only)
    return [place.standing.run for place in found.places]


def code_of(contest: Contest, decide: Callable[..., None], who: str) -> str:
    with pytest.raises(RefereeError) as failure:
        decide(contest, 1, JUDGED, who, LATER)
    assert len(failure.value.sentence) > 20
    return failure.value.code


def test_without_publish_by_a_judgement_is_public_at_once_and_nothing_is_to_be_decided(
    by: Callable[[int], Contest],
) -> None:
    contest = by(0)
    assert ranked(contest, published_only=True) == [1, 2]
    assert unpublished(contest) == {}
    assert code_of(contest, confirm, "Eva") == "nothing-to-publish"


def test_one_person_may_confirm_and_publish_where_one_is_enough(
    by: Callable[[int], Contest],
) -> None:
    contest = by(1)
    assert unpublished(contest) == dict.fromkeys((1, 2), Awaited.CONFIRMATION)
    assert code_of(contest, publish, "Eva") == "not-confirmed"
    confirm(contest, 1, JUDGED, "key as eva", LATER)
    assert unpublished(contest)[1] is Awaited.PUBLICATION
    assert ranked(contest, published_only=True) == []
    publish(contest, 1, JUDGED, "key as eva", LATER)
    assert is_published(contest, 1)
    assert ranked(contest, published_only=True) == [1]
    assert ranked(contest, published_only=False) == [1, 2], "operators see all"
    by_run = {
        place.standing.run: place.standing.is_published
        for place in standings(contest).places
    }
    assert by_run == {1: True, 2: False}, "with a mark"


def test_of_two_people_each_is_proved_by_a_log_in_and_they_are_two(
    by: Callable[[int], Contest],
) -> None:
    contest = by(2)
    for key in ("key", "key as Eva", "key as Max", "command"):
        assert code_of(contest, confirm, key) == "second-person"
    confirm(contest, 1, JUDGED, "Eva", LATER)
    for who in ("Eva", "key", "key as Max"):
        assert code_of(contest, publish, who) == "second-person"
    assert not is_published(contest, 1)
    publish(contest, 1, JUDGED, "Max", LATER)
    assert is_published(contest, 1)
    assert code_of(contest, publish, "Max") == "decided-already"


def test_a_run_confirmed_by_the_key_before_the_contest_asked_for_two_is_not_half_decided(
    by: Callable[[int], Contest], build: Build
) -> None:
    contest = by(1)
    confirm(contest, 1, JUDGED, "key as eva", LATER)
    object.__setattr__(contest.config, "publish_by", 2)
    assert code_of(contest, publish, "Max") == "second-person"


def test_a_run_that_is_judged_again_is_hidden_until_that_judgement_is_published(
    by: Callable[[int], Contest],
) -> None:
    contest = by(1)
    confirm(contest, 1, JUDGED, "Eva", LATER)
    publish(contest, 1, JUDGED, "Eva", LATER)
    judge(contest, 1, StillClock(30.0))
    assert not is_published(contest, 1)
    assert code_of(contest, confirm, "Eva") == "judged-again", "he saw the former one"


def test_a_review_after_publishing_counts_for_the_public_once_it_was_decided_on(
    by: Callable[[int], Contest],
) -> None:
    """Else one person alone could give a rank to a run that two have published as in review."""
    contest = by(2)
    confirm(contest, 1, JUDGED, "Eva", LATER)
    publish(contest, 1, JUDGED, "Max", LATER)
    contest.store.reviews.add(1, Review("Max", "Fine.", LATER.isoformat(), ("x",)))
    assert unpublished(contest)[1] is Awaited.CONFIRMATION
    assert code_of(contest, confirm, "Eva") == "judged-again", "unseen: the review"
    seen = Seen(START.isoformat(), LATER.isoformat())
    confirm(contest, 1, seen, "Eva", LATER)
    publish(contest, 1, seen, "Max", LATER)
    assert is_published(contest, 1)


def test_a_run_that_is_not_judged_cannot_be_confirmed(build: Build) -> None:
    contest = build(publish_by=1).contest
    closed_run(contest, "ant")
    assert code_of(contest, confirm, "Eva") == "run-state"
    with pytest.raises(RefereeError, match="99"):
        confirm(contest, 99, JUDGED, "Eva", LATER)


def test_of_two_who_publish_at_once_one_is_told_that_it_was_done(
    by: Callable[[int], Contest],
    threads: ThreadPoolExecutor,
) -> None:
    contest = by(2)
    confirm(contest, 1, JUDGED, "Eva", LATER)

    def try_it(who: str) -> str:
        try:
            publish(contest, 1, JUDGED, who, LATER)
        except RefereeError as error:
            return error.code
        return "done"

    outcomes = sorted(threads.map(try_it, [f"juror {one}" for one in range(8)]))
    assert outcomes == ["decided-already"] * 7 + ["done"]
    (decisions,) = contest.store.decisions.latest().values()
    assert len(decisions) == 2


def registered(contest: Contest, name: str, by: str, during: str | None = None) -> None:
    """Register an operator as the page of the settings does."""
    store = contest.store
    if name in store.operators.password_hashes():
        store.operators.remove(name)
    detail = {"operator": by, "action": ADDED, "name": name, "during": during}
    with store.log.act(LATER, None, **detail) as under_way:
        store.operators.add(name, "no hash", LATER, under_way)


def test_an_account_that_the_same_person_has_registered_is_no_second_person(
    by: Callable[[int], Contest],
) -> None:
    """Ann confirms, registers Bob, logs in as Bob; or has Bob register Cid; or registers both and is neither."""
    contest = by(2)
    registered(contest, "Ann", "command")
    registered(contest, "Eva", "key")
    registered(contest, "Max", "Ann", during=SET_UP)
    registered(contest, "Bob", "Ann")
    registered(contest, "Cid", "Bob")
    confirm(contest, 1, JUDGED, "Ann", LATER)
    for name in ("Bob", "Cid"):
        with pytest.raises(RefereeError) as failure:
            publish(contest, 1, JUDGED, name, LATER)
        assert failure.value.code == "second-person"
        assert f"Ann has registered {name}" in failure.value.sentence
    registered(contest, "Eva", "Bob")
    assert code_of(contest, publish, "Eva") == "second-person", "a new password of Eva"
    publish(contest, 1, JUDGED, "Max", LATER)
    assert is_published(contest, 1)


def test_removing_the_account_that_confirmed_does_not_make_a_second_person(
    by: Callable[[int], Contest],
) -> None:
    contest = by(2)
    registered(contest, "Bob", "Ann")
    confirm(contest, 1, JUDGED, "Bob", LATER)
    contest.store.operators.remove("Bob")
    registered(contest, "Ann", "Bob")
    assert code_of(contest, publish, "Ann") == "second-person"
    publish(contest, 1, JUDGED, "Eva", LATER)
    assert is_published(contest, 1)


def test_who_confirmed_is_named_as_one_who_cannot_publish(
    by: Callable[[int], Contest],
) -> None:
    contest = by(2)
    registered(contest, "Eva", "command")
    registered(contest, "Max", "command")
    registered(contest, "Bob", "Eva")
    assert barred_from_publishing(contest) == {}
    confirm(contest, 1, JUDGED, "Bob", LATER)
    assert barred_from_publishing(contest) == {1: ["Bob", "Eva"]}
    publish(contest, 1, JUDGED, "Max", LATER)
    assert barred_from_publishing(contest) == {}
