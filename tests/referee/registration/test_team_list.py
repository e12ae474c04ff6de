"""A list of teams as spreadsheets write it: what is read, and how a bad line is said."""

from __future__ import annotations

import pytest

from referee.errors import RefereeError
from referee.registration.registered_names import team_problem
from referee.registration.team_list import (
    WORKBOOKS,
    OtherEncoding,
    teams_in,
    text_of_list,
)

MARKUP = "<script>alert('x')</script>"
WHOLE = {"Müller": "Köln", "ant": None}


def read(content: bytes, present: tuple[str, ...] = ()) -> dict[str, str | None]:
    return teams_in(text_of_list(content, "The list"), "The list", present)


@pytest.mark.parametrize(
    "content",
    [
        "team,affiliation\nMüller,Köln\nant,\n".encode(),
        "team,affiliation\r\nMüller,Köln\r\nant,\r\n".encode("utf-8-sig"),
        "Team;Affiliation\r\nMüller;Köln\r\nant\r\n".encode("utf-8-sig"),
        "sep=;\r\nteam;affiliation\r\nMüller;Köln\r\nant;\r\n".encode(),
        "team\taffiliation\r\nMüller\tKöln\r\nant\t\r\n".encode("utf-16"),
        '\ufeffteam,affiliation\n"Müller","Köln"\n\n"ant",\n'.encode(),
    ],
)
def test_what_a_spreadsheet_writes_is_read(content: bytes) -> None:
    assert read(content) == WHOLE


def test_windows_1252_is_shown_as_it_would_read_and_never_taken_unseen() -> None:
    """Read as another encoding it would silently register another name."""
    content = "team,affiliation\nant,\nMüller,Köln\n".encode("cp1252")
    with pytest.raises(OtherEncoding) as refused:
        read(content)
    assert "line 3 is not UTF-8" in refused.value.sentence
    assert "'Müller,Köln'" in refused.value.sentence
    assert 'Save it as "CSV UTF-8"' in refused.value.sentence
    assert teams_in(refused.value.guess, "The list", ()) == {
        "ant": None,
        "Müller": "Köln",
    }


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (",Köln", "line 2: the team's name is blank ('Köln'); write a name"),
        ("ant,a,b", "line 2: 'ant' has more cells than the first line; quote"),
        ("bee,\nbee,", "line 3: 'bee' is in line 2 already; remove one of them"),
        ("Fox,", "line 2: 'Fox' differs from 'fox' only in capitals; change"),
        ("fox²,", "line 2: 'fox²' looks like 'fox2'; change one of them"),
        ("a\tb,", "line 2: 'a\\tb' has characters that cannot be printed"),
        ('"ant,', "line 2 cannot be read as CSV"),
        ('ant,\n\n"bee"s,', "line 4 cannot be read as CSV"),
        ('ant,\n"bee,\ncow,', "line 3 cannot be read as CSV"),
    ],
)
def test_a_bad_line_is_said_with_its_number_its_value_and_what_to_do(
    lines: str, sentence: str
) -> None:
    content = f"team,affiliation\n{lines}\ngood,\n".encode()
    with pytest.raises(RefereeError) as refused:
        read(
            content,
            present=("fox", "fox2"),
        )
    assert sentence in refused.value.sentence
    assert refused.value.sentence.endswith("Nothing is imported.")


def test_lines_are_counted_as_an_editor_counts_them() -> None:
    content = b'sep=,\nteam,affiliation\nant,"two\nlines"\n,x\n'
    with pytest.raises(RefereeError) as refused:
        read(content)
    assert "line 5: the team's name is blank" in refused.value.sentence


def test_a_name_in_markup_is_a_name_and_200_teams_are_read() -> None:
    names = [MARKUP, *(f"team-{number}" for number in range(199))]
    text = "team\n" + "\n".join(names)
    assert [*read(text.encode())] == names


def test_of_two_columns_of_one_name_none_is_taken_silently() -> None:
    with pytest.raises(RefereeError) as refused:
        read(b"Team,affiliation,team\nant,Ants,bee\n")
    assert "the column 'team' twice" in refused.value.sentence


@pytest.mark.parametrize(
    ("first", "told"),
    [
        (
            "name,org",
            "its first line must be: team,affiliation, and not 'name,org'; ",
        ),
        (
            "Name;Affiliation",
            "its first line must be: team;affiliation, and not 'Name;Affiliation'; ",
        ),
        ("sep=;\nName;Org", "must be: team;affiliation, and not 'Name;Org'; "),
        ("team,password", "its passwords are not read, as each team gets a new one;"),
        ("team,afiliation", "'afiliation', which is not read; write 'affiliation'"),
    ],
)
def test_unknown_columns_are_told_with_those_that_are_read(
    first: str, told: str
) -> None:
    with pytest.raises(RefereeError) as refused:
        read(f"{first}\nant,Ants\n".encode())
    assert told in refused.value.sentence


def test_columns_for_another_purpose_are_left_out() -> None:
    assert read(b"team,mail,country\nant,a@b.c,DE\n") == {"ant": None}


@pytest.mark.parametrize("start", WORKBOOKS)
def test_a_workbook_is_called_one(start: bytes) -> None:
    with pytest.raises(RefereeError, match="is a workbook of a spreadsheet, and no"):
        text_of_list(start + b"\x14\x00", "teams.xlsx")


@pytest.mark.parametrize("name", ["alpha ", " alpha"])
def test_a_blank_at_the_edge_of_a_name_is_refused(name: str) -> None:
    told = team_problem(name, None, ["alpha"])
    assert told == f"{name!r} begins or ends with a blank; leave it out"
