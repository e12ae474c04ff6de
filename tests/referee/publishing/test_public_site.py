"""The document of a site while the board is frozen in the middle of its making, and the courses of heats in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from unittest import mock

import pytest

from referee.judging.public_documents import empty_board, public_board
from referee.publishing import public_site
from referee.publishing.public_site import site_document
from tests.referee.factories import House
from tests.referee.publishing.conftest import LATER, judged

SECOND = timedelta(seconds=1)


def shown_runs(made: House, utc: Callable[[], datetime]) -> list[int]:
    return site_document(made.contest, LATER, utc).runs


@pytest.mark.parametrize("by_hand", [True, False])
def test_a_result_after_a_freeze_that_comes_while_the_site_is_made_is_not_shown(
    made: House, *, by_hand: bool
) -> None:
    before = shown_runs(made, lambda: LATER)
    times = {"now": LATER}
    newer = []
    if not by_hand:
        freeze_at = LATER + SECOND
        config = replace(made.contest.config, freeze_at=freeze_at)
        made.contest = replace(made.contest, config=config)

    def slow(*args: Any, **known: Any) -> str:
        times["now"] = LATER + 2 * SECOND
        if by_hand:
            made.store.published.freeze(LATER + SECOND, empty_board(made.contest))
        newer.append(judged(made.contest, "badgers", 0.01))
        return public_board(*args, **known)

    with mock.patch.object(public_site, "public_board", slow):
        shown = shown_runs(made, lambda: times["now"])
    assert shown == before
    assert newer[0] not in shown


def test_the_course_of_a_heat_is_that_of_the_board(made: House) -> None:
    course = {"elapsed_s": [30.0, 60.0], "energy_wh": [0.1, 0.2], "score": [4.0, 5.0]}
    row = made.store.published.get()
    assert row is not None
    side = {"run": 1, "course": course}
    document = json.loads(row.document) | {"heats": [{"sides": [side]}]}
    made.store.published.publish(json.dumps(document), row.hall or "", LATER)
    taken = []

    def noted(*args: Any, **known: Any) -> str:
        taken.append(known["before"])
        return public_board(*args, **known)

    with mock.patch.object(public_site, "public_board", noted):
        site_document(made.contest, LATER, lambda: LATER)
    assert json.loads(taken[0].document)["heats"][0]["sides"][0]["course"] == course
