"""The badge of a contest: well-formed whatever the names are, and no wider than a line."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from referee.pages.badge import LONGEST_TEXT, badge

HOSTILE = "<script>alert('1')</script>\x00\x1b&\"" + "w" * 200


def board(**different: Any) -> dict[str, Any]:
    place = {"rank": 1, "team": "otters", "score": 0.5}
    return {"contest": "LPIRC", "state": "live", "ranking": [place]} | different


@pytest.mark.parametrize("text", ["otters", HOSTILE, "", "Łódź 東京", "\ud800"])
def test_any_name_makes_a_well_formed_picture_of_bounded_width(text: str) -> None:
    place = {"rank": 1, "team": text, "score": 0.5}
    made = badge(board(contest=text, ranking=[place]))
    root = ElementTree.fromstring(made.encode("utf-8", "replace"))  # noqa: S314 - our own
    assert int(root.attrib["width"]) < 2 * (LONGEST_TEXT + 12) * 7 + 30
    assert not [one for one in root.iter() if one.tag.endswith("script")]


def test_it_says_who_leads_and_how_the_board_stands() -> None:
    assert "otters 0.5000</text>" in badge(board())
    assert "otters 0.5000 (frozen)</text>" in badge(board(state="frozen"))
    assert "no rank yet" in badge(board(ranking=[]))
    hidden = [{"rank": None, "team": "otters", "score": 0.5}]
    assert "otters" not in badge(board(state="unveiling", ranking=hidden))


def test_a_long_name_hides_neither_the_score_nor_that_the_board_is_frozen() -> None:
    place = {"rank": 1, "team": "w" * 200, "score": 0.5}
    made = badge(board(state="frozen", ranking=[place]))
    assert "w… 0.5000 (frozen)</text>" in made


def test_of_teams_that_share_the_first_rank_none_is_said_to_lead_alone() -> None:
    first, other = ({"rank": 1, "team": team, "score": 0.5} for team in ("a", "b"))
    assert "a and 1 more 0.5000</text>" in badge(board(ranking=[first, other]))
