"""Commands that sentences propose: each works as it stands."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from referee.cli.main import OTHER_WORDS, main
from referee.cli.shared_options import CONTEST_GIVEN, with_contest
from referee.errors import RefereeError

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
        ("the referee run is over", "the referee run is over"),
    ],
)  # fmt: skip
def test_a_proposed_command_has_the_contest_of_the_one_that_failed(
    said: str, shown: str
) -> None:
    ctx = click.Context(main)
    ctx.meta[CONTEST_GIVEN] = Path("a day")
    assert with_contest(RefereeError("x", said), ctx).sentence == shown


@pytest.mark.parametrize("given", [None, Path()])
def test_a_contest_that_need_not_be_named_is_not_named(given: Path | None) -> None:
    ctx = click.Context(main)
    if given is not None:
        ctx.meta[CONTEST_GIVEN] = given
    assert with_contest(RefereeError("x", HERE), ctx).sentence == HERE


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
