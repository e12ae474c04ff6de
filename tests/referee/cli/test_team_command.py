"""`referee team`: teams from a file with a sheet of passwords, new passwords, and the runs of a disabled team."""

from __future__ import annotations

import json
import re
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path

import pytest
import requests

from lpirc_testsets import TestSet
from referee.auth.passwords import generate_password, matches
from referee.contest import create_contest
from referee.errors import RefereeError
from referee.store import Store
from tests.contest_day import PASSWORD, called, contest_day, problem
from tests.referee.factories import START, config_text

WORD = "([bdfghjkmnprstvwz][aeiou]){2}"


@pytest.fixture
def folder(tmp_path: Path, small_set: TestSet) -> Path:
    create_contest(tmp_path / "contest", config_text(small_set))
    return tmp_path / "contest"


def imported(
    folder: Path,
    text: str | bytes,
    *options: str,
) -> tuple[int, str, str]:
    file = folder.parent / "teams.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    told = called("team", "import", str(file), *options, "--contest", str(folder))
    return told.returncode, told.stdout, told.stderr


def teams(folder: Path) -> dict[str, str | None]:
    rows = json.loads(called("team", "list", "--json", "--contest", str(folder)).stdout)
    return {row["team"]: row["affiliation"] for row in rows}


def test_a_generated_password_can_be_typed_and_is_another_each_time() -> None:
    made = {generate_password() for _ in range(50)}
    assert len(made) == 50
    assert all(re.fullmatch(f"{WORD}(-{WORD}){{3}}", one) for one in made)


def test_teams_are_imported_with_passwords_that_are_shown_once(folder: Path) -> None:
    code, told, news = imported(
        folder,
        'Team,Affiliation\nant,Ant Hill\n\nbee,\n"cat, the",\n',
    )
    assert code == 0
    assert news == "Registered 3 teams.\n"
    assert teams(folder) == {
        "ant": "Ant Hill",
        "bee": None,
        "cat, the": None,
    }
    passwords = dict(line.split("\t") for line in told.splitlines())
    with closing(Store.open(folder / "contest.db")) as store:
        assert all(
            matches(str(store.teams.password_hash(team)), password)
            for team, password in passwords.items()
        )
    kept = b"".join(path.read_bytes() for path in folder.glob("contest.db*"))
    assert not any(password.encode() in kept for password in passwords.values())
    again = imported(folder, "team,affiliation\nant,Ant Hill\ndog,\n")
    assert (
        again[2]
        == "Registered 1 teams; 1 were registered before and keep their passwords.\n"
    )
    assert again[1].startswith("dog\t")
    assert called("team", "list", "--contest", str(folder)).stdout.startswith(
        "ant, Ant Hill\nbee\n"
    )


def test_every_bad_line_is_told_with_its_number_and_nothing_is_imported(
    folder: Path,
) -> None:
    returncode = called(
        "team", "add", "Fox", "--contest", str(folder), LPIRC_PASSWORD=PASSWORD
    ).returncode
    assert returncode == 0
    text = "team,affiliation\nant,\n,Nowhere\nbee,a,b\nANT,\nfox,\ng\tnu,\nok,\n"
    code, told, news = imported(folder, text)
    assert code == 1
    assert told == ""
    assert news.count("\n") == 1
    for words in (
        "line 3: the team's name is blank",
        "line 4: 'bee' has more cells than the first line",
        "line 5: 'ANT' differs from 'ant' only in capitals",
        "line 6: 'fox' differs from 'Fox' only in capitals",
        "line 7: 'g\\tnu' has characters",
    ):
        assert words in news
    assert "line 8" not in news
    assert news.endswith("Nothing is imported.\n")
    assert list(teams(folder)) == ["Fox"]


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbfTeam;Affiliation\r\nant;University X, Y\r\n",
        b'affiliation,mail,Team\n"University X, Y",a@b.c,ant\n,,\n',
    ],
)
def test_the_first_line_says_which_column_is_which(folder: Path, text: bytes) -> None:
    assert imported(folder, text)[0] == 0
    assert teams(folder) == {"ant": "University X, Y"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"\xff\xfe", "its first line must be"),
        ("team\n,\n", "it has no team"),
        ('team\n"ant', "cannot be read as CSV"),
        ("", "its first line must be"),
        ("ant,Ant Hill\n", "its first line must be"),
    ],
)
def test_a_file_that_is_no_list_of_teams_is_refused(
    folder: Path,
    text: str | bytes,
    words: str,
) -> None:
    code, _, news = imported(folder, text)
    assert code == 1
    assert words in news
    assert teams(folder) == {}


class Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.shown: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.shown.append(data)


def test_the_sheet_has_a_strip_for_each_new_team_and_is_private(
    folder: Path,
    tmp_path: Path,
) -> None:
    sheet = tmp_path / "sheet.html"
    options = ("--sheet", str(sheet), "--url", "http://10.0.0.7:8080/")
    code, told, news = imported(
        folder,
        "team;affiliation\n<script>alert(1)</script>;A & B\nit's;\n",
        *options,
    )
    assert code == 0
    assert news == ""
    assert told == f"Registered 2 teams; the passwords are only in {sheet}.\n"
    assert sheet.stat().st_mode & 0o777 == 0o600
    page = Texts()
    page.feed(sheet.read_text())
    assert "<code>http://10.0.0.7:8080/team/</code>" in sheet.read_text()
    assert page.tags.count("section") == 2
    assert not {"script", "link"} & set(page.tags)
    shown = "".join(page.shown)
    assert "<script>alert(1)</script>" in shown
    assert "A & B" in shown
    assert "curl http://10.0.0.7:8080/v1/session -H" in shown
    run = "lpirc-client run http://10.0.0.7:8080 --team"
    assert f"{run} '<script>alert(1)</script>' --detector" in shown
    with closing(Store.open(folder / "contest.db")) as store:
        assert shown.count(str(store.identity.public_key())) == 2
    passwords = set(
        re.findall(
            f"{WORD}(?:-{WORD}){{3}}".replace("(", "(?:").replace("(?:?:", "(?:"),
            shown,
        )
    )
    assert len(passwords) == 2
    assert all(shown.count(password) == 2 for password in passwords)
    code, _, news = imported(folder, "team\nfox\n", *options)
    assert code == 1
    assert ("exists and may hold passwords" in news) is True
    assert "fox" not in teams(folder)
    returncode = called(
        "team", "import", str(sheet), "--url", "http://x", "--contest", str(folder)
    ).returncode
    assert returncode == 2


def test_teams_are_added_all_or_none(store: Store) -> None:
    store.teams.add("bee", "hash", START)
    with pytest.raises(RefereeError, match="'bee' exists already"):
        store.teams.add_all({"ant": ("hash", None), "bee": ("hash", None)}, START)
    assert list(store.teams.all()) == ["bee"]


def test_a_new_password_ends_the_old_one_at_once_and_a_disabled_team_s_run_goes_on(
    tmp_path: Path,
    small_set: TestSet,
) -> None:
    with contest_day(
        tmp_path / "contest",
        small_set.folder,
        teams=("ant", "bee"),
    ) as day:
        server = day.serve()

        def log_in(password: str) -> requests.Response:
            return server.ask(
                "POST",
                "/v1/session",
                json={"team": "ant", "password": password},
            )

        token = str(day.login("ant")["token"])
        # From now on it is a password that was right.
        assert log_in(PASSWORD).status_code == 201
        told = day.refers("team", "password", "ant").stdout
        new = told.removeprefix("The new password of ant: ").strip()
        problem(log_in(PASSWORD), 401, "bad-credentials")
        assert log_in(new).status_code == 201
        disabled = day.refers("team", "disable", "ant").stdout
        assert (
            "Run 1 goes on until its end; to end it now: referee run close 1"
            in disabled
        )
        problem(log_in(new), 403, "team-disabled")
        assert day.post(token).status_code == 202
        assert day.refers("team", "password", "ant").returncode == 0
        assert "no team 'fox'" in day.refers("team", "password", "fox").stderr
