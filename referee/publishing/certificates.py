"""Certificates: one sheet for each ranked team, as PDF, or as a page where no PDF can show it all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lpirc_score.tasks.words import words_of
from referee.errors import RefereeError
from referee.pages import page_style, template_environment
from referee.publishing.printed_glyphs import lacks_glyphs
from referee.publishing.public_site import team_page_name

CERTIFICATES = "certificates"
LONG = 24
VERY_LONG = 60


@dataclass(frozen=True)
class Prize:
    """A prize of a team, and how many teams share it."""

    name: str
    shared_by: int


def write_certificates(
    board: Mapping[str, Any], folder: Path, left_out: list[str]
) -> dict[str, str]:
    """Write a certificate for each ranked team, and return its path by team; `left_out` gets what cannot be printed."""
    (folder / CERTIFICATES).mkdir()
    made = {}
    printable = True
    for place in board["ranking"]:
        name = Path(team_page_name(place["team"])).name
        page = folder / CERTIFICATES / name
        page.write_text(_certificate(board, place), encoding="utf-8")
        pdf = None
        if printable:
            try:
                pdf = _printed(page, place["team"], left_out)
            except RefereeError as error:
                said = error.sentence
                said = said.replace("--pdf needs", "To print certificates needs")
                left_out.append(f"Certificates are pages, not PDF. {said}")
                printable = False
        made[place["team"]] = f"{CERTIFICATES}/{(pdf or page).name}"
    return made


def prizes_of(board: Mapping[str, Any], team: str) -> list[Prize]:
    """Return the prizes of a team."""
    return [
        Prize(one["name"], len(one["teams"]))
        for one in board["prizes"]
        if team in one["teams"]
    ]


def size_of(name: str) -> str:
    """Return the class of a name's size in print: a long one is set smaller, so that all stays on one sheet."""
    if len(name) > VERY_LONG:
        return "very-long"
    return "long" if len(name) > LONG else "short"


def _printed(page: Path, team: str, left_out: list[str]) -> Path | None:
    """Replace a certificate's page by its PDF; None: no font here has all characters, so the page stays.

    Raises RefereeError `no-browser`, `not-printed`.
    """
    from referee.report import print_pdf

    pdf = print_pdf(page)
    if lacks_glyphs(pdf.read_bytes()):
        pdf.unlink()
        left_out.append(
            f"The certificate of {team} is a page, not PDF: no font installed here has all its characters. Install "
            "fonts (on Debian: fonts-noto-core, fonts-noto-cjk, fonts-noto-color-emoji) and publish again."
        )
        return None
    page.unlink()
    return pdf


def date_of(board: Mapping[str, Any], place: Mapping[str, Any]) -> str:
    """Return the day, by UTC, on which the run of a place opened; "" if the board does not have it."""
    team = board["teams"].get(place["team"], {"attempts": ()})
    for attempt in team["attempts"]:
        if attempt["run"] == place["run"]:
            return str(attempt["utc"])[: len("2027-06-20")]
    return ""


def _certificate(board: Mapping[str, Any], place: Mapping[str, Any]) -> str:
    words = words_of(board.get("task"))
    environment = template_environment("referee.publishing", words=words)
    template = environment.get_template("certificate.html")
    ranks = [one["rank"] for one in board["ranking"]]
    return template.render(
        board=board,
        place=place,
        date=date_of(board, place),
        prizes=prizes_of(board, place["team"]),
        sharing=ranks.count(place["rank"]),
        size_of=size_of,
        style=page_style(),
        theme="light",
    )
