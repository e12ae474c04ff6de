"""Who takes part in the day, each with a browser of their own, and what must hold of every page that they see."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.browser import assert_accessible
from tests.end_to_end.hall import Board, Hall

if TYPE_CHECKING:
    from playwright.sync_api import Page, ViewportSize

WIDTHS = (360, 768, 1440, 1920)
PHONE: ViewportSize = {"width": 360, "height": 900}
DESK: ViewportSize = {"width": 1440, "height": 900}


@dataclass
class Day:
    """The hall, and the browsers of ruth and eve, who are operators, and of a spectator."""

    hall: Hall
    ruth: Page
    eve: Page
    viewer: Page
    boards: dict[str, Board] = field(default_factory=dict)
    frozen: list[str] = field(default_factory=list)
    frozen_rows: list[str] = field(default_factory=list)

    def board(self, team: str) -> Board:
        """A team's board; each team is a little better than those whose board came before."""
        share = 0.4 + 0.03 * len(self.boards)
        return self.boards.setdefault(team, Board(self.hall, team, share))


def fits(page: Page) -> None:
    """The page fits every screen."""
    for width in reversed(WIDTHS):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.set_viewport_size(DESK)


def whole(page: Page) -> None:
    """The page fits every screen, and has nothing to complain of on a phone in the dark and on a desk.

    For states that only a whole day has: the tests of each page visit the others.
    """
    fits(page)
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size(PHONE)
    assert_accessible(page)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(DESK)
    assert_accessible(page)
