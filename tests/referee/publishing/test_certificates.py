"""Certificates in print: one sheet for any name, nothing unreadable, and ties and shared prizes are told."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import Any

import pytest

from referee.errors import RefereeError
from referee.publishing.certificates import CERTIFICATES, date_of, write_certificates
from referee.publishing.printed_glyphs import lacks_glyphs
from referee.publishing.public_site import team_page_name
from referee.report.pdf import find_browser

UNKNOWN = "\U000f1234"
"""A character for private use, which no font has."""
PAGE = re.compile(rb"/Type /Page\b")


def board_of(*names: str, rank: int | None = None) -> dict[str, Any]:
    places = [
        {
            "rank": rank or number,
            "team": name,
            "affiliation": None,
            "score": 0.1193,
            "map": 0.24838,
            "energy_wh": 2.082,
            "official": True,
            "run": number,
            "level_with": [],
        }
        for number, name in enumerate(names, 1)
    ]
    prizes = [
        {"name": "Best score", "teams": [names[0]]},
        {"name": "Least energy", "teams": [*names]},
    ]
    return {
        "contest": "LPIRC 2027",
        "public_key": "ab" * 32,
        "ranking": places,
        "prizes": prizes,
        "teams": {
            name: {
                "attempts": [
                    {"run": number, "utc": f"2027-06-{19 + number}T10:00:00+00:00"}
                ]
            }
            for number, name in enumerate(names, 1)
        },
    }


def printed(board: dict[str, Any], folder: Path) -> tuple[list[Path], list[str]]:
    try:
        find_browser()
    except RefereeError:
        pytest.skip("Chromium is not installed")
    left_out: list[str] = []
    made = write_certificates(board, folder, left_out)
    return [folder / name for name in made.values()], left_out


def text_of(page: Path) -> str:
    return " ".join(re.sub("<[^>]+>", " ", page.read_text()).split())


def test_each_certificate_is_one_sheet_and_what_no_font_can_print_stays_a_page(
    tmp_path: Path,
) -> None:
    names = ("W" * 60, "Gr\u00f6\u00dfenwahn \u0141\u00f3d\u017a", f"Otters {UNKNOWN}")
    files, left_out = printed(board_of(*names), tmp_path)
    assert [one.suffix for one in files] == [".pdf", ".pdf", ".html"]
    for one in files[:2]:
        assert len(PAGE.findall(one.read_bytes())) == 1
    assert UNKNOWN in files[2].read_text()
    (said,) = left_out
    assert said.startswith(f"The certificate of {names[2]} is a page, not PDF")
    assert {one.suffix for one in (tmp_path / CERTIFICATES).iterdir()} == {
        ".pdf",
        ".html",
    }


def test_a_shared_rank_and_both_prizes_are_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def page_itself(page: Path) -> Path:
        pdf = page.with_suffix(".pdf")
        pdf.write_text(page.read_text())
        return pdf

    monkeypatch.setattr("referee.report.print_pdf", page_itself)
    names = ("otters", "badgers")
    board = board_of(*names, rank=1)
    board["ranking"][0]["level_with"] = [{"team": names[1], "chance": 0.8}]
    made = write_certificates(board, tmp_path, [])
    text = text_of(tmp_path / made[names[0]])
    assert "reached rank 1 of 2 , which 2 teams share, with 0.1193" in text.replace(
        "2,", "2 ,"
    )
    assert "Best score Least energy , shared by 2 teams" in text
    assert "Level with badgers" in text
    other = text_of(tmp_path / made[names[1]])
    assert "Best score" not in other
    assert (
        made[names[1]]
        == f"{CERTIFICATES}/" + Path(team_page_name(names[1])).with_suffix(".pdf").name
    )


def test_a_certificate_says_of_which_day_its_run_is() -> None:
    board = board_of("otters", "badgers")
    dates = [date_of(board, place) for place in board["ranking"]]
    assert dates == ["2027-06-20", "2027-06-21"]
    board["teams"] = {}
    assert date_of(board, board["ranking"][0]) == ""


@pytest.mark.parametrize(
    ("shown", "is_lacking"),
    [
        (b"BT <00030000> Tj ET", True),
        (b"BT [<0003> 20 <0000>] TJ ET", True),
        (b"BT <000300200003> Tj ET", False),
        (b"BT <30000003> Tj ET", False),
        (b"BT /Span<</ActualText <FEFF00000041> >> BDC <0003> Tj ET", False),
        (b"<0000> <FFFF> begincmap BT", False),
    ],
)
def test_an_empty_box_is_glyph_0_among_those_shown(
    shown: bytes,
    is_lacking: bool,
) -> None:
    for content in (shown, zlib.compress(shown)):
        assert lacks_glyphs(b"stream\n" + content + b"\nendstream") is is_lacking
