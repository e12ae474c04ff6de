"""Questions to the jury: asked by a team, answered by an operator, for the team alone or for all, without a name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from referee.contest import read_secrets
from referee.web.question_texts import LONGEST_TEXT, teams_named
from tests.contest_day import PASSWORD, TEAM, Day, Server, problem, until
from tests.referee.web.team.team_sessions import TeamBrowser, team_browser

MARKUP = "<script>alert(1)</script> & <b>bold</b>"


@pytest.fixture
def asked(day: Callable[..., Day]) -> Day:
    return day(teams=(TEAM, "bee"))


def server_of(day: Day) -> Server:
    assert day.server is not None
    return day.server


def answered(day: Day, number: int, text: str, **more: str) -> int:
    key = read_secrets(day.folder)[1].hex()
    path = f"/operator/questions/{number}/answer"
    given = server_of(day).ask("POST", path, key, json={"answer": text} | more)
    return given.status_code


def public_answers(day: Day) -> list[dict[str, str]]:
    found: list[dict[str, str]] = (
        server_of(day).ask("GET", "/board.json").json()["answers"]
    )
    return found


def test_a_private_answer_is_its_team_s_alone_and_one_to_all_names_nobody(
    asked: Day,
) -> None:
    ant = team_browser(server_of(asked))
    bee = team_browser(server_of(asked), "bee")
    first = ant.question("May we\r\nuse a fan?")
    assert first.status_code == 201
    second = bee.question(MARKUP).json()["id"]
    number = first.json()["id"]
    assert answered(asked, number, "Yes, but\nit is metered.") == 200
    (own,) = ant.view()["questions"]
    assert own["text"] == "May we\nuse a fan?"
    assert own["answer"] == "Yes, but\nit is metered."
    assert not own["to_all"]
    assert [one["text"] for one in bee.view()["questions"]] == [MARKUP]
    assert bee.view()["answers"] == []
    assert "fan" not in bee.ask("GET", "/team/").text
    assert public_answers(asked) == []

    assert answered(asked, second, MARKUP, to_all="yes") == 200
    (shared,) = ant.view()["answers"]
    assert (shared["question"], shared["answer"]) == (MARKUP, MARKUP)
    assert bee.view()["answers"] == []
    until(lambda: public_answers(asked))
    assert public_answers(asked) == [shared]
    board = server_of(asked).ask("GET", "/board/live").text
    for page in (board, ant.ask("GET", "/team/").text, bee.ask("GET", "/team/").text):
        assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &lt;b&gt;" in page
        assert "<script>alert" not in page
    assert "bee" not in str(shared)
    # "bee" are three digits of a hexadecimal number, too.
    assert "bee" not in ant.ask("GET", "/team/").text.replace(ant.csrf, "")

    # A better answer replaces the first one, and may take it back from the others.
    assert answered(asked, second, "No.") == 200
    assert ant.view()["answers"] == []
    until(lambda: not public_answers(asked))


def test_three_questions_wait_at_most_and_an_answer_makes_room(asked: Day) -> None:
    ant = team_browser(server_of(asked))
    numbers = [ant.question(f"Question {one}").json()["id"] for one in range(3)]
    problem(ant.question("A fourth"), 429, "too-many-questions")
    bee = team_browser(server_of(asked), "bee")
    assert bee.question("Of another team").status_code == 201
    assert answered(asked, numbers[1], "So it is.") == 200
    assert ant.question("A fourth").status_code == 201


@pytest.mark.parametrize(
    ("text", "is_taken"),
    [
        ("x" * LONGEST_TEXT, True),
        ("x\n" * (LONGEST_TEXT // 2), True),
        ("\U0001f99f" * LONGEST_TEXT, True),
        ("x" * (LONGEST_TEXT + 1), False),
        (" \n \t", False),
        ("a\x00b", False),
        ("a\u202eb", False),
        ("a\x1b[31mb", False),
    ],
)
def test_a_question_is_printable_text_of_bounded_length(
    asked: Day,
    text: str,
    is_taken: bool,
) -> None:
    ant = team_browser(server_of(asked))
    given = ant.question(text)
    if is_taken:
        assert given.status_code == 201, given.text
        assert ant.view()["questions"][0]["text"] == text.strip()
    else:
        assert given.status_code == 400
        assert ant.view()["questions"] == []


def test_without_its_csrf_token_a_session_asks_nothing(asked: Day) -> None:
    ant = team_browser(server_of(asked))
    bee = team_browser(server_of(asked), "bee")
    for csrf in ("", "0" * 32, bee.csrf, "é"):
        refused = ant.question("Whose?", csrf.encode().decode("latin-1"))
        problem(refused, 401, "bad-token")
    form = {"text": "Whose?", "csrf": bee.csrf}
    problem(ant.ask("POST", "/team/questions", data=form), 401, "bad-token")
    by_password = server_of(asked).ask(
        "POST", "/team/questions", auth=(TEAM, PASSWORD), json={"text": "Whose?"}
    )
    problem(by_password, 401, "bad-token")
    assert ant.view()["questions"] == []


def test_a_form_that_is_refused_comes_back_with_its_text(asked: Day) -> None:
    ant = team_browser(server_of(asked))
    for one in range(3):
        form = {"text": f"Question {one}", "csrf": ant.csrf}
        sent = ant.ask("POST", "/team/questions", data=form)
        assert sent.headers["Location"] == "/team/#questions"
    kept = ant.ask(
        "POST", "/team/questions", data={"text": "</textarea>Why?", "csrf": ant.csrf}
    )
    assert kept.status_code == 429
    assert "&lt;/textarea&gt;Why?</textarea>" in kept.text
    assert "3 questions of ant wait" in kept.text


def test_only_operators_answer_and_each_answer_is_on_record(asked: Day) -> None:
    ant = team_browser(server_of(asked))
    number = ant.question("Why?").json()["id"]
    path = f"/operator/questions/{number}/answer"
    refused = ant.ask("POST", path, json={"answer": "Because."})
    problem(refused, 401, "bad-token")
    assert answered(asked, number + 1, "Because.") == 404
    assert answered(asked, 10**30, "Because.") == 404
    for answer, more in (("Because.", {"to_all": "maybe"}), ("x" * 2001, {})):
        assert answered(asked, number, answer, **more) == 400
    assert answered(asked, number, "Because.", to_all="yes") == 200
    key = read_secrets(asked.folder)[1].hex()
    status = server_of(asked).ask("GET", "/operator/status", key).json()
    (question,) = status["questions"]
    assert (question["team"], question["text"]) == (TEAM, "Why?")
    assert (question["operator"], question["answer"]) == ("key", "Because.")
    kinds = [(one["kind"], one["detail"].get("action")) for one in status["events"]]
    assert ("operator", "answer") in kinds
    assert ("question", None) in kinds


def test_a_team_that_is_refused_reads_why_on_its_page(asked: Day) -> None:
    ant = team_browser(server_of(asked))
    token = asked.login()["token"]
    body = [[1, 99, 0.5, 0, 0, 5, 5]]
    problem(asked.post(token, body), 422, "bad-rows")

    def refusals(browser: TeamBrowser) -> list[str]:
        return [one["code"] for one in browser.view()["refusals"]]

    until(lambda: "bad-rows" in refusals(ant))
    assert "bad-rows" in ant.ask("GET", "/team/").text
    assert refusals(team_browser(server_of(asked), "bee")) == []


def test_everyone_reads_no_team_s_name_in_a_text_that_the_jury_has_not_looked_at(
    asked: Day,
) -> None:
    """A team signs its question, to be named on the board; so does an answer by mistake."""
    bee = team_browser(server_of(asked), "bee")
    number = bee.question("May we use a fan? \u2013 Team BEE").json()["id"]
    assert answered(asked, number, "Yes.", to_all="yes") == 409
    worded = {"to_all": "yes", "wording": "May a team use a fan?"}
    assert answered(asked, number, "Yes, bee.", **worded) == 409
    assert public_answers(asked) == []
    assert answered(asked, number, "Yes, beekeepers may.", **worded) == 200
    until(lambda: public_answers(asked))
    (shared,) = public_answers(asked)
    assert shared["question"] == "May a team use a fan?"
    assert bee.view()["questions"][0]["text"].endswith("Team BEE"), "its own words"
    named = {"to_all": "yes", "may_name": "yes"}
    assert answered(asked, number, "Yes.", **named) == 200
    until(lambda: public_answers(asked)[0]["question"].endswith("BEE"))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("signed: Team GAMMA.", True),
        ("from gam\u200dma", True),
        ("from \uff27\uff41\uff4d\uff4d\uff41", True),
        ("the Long  Name\nasks", True),
        ("gammas and a long-name", False),
    ],
)
def test_a_name_is_found_however_it_is_written_and_not_within_other_words(
    text: str,
    *,
    names: bool,
) -> None:
    assert bool(teams_named(text, ["Gamma", "long name"])) is names
