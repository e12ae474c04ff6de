"""Files where folders are needed, formats under other formats' names, addresses that are none: one sentence each."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from lpirc_testsets import TestSet
from referee.cli.main import main


@pytest.fixture
def day(tmp_path: Path, small_set: TestSet, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A contest in the working folder, beside a file and a list of teams."""
    monkeypatch.chdir(tmp_path)
    words = ["--testset", str(small_set.folder), "--yes"]
    assert CliRunner().invoke(main, ["init", "day", *words]).exit_code == 0
    (tmp_path / "file").write_bytes(b"PK\3\4")
    (tmp_path / "teams.csv").write_text("team,affiliation\nalpha,A\n")
    return tmp_path / "day"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("setup file", "file is a file, and a folder is needed; name another place."),
        ("practice file", "file is a file, and a folder is needed; name another"),
        ("report 1 --out page.html", "page.html is called like a file, and a folder is made; write page."),
        ("run export 1 --out rows.csv", "rows.csv is called like a file, and a folder"),
        ("season day --out file", "file is a file, and a folder is needed"),
        ("publish day site.zip", "site.zip is called like a file, and a folder is"),
        (
            "team import teams.csv --sheet s.pdf --url http://h",
            "s.pdf ends in .pdf, but HTML is written; end it in .html.",
        ),
        ("serve 9360", "looks like a port, and the contest's folder is needed; write: referee serve day --port 9360\n"),
        ("setup 0.0.0.0:80", "write: referee setup day --host 0.0.0.0 --port 80\n"),
        (
            "team import teams.csv --sheet s.html --url http://:8080",
            "'http://:8080' has no host or port that can be; write one such as http://192",
        ),
        (
            "team import teams.csv --sheet s.html --url 192.168.1.10:8080",
            "'192.168.1.10:8080' does not begin with http:// or https://; write http://192.168.1.10:8080",
        ),
    ],
)  # fmt: skip
def test_a_wrong_kind_of_place_is_a_mistake_of_usage(
    day: Path, words: str, told: str
) -> None:
    before = sorted(day.parent.rglob("*"))
    ran = CliRunner().invoke(main, [*words.split(), *of_contest(words)])
    assert ran.exit_code == 2
    assert told in ran.stderr
    assert sorted(day.parent.rglob("*")) == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("run list --contest file", "file is a file, and a contest is a folder; check the path.\n"),
        ("serve file", "file is a file, and a contest is a folder; check the path.\n"),
        (
            "serve day --host http://0.0.0.0:80",
            "--host 'http://0.0.0.0:80' is a URL or has a port; write --host 0.0.0.0 --port 80.\n",
        ),
        ("serve day --host 0.0.0.0:80", "write --host 0.0.0.0 --port 80.\n"),
        ("serve day --host no.host.invalid", "is not an address of this machine; 0.0.0.0 means all that it has"),
        ("team import day", "day cannot be read: Is a directory; a file is needed here, and this is a folder.\n"),
        ("bundle verify file", "file: The bundle is cut short"),
        ("bundle verify teams.csv", "teams.csv: The file is not a bundle: it does not begin as a bundle's zip does; a"),
        ("verify file", "is a file, and a site is a folder; a bundle is verified by: referee bundle verify file\n"),
        ("verify site9", "There is no folder site9; name the folder that `referee publish` wrote"),
        ("verify day", "day is a contest, not a published site; publish it with: referee publish day SITE\n"),
        ("verify /", "/ is not the folder of a published site: it has no manifest.json; name the folder"),
    ],
)  # fmt: skip
def test_what_is_not_what_the_command_reads_is_told_by_its_name(
    day: Path, words: str, told: str
) -> None:
    ran = CliRunner().invoke(main, [*words.split(), *of_contest(words)])
    assert ran.exit_code == 1
    assert told in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert day.is_dir()


def test_the_address_of_a_site_is_told_what_verifies_it() -> None:
    ran = CliRunner().invoke(main, ["verify", "https://h/2027/"])
    assert ran.exit_code == 2
    command = "python3 -m lpirc_client.verify_site https://h/2027/"
    words = "SITE is a folder; a site at an address is verified by"
    assert f"{words}: {command}\n" in ran.stderr


def test_a_file_in_place_of_a_contest_is_one_finding(day: Path) -> None:
    ran = CliRunner().invoke(main, ["doctor", "file"])
    told = "contest-missing: file is a file, and a contest is a folder; check the path."
    assert ran.stdout == f"{told}\n"
    assert ran.exit_code == 1
    assert day.is_dir()


def of_contest(words: str) -> list[str]:
    """The option --contest for the commands that take it."""
    takes = words.startswith(("team", "report", "run export"))
    return ["--contest", "day"] if takes else []
