"""Commands that sentences propose: each works as it stands."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from referee.cli.main import OTHER_WORDS, main
from referee.cli.shared_options import CONTEST_GIVEN, with_contest

HERE = "; see: referee run list"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("No run 9; see: referee run list", "No run 9; see: referee run list --contest 'a day'"),
        (
            "No 'x'; see: referee team list. Did you mean 'y'?",
            "No 'x'; see: referee team list --contest 'a day'. Did you mean 'y'?",
        ),
        (
            'end it: referee run void 1 --reason "…"; then arm',
            "end it: referee run void 1 --reason \"…\" --contest 'a day'; then arm",
        ),
        ("see: referee rejudge --help", "see: referee rejudge --help"),
        ("see: referee judge 1 --contest x", "see: referee judge 1 --contest x"),
        ("start it: referee serve x", "start it: referee serve x"),
        ("see: referee device list", "see: referee device list --contest 'a day'"),
        ("see: referee model list. Stop", "see: referee model list --contest 'a day'. Stop"),
        ("write: referee team import a.csv", "write: referee team import a.csv --contest 'a day'"),
        ("form: referee report [RUN]... -o F.", "form: referee report [RUN]... -o F --contest 'a day'."),
        ("form: referee judge [RUN] [--contest FOLDER].", "form: referee judge [RUN] [--contest FOLDER]."),
        ("see: referee nothing", "see: referee nothing"),
        ("the referee run is over", "the referee run is over"),
    ],
)  # fmt: skip
def test_a_proposed_command_has_the_contest_of_the_one_that_failed(
    said: str, shown: str
) -> None:
    ctx = click.Context(main)
    ctx.meta[CONTEST_GIVEN] = Path("a day")
    assert with_contest(said, ctx) == shown


@pytest.mark.parametrize("given", [None, Path()])
def test_a_contest_that_need_not_be_named_is_not_named(given: Path | None) -> None:
    ctx = click.Context(main)
    if given is not None:
        ctx.meta[CONTEST_GIVEN] = given
    assert with_contest(HERE, ctx) == HERE


@pytest.mark.parametrize(
    ("given", "proposed"),
    [
        ("judge run-1 --contest day", "referee run list --contest day"),
        ("report x --contest day", "referee run list --contest day"),
        ("log day --run first", "referee run list --contest day"),
        ("log --run first day", "referee run list --contest day"),
        ("judge all --contest day", "referee judge --all --contest day"),
        ("run show 9 --contest day", "referee run list --contest day"),
        ("device remove x --contest day", "referee device list --contest day"),
        ("model withdraw 3 --reason x --contest day", "referee model list --contest day"),
        ("model board --contest day", "referee model board --track TEXT --contest day"),
        ("judge day", "referee judge --all --contest day"),
        ("bundle export day -o b.zip", "referee bundle export --all -o PATH --contest day"),
        ("run versus 1 day", "referee run versus RUN RUN --contest day"),
        ("run show day", "referee run show RUN --contest day"),
        ("model uncount day --reason x", "referee model uncount NUMBER --reason TEXT --contest day"),
    ],
)  # fmt: skip
def test_a_command_that_a_refusal_proposes_is_one_of_the_same_contest(
    contest_day: Path, monkeypatch: pytest.MonkeyPatch, given: str, proposed: str
) -> None:
    monkeypatch.chdir(contest_day)
    said = CliRunner().invoke(main, given.split())
    assert said.exit_code
    assert said.output.rstrip(".\n").endswith(f": {proposed}")


@pytest.fixture(scope="module")
def contest_day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("here")
    done = CliRunner().invoke(main, ["init", str(here / "day"), "--yes"])
    assert done.exit_code == 0, done.output
    return here


@pytest.mark.parametrize(("word", "meant"), OTHER_WORDS.items())
def test_another_word_for_a_command_of_a_group_is_answered_with_the_command(
    word: str, meant: str
) -> None:
    said = CliRunner().invoke(main, word.split())
    assert said.exit_code == 2
    assert f"There is no '{word}'; write: referee {meant}" in said.output
    command: click.Command | None = main
    for name in meant.split():
        if isinstance(command, click.Group):
            command = command.get_command(click.Context(command), name)
    assert command is not None
    options = {one for param in command.params for one in param.opts}
    words = shlex.split(meant.partition(",")[0])
    assert options >= {one for one in words if one.startswith("--")}


@pytest.mark.parametrize("name", ["", "  "])
def test_a_contest_without_a_name_is_not_made(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "day"
    said = CliRunner().invoke(main, ["init", str(folder), "--name", name])
    assert said.exit_code == 2
    assert "--name is blank" in said.output
    assert not folder.exists()


def test_a_blank_folder_is_not_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = CliRunner().invoke(main, ["init", ""])
    assert said.exit_code == 2
    assert "the name of the file or folder is empty; write it" in said.output
    assert not list(tmp_path.iterdir())
