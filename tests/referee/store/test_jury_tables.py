"""What the jury writes: notes on runs, decisions on judgements, answers to teams' questions."""

from __future__ import annotations

from datetime import timedelta

import pytest

from referee.errors import RefereeError
from referee.store import Store
from referee.store.records import Decision, DecisionKind, Note, Score
from tests.referee.factories import START, stored_run

LATER = START + timedelta(minutes=1)
CONFIRMED = DecisionKind.CONFIRMED
PUBLISHED = DecisionKind.PUBLISHED


@pytest.fixture
def judged(store: Store) -> Store:
    """A store with a run that is judged."""
    store.teams.add("Anna", "hash", START)
    stored_run(store, team="Anna")
    judge(store, START.isoformat())
    return store


def judge(store: Store, judged_utc: str) -> None:
    store.scores.add(
        Score(1, judged_utc, 0.2, 2.0, 0.1, 9.0, 5, 17, {1: 0.2}, "lpirc|x", ())
    )


def code_of(failure: pytest.ExceptionInfo[RefereeError]) -> str:
    return failure.value.code


def test_notes_of_a_run_are_listed_in_the_order_in_which_they_were_written(
    judged: Store,
) -> None:
    judged.notes.add(1, "Eva", "The cable was loose.", START)
    judged.notes.add(1, "Max", "It was put right.", LATER)
    first, second = judged.notes.of_run(1)
    assert first == Note(START.isoformat(), "Eva", "The cable was loose.")
    assert second.operator == "Max"
    assert judged.notes.counts() == {1: 2}
    assert judged.notes.of_run(2) == []


def test_a_decision_belongs_to_one_judgement_and_another_one_needs_its_own(
    judged: Store,
) -> None:
    judged.decisions.add(1, START.isoformat(), CONFIRMED, "Eva", START)
    judged.decisions.add(1, START.isoformat(), PUBLISHED, "Max", LATER)
    assert judged.decisions.latest() == {
        1: [
            Decision(START.isoformat(), "Eva", CONFIRMED),
            Decision(LATER.isoformat(), "Max", PUBLISHED),
        ]
    }
    judge(judged, LATER.isoformat())
    assert judged.decisions.latest() == {}


def test_of_two_who_publish_at_once_one_is_told_that_it_is_done(judged: Store) -> None:
    judged.decisions.add(1, START.isoformat(), PUBLISHED, "Eva", START)
    with pytest.raises(
        RefereeError, match="Run 1 is published already, by Eva at 09:00:00 UTC"
    ) as failure:
        judged.decisions.add(1, START.isoformat(), PUBLISHED, "Max", LATER)
    assert code_of(failure) == "decided-already"


def test_nobody_decides_on_a_judgement_that_another_one_has_replaced(
    judged: Store,
) -> None:
    judge(judged, LATER.isoformat())
    with pytest.raises(RefereeError, match="again meanwhile") as failure:
        judged.decisions.add(1, START.isoformat(), CONFIRMED, "Eva", LATER)
    assert code_of(failure) == "judged-again"


def test_a_question_waits_for_its_answer_and_keeps_it(judged: Store) -> None:
    number = judged.questions.ask("Anna", "May we use a fan?", START, 3)
    judged.questions.answer(number, "Eva", "Yes.", LATER, to_all=True)
    (found,) = judged.questions.all()
    assert found.team == "Anna"
    assert found.answer == "Yes."
    assert found.to_all
    assert judged.log.newest_after(0, 1)[1][0]["kind"] == "question"


def test_a_team_has_only_so_many_questions_open(judged: Store) -> None:
    first = judged.questions.ask("Anna", "One?", START, 2)
    judged.questions.ask("Anna", "Two?", START, 2)
    with pytest.raises(RefereeError, match="2 questions of Anna wait") as failure:
        judged.questions.ask("Anna", "Three?", START, 2)
    assert code_of(failure) == "too-many-questions"
    judged.questions.answer(first, "Eva", "Yes.", LATER, to_all=False)
    judged.questions.ask("Anna", "Three?", LATER, 2)


def test_an_answer_needs_a_question(judged: Store) -> None:
    with pytest.raises(RefereeError, match="no question 7") as failure:
        judged.questions.answer(7, "Eva", "Yes.", LATER, to_all=False)
    assert code_of(failure) == "question-unknown"


def test_an_announcement_is_shown_until_it_expires(store: Store) -> None:
    store.announcements.add("Eva", "Lunch at 12.", START, expires=LATER)
    store.announcements.add("Eva", "Welcome.", START)
    shown = [one["text"] for one in store.announcements.standing(START)]
    assert shown == ["Welcome.", "Lunch at 12."]
    shown = [one["text"] for one in store.announcements.standing(LATER)]
    assert shown == ["Welcome."]
