"""Which image each answer of a task other than boxes is for; the answers themselves are in the bodies of `posts`."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from referee.store.database import Database

_INSERT = "INSERT INTO answers (run, image, post) VALUES (?, ?, ?)"
_OF_RUN = (
    "SELECT answers.image, elapsed_s FROM answers JOIN posts ON posts.id = post"
    " WHERE answers.run = ? ORDER BY answers.rowid DESC"
)
_BODIES = (
    "SELECT id, body, content_type FROM posts WHERE run = ? AND id > ? ORDER BY id"
)
_AFTER = "SELECT image FROM answers WHERE run = ? AND post > ? ORDER BY rowid"


class AnswerTable:
    """The answered images of all runs; append-only."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def answered(self, run: int) -> dict[int, float]:
        """Return when each image of a run was first answered, in seconds since its start, by the team's numbers."""
        rows = self._database.rows(_OF_RUN, run)
        return {row["image"]: row["elapsed_s"] for row in rows}

    def after(self, run: int, post: int) -> NDArray[np.int64]:
        """Return the image of each answer of the posts after post `post` (0: all), in order of arrival."""
        rows = self._database.rows(_AFTER, run, post)
        return np.array([row["image"] for row in rows], np.int64)

    def bodies_after(self, run: int, post: int) -> tuple[list[tuple[bytes, str]], int]:
        """Return body and content type of the posts after post `post` (0: all), and the id of the last post."""
        rows = self._database.rows(_BODIES, run, post)
        bodies = [(row["body"] or b"", row["content_type"] or "") for row in rows]
        return bodies, int(rows[-1]["id"]) if rows else post


def insert_answers(
    connection: sqlite3.Connection,
    run: int,
    post: int,
    images: Sequence[int],
) -> None:
    """Insert the images that a post answers, in the transaction that stores the post."""
    connection.executemany(_INSERT, [(run, image, post) for image in images])
