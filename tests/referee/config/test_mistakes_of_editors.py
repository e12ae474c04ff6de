"""Slips in contest.toml, as `referee` tells them: what is written, where, and what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from referee.cli.main import main

CONTEST = """\
name = "Hall"
[[stations]]
name = "one"
meter = "sim:"
"""


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("window_s = 10*60", "'window_s = 10*60'; TOML does not calculate; write the result"),
        ("least_map = 1 / 100 # a", "'least_map = 1 / 100'; TOML does not calculate;"),
        ("window_s = 10 min # a", "'window_s = 10 min'; a number stands alone, in the unit of its key; 10 min is 600."),
        ("freeze_at = 15:30", "a time is written 2027-06-20T15:30:00+02:00."),
        ("freeze_at = 20.06.2027 15:30", "a time is written 2027-06-20T15:30:00+02:00."),
        ("freeze_at = 2027-06-20T15:30:00 CEST", "a time is written 2027-06-20T15:30:00+02:00."),
        ("least_map = 0,01", "the decimal sign is a point, as in 0.5."),
        ("update_interval_s = 0,25", "'update_interval_s = 0,25'; the decimal sign is a point: 0.25."),
        ("least_map = .01", "a number begins with a digit, as in 0.5."),
        ("least_map = 1 %", "a share is a number from 0 to 1, such as 0.01."),
        ("attempts = 03", "a number has no 0 in front."),
        ("attempts = 3,", "no comma stands at the end of a line."),
        ('; metric = "lpirc"', "a comment begins with #."),
        ("attempts = 3;", "no ; stands at the end of a line."),
        ("attempts =", "its value is missing."),
        ("attempts == 3", "one = stands between a key and its value."),
        ("attempts: 3", "a key of one word and its value have = between them: window_s = 600."),
        ("auto_arm = Yes", "write true or false, in small letters."),
        ("heats = knock-out", 'a text stands in quotes: "...".'),
        ("heats = \u201cknock-out\u201d", 'quotes are straight ones: "...".'),
        ('heats = "knock-out', "the quote at the end of the text is missing."),
        ("board_url = 'http://eve's'", 'a text with an apostrophe stands in double quotes: "...".'),
        ('testset = "C:\\sets"', "in a path write / instead of \\."),
        ("[images", "a table's name stands in brackets, such as [backup] or [[stations]]."),
        ("[stations]\n[stations]", "a further one begins with [[stations]], in two brackets, as each of them."),
        ("[images]\n[images]", "line 2 is not TOML: '[images]'; the file has it already; each key and each"),
        ('official_makers = ["YOKOGAWA"\nattempts = 3', "line 2 is not TOML: 'attempts = 3'; a list or text"),
    ],
)  # fmt: skip
def test_a_line_that_is_not_toml_is_told_with_its_remedy(
    tmp_path: Path, line: str, told: str
) -> None:
    assert told in refused(tmp_path, f"{line}\n{CONTEST}")


@pytest.mark.parametrize("text", ["", "\n", "# all of it is gone\n"])
def test_an_empty_file_is_called_empty_and_taken_from_a_backup(
    tmp_path: Path, text: str
) -> None:
    said = refused(tmp_path, text)
    assert (
        "contest.toml cannot be read: it has no settings; take it from a backup" in said
    )
    assert said.rstrip().endswith(": referee restore BACKUP.zip NEW_FOLDER.")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            f"freeze_at = 2027-06-20T15:30:00\n{CONTEST}",
            "line 1: freeze_at = 2027-06-20T15:30:00 has no offset from UTC; "
            "write 2027-06-20T15:30:00Z in UTC, or 2027-06-20T15:30:00+02:00.",
        ),
        (
            f"freeze_at = 2027-06-20\n{CONTEST}",
            "freeze_at = 2027-06-20 must be a time with its offset, unquoted",
        ),
        (f'heats = "knockout"\n{CONTEST}', "Did you mean 'knock-out'?"),
        (f'{CONTEST}mode = "RMS"\n', "Did you mean 'rms'?"),
        (
            f'{CONTEST}[[prizes]]\nname = "a"\nrule = "best_score"\n',
            "rule = 'best_score' must be one of 'best-score', 'least-energy', 'highest-map'. "
            "Did you mean 'best-score'?",
        ),
        (f"{CONTEST}[[station]]\n", ", line 5: unknown key 'station'. Did you mean"),
        (f"{CONTEST}[[rule]]\n", ", line 5: rule must be written as one table [rule]."),
        (
            f'{CONTEST}clients = ["board-1"]\n',
            "neither a network nor an address (write 192.168.1.20, or 192.168.1.0/24).",
        ),
        (
            f"{CONTEST}[rule]\nenergy_limit_wh = 5\n",
            "it takes none, and name = 'accuracy-within-limit' takes energy_limit_wh.",
        ),
        (CONTEST.replace("Hall", " "), "line 1: the contest's name is blank."),
        (f'testset = ""\n{CONTEST}', "line 1: testset is blank; give the folder"),
    ],
)
def test_a_value_that_cannot_be_is_told_with_what_can(
    tmp_path: Path, text: str, told: str
) -> None:
    assert told in refused(tmp_path, text)


def refused(folder: Path, text: str) -> str:
    """What the command says about a contest with this text; it is one line."""
    (folder / "contest.toml").write_text(text, encoding="utf-8")
    ran = CliRunner().invoke(main, ["run", "list", "--contest", str(folder)])
    assert ran.exit_code == 1
    assert ran.stderr.count("\n") == 1
    return ran.stderr
