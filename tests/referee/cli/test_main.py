"""The lists of commands: each command is in the module that the list names, and imported only when it is called."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from referee import seams
from referee.cli.main import COMMANDS_OF_TRACKS, main
from referee.cli.own_commands import COMMANDS

NAMES = sorted({*COMMANDS, *COMMANDS_OF_TRACKS})


@pytest.mark.parametrize("name", NAMES)
def test_every_command_is_where_the_table_says(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.name == name
    assert command.get_short_help_str(), "it says what it is for"


def test_the_help_lists_every_command() -> None:
    shown = CliRunner().invoke(main, ["--help"]).stdout
    lines = shown.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in lines if line[2] != " "] == NAMES


def test_the_commands_of_tracks_are_those_that_its_distribution_brings() -> None:
    assert set(seams.COMMANDS.names()) == COMMANDS_OF_TRACKS


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("serv", "Did you mean 'serve'?"),
        ("arm", "Did you mean 'run arm'?"),
        ("synthesize", "Did you mean 'testset synthesize'?"),
        ("suit", "Did you mean 'suite'?"),
        ("check", "Did you mean 'testset check'?"),
    ],
)
def test_an_unknown_command_is_told_with_the_one_that_may_be_meant(
    name: str, meant: str
) -> None:
    ran = CliRunner().invoke(main, [name, "c"])
    assert ran.exit_code == 2
    assert f"No such command '{name}'. {meant}\n" in ran.stderr


def test_nothing_is_guessed_for_a_command_that_is_like_none() -> None:
    ran = CliRunner().invoke(main, ["xyzzy"])
    assert "No such command 'xyzzy'. The commands are " in ran.stderr
    assert "Did you mean" not in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["--contest", "c", "status"],
            "No such option '--contest'. If it belongs to a command, write a command first, "
            "then its options: referee COMMAND --contest\n",
        ),
        (["frontier", "xyzzy"], "No such command 'xyzzy'. The commands are fit.\n"),
        (["team", "rename", "a", "b"], "No such command 'rename'. The commands are "),
        (
            ["run", "void", "1", "--reason", "cable", "fell", "out"],
            "one too many; put several words in quotes: --reason ",
        ),
        (["testset", "import", "kitti"], "The commands are classes, coco, "),
        (
            ["status", "my day"],
            "The argument 'my day' is one too many; the form is: referee status [--contest FOLDER].\n",
        ),
        (
            ["status", "/"],
            "The argument '/' is one too many; if it is the contest's folder, write: referee status --contest /\n",
        ),
        (["serve", "day", "80"], "it is given as: referee serve day --port 80\n"),
        (
            ["backup", "day", "x", "y", "-o", "z"],
            "The arguments 'x y' are too many; the form is: referee backup day -o PATH.\n",
        ),
        (
            ["board", "freeze", "at", "15:30"],
            "To freeze the board at a time, set freeze_at = ",
        ),
        (
            ["standby", "day", "http://a"],
            "given as: referee standby day --first http://a\n",
        ),
        (["run", "list", "csv"], "an option begins with --: referee run list --csv\n"),
        (["heat", "standings", "final"], "It always shows all heats and rounds.\n"),
        (
            ["compare", "1"],
            "Two runs are compared, not 1 ('1'); name two, as in: referee compare 1 2\n",
        ),
        (["compare", "1", "2", "3"], "are compared, not 3 ('1', '2', '3'); name two"),
        (["compare"], "Missing argument 'RUN RUN'.\n"),
        (["rehearse", "--seed", "x"], "'--seed': 'x' is not a whole number.\n"),
        (
            ["standby", "d", "--after", "x"],
            "'--after': 'x' is not a number of seconds.\n",
        ),
        (
            ["init", "c", "--no-auto-arm"],
            "--auto-arm is off unless it is given; leave it out.\n",
        ),
        (["version"], "For the version write: referee --version\n"),
        (
            ["station", "add"],
            "Settings and stations stand in the contest's contest.toml;",
        ),
        (["demo", "a" * 5000], "The argument 'aaaa"),
        (["status", "--contest", "c", "a" * 5000], "The argument 'aaaa"),
        (["run-list"], "No such command 'run-list'. Did you mean 'run list'?\n"),
        (["stop"], "No such command 'stop'. The commands are backup, board, "),
        (
            ["init", "c", "--save", "x"],
            "No such option '--save'. The options are --name, ",
        ),
        (["init", "c", "-name", "x"], "Did you mean '--name'?\n"),
        (["serve", "c", "-p", "80"], "Did you mean '--port'?\n"),
        (
            ["serve", "--folder", "c"],
            "stands without an option: referee serve FOLDER\n",
        ),
        (["run", "show", "--run", "1"], "without an option: referee run show RUN\n"),
        (["run", "show", "-1"], "A number below 0 has no meaning here.\n"),
        (["run", "void", "1"], "The form is: referee run void 1 --reason TEXT\n"),
        (["init", "c", "--window", "0"], "0 must lie between 1 and 86400 seconds.\n"),
        (["init", "c", "--attempts", "-1"], "'--attempts': -1 must be 0 or more.\n"),
        (["board", "freeze", "--at", "15:30"], "To freeze the board at a time, set "),
        (
            ["init", "C:\\day"],
            "C:\\day is a path of Windows; write it as this system does",
        ),
        (["init", "c", "--metre", "x"], "Did you mean '--meter'?\n"),
        (["board", "unviel"], "No such command 'unviel'. Did you mean 'unveil'?\n"),
        (
            ["run", "show", "one"],
            "'one' is not the number of a run, such as 1; see: referee run list\n",
        ),
        (
            ["model", "withdraw", "one", "--reason", "x"],
            "'one' is not the number of a submission, such as 1; see: referee model list\n",
        ),
        (
            ["testset", "stats", "set", "--output", "x"],
            "'--output'. The output goes to the terminal; to keep it in a file, write > ",
        ),
        (
            ["testset", "subset", "set", "--out", "o", "--images", "50%"],
            "'50%' is not a whole number.\n",
        ),
        (
            ["rehearse", "--images", "/"],
            "'/' is a folder, not a number; --testset takes the folder of a test set\n",
        ),
        (
            ["leaderboard", "--json", "--csv"],
            "Give --json or --csv, not both.\n",
        ),
        (
            ["leaderboard", "--htm"],
            "No such option '--htm'. Did you mean '--html'?\n",
        ),
        (
            ["run", "show", "0"],
            "'0' is not the number of a run, such as 1; see: referee run list\n",
        ),
        (
            ["init", "c", "--window", "ten"],
            "'--window': 'ten' is not a whole number of seconds.\n",
        ),
        (["init", "c", "--window", "10m"], "seconds; 10m is 600.\n"),
        (["run", "arm", "a", "--extra-time", "1min"], "seconds; 1min is 60.\n"),
        (["standby", "c", "--after", "1,5"], "the decimal sign is a point: 1.5.\n"),
        (["init", "c", "--least-map", "1%"], "not a number; 1% is 0.01.\n"),
        (["init", "c", "--least-map", "5"], "at most 1; 5 % is 0.05.\n"),
        (["init", "c", "--least-map", "1"], "no run would be ranked; 1 % is 0.01.\n"),
        (["report", "all"], "number of a run; for all: referee report --all\n"),
        (
            ["run", "arm", "a", "hall-1"],
            "one too many; write what it is: --station hall-1 or --heat hall-1, or --contest hall-1\n",
        ),
        (
            ["testset", "import", "yolo", "--images", "i", "--out", "o"],
            "Missing option '--classes'. The form is: referee testset import yolo --classes PATH ",
        ),
    ],
)
def test_a_wrong_usage_is_told_with_what_to_do(arguments: list[str], told: str) -> None:
    ran = CliRunner().invoke(main, arguments)
    assert ran.exit_code == 2
    assert told in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["log", "--contest", "day"],
            "For a contest, this command takes the folder without it: referee log [FOLDER]\n",
        ),
        (
            ["board", "--contest", "day"],
            "No such option '--contest'. Write it behind the command: referee board COMMAND --contest\n",
        ),
    ],
)
def test_contest_where_it_does_not_stand_leads_to_where_it_does(
    arguments: list[str], told: str
) -> None:
    ran = CliRunner().invoke(main, arguments)
    assert ran.exit_code == 2
    assert ran.stderr.endswith(told)


def test_an_option_between_a_group_and_its_command_leads_to_the_form() -> None:
    ran = CliRunner().invoke(
        main, ["testset", "import", "--format", "coco", "a", "b"], prog_name="referee"
    )
    assert ran.exit_code == 2
    said = "No such option '--format'. Write a command first, then its options: referee testset import COMMAND; the"
    assert f"{said} commands are classes, coco, " in ran.stderr
