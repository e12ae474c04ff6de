"""What `rehearse`, `practice` and `demo` say of arguments that cannot work, before anything is made or served."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from lpirc_testsets import synthesize
from referee.cli.main import main

PLACES = "{url}, {team}, {password_file}, {password}"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    synthesize(tmp_path / "ts", images=2, categories=2, seed=1, size=(64, 64))
    (tmp_path / "bad.csv").write_text("hello\n")
    (tmp_path / "other.csv").write_text("9,1,0.5,1,2,3,4\n")
    (tmp_path / "mine.py").touch()
    (tmp_path / "mine.sh").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["rehearse", "--client", "echo {user} {url}"],
            f"has {{user}}, which stands for nothing; what is replaced is {PLACES}.\n",
        ),
        (
            ["rehearse", "--client", "mine {url} > log {password-file} {3} {print}x"],
            "has '>', which only a shell understands; write: --client 'sh -c ",
        ),
        (
            ["rehearse", "--client", "sh -c 'cat {url} | awk \"{pasword}\"'"],
            "has {pasword}, which stands for nothing; what is replaced is ",
        ),
        (["rehearse", "--replay", "other.csv", "--testset", "."], "--testset .: "),
        (["rehearse", "a", "b"], "The arguments 'a b' are too many; the form is: re"),
        (["rehearse", "http://x"], "'http://x' is one too many; the form is: re"),
        (["doctor", "c", "99999"], "'99999' is one too many; the form is: re"),
        (
            ["rehearse", "--client", "mine {url} > log"],
            "has '>', which only a shell understands; write: --client 'sh -c ",
        ),
        (["rehearse", "--client", "mine.py {url}"], "--client 'python3 mine.py ...'"),
        (["rehearse", "--client", "mine.sh {url}"], "chmod +x mine.sh, and call it "),
        (["rehearse", "--client", "mine {url}"], "check its name, and write its path "),
        (
            ["rehearse", "--replay", "ts"],
            "--replay ts: it is a folder; name a file of ",
        ),
        (
            ["rehearse", "--replay", "no.csv"],
            "--replay no.csv: cannot be read: No such",
        ),
        (
            ["rehearse", "--replay", "bad.csv"],
            "--replay bad.csv, line 1: 1 value inste",
        ),
        (
            ["rehearse", "--replay", "other.csv", "--testset", "ts"],
            "--replay other.csv, line 1: image '9' is not a number or file of the test ",
        ),
        (["rehearse", "r1"], "a new folder is given as: referee rehearse --out r1\n"),
        (["rehearse", "ts"], "it is given as: referee rehearse --testset ts\n"),
        (["rehearse", "bad.csv"], "form is: referee rehearse. The options are --image"),
        (["demo", "demo1"], "a new folder is given as: referee demo --folder demo1\n"),
        (["demo", "9412"], "it is given as: referee demo --port 9412\n"),
        (["practice", "a", "ts"], "it is given as: referee practice a --testset ts\n"),
    ],
)
def test_what_cannot_work_is_told_before_anything_is_made(
    here: Path, arguments: list[str], told: str
) -> None:
    before = sorted(here.rglob("*"))
    ran = CliRunner().invoke(main, arguments)
    assert ran.exit_code
    assert told in (ran.stderr or str(ran.exception))
    assert sorted(here.rglob("*")) == before
