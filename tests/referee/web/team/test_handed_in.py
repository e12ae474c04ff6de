"""A plug-in that hangs is asked once for each team, within a request, and holds up no page."""

from __future__ import annotations

import threading
from importlib.metadata import entry_points

import pytest
from flask import Flask, current_app

from lpirc_testsets.plugins import Plugin
from referee.seams import Pages
from referee.web.plugged_pages import PluggedPages
from referee.web.team import handed_in
from referee.web.team.handed_in import HandedIn
from tests.contest_day import until

APP = "contest"
SCORED: dict[str, object] = {"state": "scored", "file": "a.csv"}
ANT = {"team": "ant", "app": APP}
BEE = {"team": "bee", "app": APP}


class Hanging:
    """A plug-in that hangs while it is told to."""

    def __init__(self) -> None:
        self.may_answer = threading.Event()
        self.asked: list[str] = []

    def handed_in(self, team: str) -> list[dict[str, object]]:
        self.asked.append(team)
        self.may_answer.wait()
        return [SCORED | {"team": team, "app": current_app.name}]


def test_while_a_plug_in_hangs_each_team_sees_what_was_said_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(handed_in, "WAIT_S", 0.01)
    plug_in = Hanging()
    plugin = Plugin(next(iter(entry_points(group="lpirc.pages"))), None)
    offers = ((plugin, Pages(handed_in=plug_in.handed_in)),)
    known = HandedIn(PluggedPages(offers))
    with Flask(APP).test_request_context():
        for _ in range(3):
            assert known.of_team("ant") == known.of_team("bee") == []
        until(lambda: len(plug_in.asked) > 1)
        assert sorted(plug_in.asked) == ["ant", "bee"]

        plug_in.may_answer.set()
        until(lambda: known.of_team("ant") == [SCORED | ANT])
        until(lambda: known.of_team("bee") == [SCORED | BEE])
        plug_in.may_answer.clear()
        assert known.of_team("ant") == [SCORED | ANT], "as said last"
        plug_in.may_answer.set()
