"""Questions that teams ask the jury, and the answers."""

from __future__ import annotations

from datetime import datetime

from referee.errors import RefereeError
from referee.store.acts import Act, put_on_record
from referee.store.database import LARGEST_NUMBER, Database
from referee.store.event_chain import append_event
from referee.store.records import Question
from referee.store.schema import insert

ASKED = "question"
"""Kind of the event when a team asks."""
UNANSWERED = ("id", "answered_utc", "operator", "answer", "to_all")
_COLUMNS = "id, utc, team, text, answered_utc, operator, answer, to_all, wording"
_ALL = f"SELECT {_COLUMNS} FROM questions ORDER BY id DESC"  # noqa: S608 - a constant
_OPEN = "SELECT count(*) FROM questions WHERE team = ? AND answered_utc IS NULL"
_ANSWER = (
    "UPDATE questions SET answered_utc = :utc, operator = :operator, answer = :answer, to_all = :to_all,"
    " wording = :wording"
    " WHERE id = :id"
)


class QuestionTable:
    """Questions of teams; the newest answer to a question replaces an earlier one, which stays in the log."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def ask(self, team: str, text: str, now: datetime, most_open: int) -> int:
        """Store a question and return its number.

        Raises RefereeError `too-many-questions` if `most_open` questions of the team wait for an answer.
        """
        values = dict.fromkeys((*UNANSWERED, "wording"))
        asked = {"utc": now.isoformat(), "team": team, "text": text}
        with self._database.transaction() as connection:
            (waiting,) = connection.execute(_OPEN, (team,)).fetchone()
            if waiting >= most_open:
                raise RefereeError(
                    "too-many-questions",
                    f"{waiting} questions of {team} wait for an answer; ask again once one is answered.",
                )
            made = connection.execute(insert("questions"), values | asked)
            number = int(made.lastrowid or 0)
            detail = {"question": number, "team": team, "text": text}
            append_event(connection, now.isoformat(), None, ASKED, detail)
        return number

    def answer(
        self,
        number: int,
        operator: str,
        text: str,
        now: datetime,
        *,
        to_all: bool,
        wording: str | None = None,
        act: Act | None = None,
    ) -> None:
        """Answer a question, for its team or `to_all`, who read the question as `wording` has it, or as asked.

        Raises RefereeError `question-unknown`.
        """
        values = {
            "id": min(number, LARGEST_NUMBER),
            "utc": now.isoformat(),
            "operator": operator,
            "answer": text,
            "to_all": int(to_all),
            "wording": wording,
        }
        with self._database.transaction() as connection:
            if not connection.execute(_ANSWER, values).rowcount:
                raise RefereeError(
                    "question-unknown", f"There is no question {number}."
                )
            put_on_record(connection, act)

    def get(self, number: int) -> Question:
        """Return a question. Raises RefereeError `question-unknown`."""
        for one in self.all():
            if one.id == number:
                return one
        raise RefereeError("question-unknown", f"There is no question {number}.")

    def all(self) -> list[Question]:
        """Return all questions, newest first."""
        return [
            Question(**dict(row) | {"to_all": bool(row["to_all"])})
            for row in self._database.rows(_ALL)
        ]
