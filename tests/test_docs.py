"""The documents name only what exists: files, links, commands."""

from __future__ import annotations

import argparse
import ast
import io
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import closing, redirect_stderr, redirect_stdout
from pathlib import Path

import click
import pytest

from lpirc_client.cli import build_parser
from lpirc_client.harness.cli import build_parser as build_harness_parser
from lpirc_power.cli import main as meter
from referee.cli import main as referee
from referee.cli.main import words_of
from referee.store import Store

ROOT = Path(__file__).parents[1]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PARTS = ("datasets", "scoring", "power", "client", "referee", "tracks")
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *(ROOT / part / "README.md" for part in PARTS),
    *DOCS,
]
MOST_README_LINES = 130

ROOMS = sorted(one for part in PARTS for one in (ROOT / part).rglob("__init__.py"))
QUESTIONS = (
    *(
        "a metric",
        "another maker's meter",
        "a route that exports results",
        "the ranking's ties",
    ),
    *(
        "a column stored with each run",
        "the tolerance between integrator and trapezoid",
    ),
    *(
        "the limit of log-in failures",
        "when the window is over, and the grace for a late POST",
        "images per batch",
    ),
    *(
        "how a client retries",
        "a check of a run's energy",
        "the text of an error",
        "a page of the console",
    ),
    *(
        "a fault of the simulator",
        "a test-set format",
        "an option of a command",
        "what a bundle contains",
    ),
    *("a track's rule", "what `serve` logs", "the default window"),
)

LINK = re.compile(r"(?<!`)\[[^]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
PROJECT_PATH = re.compile(
    r"`((?:datasets|scoring|power|client|referee|tracks|tests|bench|docs)/[\w./-]*)`( \(to come\))?"
)
CODE = re.compile(r"^ {4}(.*)$|`([^`]+)`", re.MULTILINE)
COMMENT = re.compile(r" # .*")
COMMAND = re.compile(
    r"(?:^|(?<=\s)|bin/)(referee|meter|lpirc-client|lpirc-harness)\s([a-z][a-z|]*)(?:\s([a-z][a-z|]*))?"
)

HELPED = re.compile(
    r"(?:: ?|^ {2,4})((?:referee|meter|lpirc-client|lpirc-harness)(?:[ ]+|\n[ ]+)[a-z|]+(?:(?:[ ]+|\n[ ]+)[a-z|]+)?)",
    re.MULTILINE,
)


def page_name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, made as GitHub makes them."""
    headings = HEADING.findall(page.read_text())
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in headings
    }


def paths() -> Iterator[tuple[str, str, bool]]:
    """(page, path, whether it is still to come) of every path that a page names."""
    for page in (ROOT / "CONTRIBUTING.md", ROOT / "docs" / "architecture.md"):
        for path, to_come in PROJECT_PATH.findall(page.read_text()):
            yield page_name(page), path, bool(to_come)


def is_client_command(program: str, name: str) -> bool:
    """Whether `lpirc-client` or `lpirc-harness` has a command of that name: it then shows its help."""
    parser = build_parser() if program == "lpirc-client" else build_harness_parser()
    with (
        redirect_stdout(io.StringIO()),
        redirect_stderr(io.StringIO()),
        pytest.raises(SystemExit) as ended,
    ):
        parser.parse_args([name, "--help"])
    return ended.value.code == 0


def missing_commands(text: str) -> list[str]:
    """The commands in a text's code that do not exist; `run arm|close` names two."""
    groups = {"referee": referee, "meter": meter}
    code = [COMMENT.sub("", line or span) for line, span in CODE.findall(text)]
    missing = []
    for program, names, more in (
        found for one in code for found in COMMAND.findall(one)
    ):
        for name in names.split("|"):
            if program.startswith("lpirc-"):
                missing += (
                    [] if is_client_command(program, name) else [f"{program} {name}"]
                )
                continue
            command = groups[program].get_command(click.Context(groups[program]), name)
            if command is None:
                missing.append(f"{program} {name}")
            elif isinstance(command, click.Group) and more:
                missing += [
                    f"{program} {name} {one}"
                    for one in more.split("|")
                    if one not in command.commands
                ]
    return missing


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= MOST_README_LINES


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_relative_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in LINK.findall(page.read_text()):
        target, _, anchor = link.partition("#")
        if "://" in link:
            continue
        file = (page.parent / target).resolve() if target else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(link)
    assert broken == []


def test_named_paths_exist() -> None:
    missing = [
        (page, path)
        for page, path, to_come in paths()
        if not to_come and not (ROOT / path).exists()
    ]
    assert missing == []


def test_the_page_of_the_architecture_answers_what_newcomers_ask() -> None:
    table = (
        (ROOT / "docs" / "architecture.md")
        .read_text()
        .rpartition("## I want to change")[2]
    )
    asked = [
        row.split("|")[1].strip() for row in table.splitlines() if row.startswith("| ")
    ]
    assert [
        one for one in QUESTIONS if not any(row.startswith(one) for row in asked)
    ] == []


@pytest.mark.parametrize("room", ROOMS, ids=page_name)
def test_a_room_has_a_doorplate_of_two_to_five_lines(room: Path) -> None:
    plate = ast.get_docstring(ast.parse(room.read_text()))
    assert plate is not None
    assert 2 <= len([line for line in plate.splitlines() if line]) <= 5


def test_paths_to_come_do_not_exist_yet() -> None:
    exist = [
        (page, path)
        for page, path, to_come in paths()
        if to_come and (ROOT / path).exists()
    ]
    assert exist == [], "they have come: remove '(to come)'"


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_named_commands_exist(page: Path) -> None:
    text, _, _ = page.read_text().partition("\n## A sample of each\n")
    assert missing_commands(text) == []


def helps(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    """(name, help) of a command and of those below it."""
    context = click.Context(command, info_name=name)
    yield name, command.get_help(context)
    if isinstance(command, click.Group):
        for one in command.list_commands(context):
            below = command.get_command(context, one)
            assert below is not None
            yield from helps(below, f"{name} {one}")


def parser_helps(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """(name, help) of a parser and of its commands."""
    yield parser.prog, parser.format_help()
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for below in action.choices.values():
                yield from parser_helps(below)


def named_in_help(text: str) -> str:
    """The commands that a help names, as code: in backquotes, after a colon, or on a line of its own."""
    programs = "|".join(referee.list_commands(click.Context(referee)))
    spans = [
        f"referee {one}" if re.match(rf"({programs})(\s|$)", one) else one
        for one in re.findall(r"`([^`]+)`", text)
    ]
    spans += [" ".join(one.split()) for one in HELPED.findall(text)]
    return "\n".join(f"`{one}`" for one in spans)


HELPS = [
    *(
        one
        for name, group in (
            ("referee", referee),
            ("meter", meter),
        )
        for one in helps(group, name)
    ),
    *(
        one
        for parser in (build_parser(), build_harness_parser())
        for one in parser_helps(parser)
    ),
]


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in HELPS])
def test_every_command_that_a_help_names_exists(text: str) -> None:
    assert missing_commands(named_in_help(text)) == []


@pytest.mark.parametrize("name", referee.list_commands(click.Context(referee)))
def test_what_the_list_of_commands_says_of_a_group_names_its_commands(
    name: str,
) -> None:
    """As in "Model tracks: validate, bench, ... models": after the colon of a group each part begins with a command."""
    group = referee.get_command(click.Context(referee), name)
    _, colon, parts = words_of(name).partition(": ")
    if isinstance(group, click.Group) and colon:
        verbs = {
            part.split()[0].rstrip(".") for part in re.split(r", and |, | and ", parts)
        }
        assert verbs <= set(group.commands)


def test_a_help_that_names_no_command_is_found() -> None:
    text = "Usage: referee init\n\n  See `suite plan` or: referee suite\n  tables. The meter runs.\n\n  meter fly now"
    assert missing_commands(named_in_help(text)) == [
        "referee suite plan",
        "referee suite tables",
        "meter fly",
    ]


def test_commands_that_do_not_exist_are_found() -> None:
    text = (
        "`referee run arm|dance`, `meter probe`, `lpirc-client\nsing`\n"
        "    .venv/bin/meter fly && referee walk  # the meter runs\n"
    )
    assert missing_commands(text) == [
        "referee run dance",
        "lpirc-client sing",
        "meter fly",
        "referee walk",
    ]


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="no sqlite3 here")
def test_a_copy_made_as_the_page_says_is_complete_and_for_its_owner_only(
    tmp_path: Path,
) -> None:
    (line,) = re.findall(
        r"^    (.*VACUUM INTO.*?)  # ",
        (ROOT / "docs" / "operators.md").read_text(),
        re.MULTILINE,
    )
    (tmp_path / "day").mkdir()
    Store.open(tmp_path / "day" / "contest.db", create=True).close()
    subprocess.run(["bash", "-c", f"umask 022; {line}"], cwd=tmp_path, check=True)
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600
    with closing(Store.open(tmp_path / "copy.db")) as copied:
        assert copied.teams.all() == {}
