"""Every command of ours in the documents' code is taken by its own parser, which runs nothing."""

from __future__ import annotations

import argparse
import io
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path

import click
import pytest

from tests.warm_programs import ENTRIES
from tests.wheels.building import FOLDERS

ROOT = Path(__file__).parents[2]
OUTSIDE = (
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    *(f"{folder}/README.md" for folder in FOLDERS.values()),
)
PAGES = [*(ROOT / name for name in OUTSIDE), *sorted((ROOT / "docs").rglob("*.md"))]
PROGRAMS: dict[str, click.Command | argparse.ArgumentParser] = {
    name: module.build_parser() if hasattr(module, "build_parser") else module.main
    for name, module in (
        (name, import_module(module)) for name, module in ENTRIES.items()
    )
}
BLOCK_OR_SPAN = re.compile(r"^ {4,}(.*)$|(?<!`)`([^`]+)`", re.MULTILINE)
BETWEEN = re.compile(r"&&|\|\||[;|&<>]+")
IS_PLACEHOLDER = re.compile(r"[\[\]]|^\.\.\.$")
NOT_THERE = ("No such", "unrecognized arguments", "invalid choice")


def commands(text: str) -> Iterator[tuple[list[str], bool]]:
    """Yield the words of each command of ours in a text's code, and whether it is in a block, to be pasted."""
    for block, span in BLOCK_OR_SPAN.findall(re.sub(r"\\\n +", " ", text)):
        lexer = shlex.shlex(block or span, posix=True, punctuation_chars="&|;<>")
        lexer.whitespace_split = True
        lexer.commenters = "#" if block else ""
        try:
            words = [IS_PLACEHOLDER.sub("", word) for word in lexer]
        except ValueError:  # a quote that is not closed: no command
            continue
        for at, word in enumerate(words):
            before = words[at - 1] if at else "--"
            is_first = before == "--" or "=" in before or BETWEEN.fullmatch(before)
            if is_first and Path(word).name in PROGRAMS:
                end = next(
                    (n for n in range(at, len(words)) if BETWEEN.fullmatch(words[n])),
                    len(words),
                )
                given = [
                    "1" if one == "N" else one for one in words[at + 1 : end] if one
                ]
                if given and (block or not given[0].startswith("-")):
                    yield [Path(word).name, *given], bool(block)


def complaint(words: list[str]) -> str:
    """What the command's parser has against these words; nothing if it takes them."""
    parser = PROGRAMS[words[0]]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as said:
        try:
            if isinstance(parser, argparse.ArgumentParser):
                parser.parse_args(words[1:])
            else:
                descend(parser, words[0], words[1:])
        except click.ClickException as error:
            return error.format_message()
        except click.exceptions.Exit:
            return ""
        except SystemExit as end:
            return said.getvalue().rpartition("error: ")[2].strip() if end.code else ""
    return ""


def descend(
    command: click.Command,
    name: str,
    words: list[str],
) -> None:
    """Let a command parse its words, then the command in it that they name."""
    with command.make_context(name, words) as context:
        if isinstance(command, click.Group):
            given = [*context._protected_args, *context.args]  # noqa: SLF001 - what invoke() takes, too
            _, found, rest = command.resolve_command(context, given)
            assert found is not None
            descend(found, name, rest)


def complaints(text: str) -> list[str]:
    found = []
    for words, is_block in commands(text):
        said = complaint(words)
        # In a sentence, arguments may be left out.
        if said and (is_block or said.startswith(NOT_THERE)):
            found.append(f"{shlex.join(words)}: {said}")
    return found


@pytest.fixture(autouse=True)
def files_that_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that examples name are the reader's."""
    monkeypatch.setattr(click.Path, "convert", lambda _, value, *__: Path(value))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_a_page_is_taken_by_its_parser(page: Path) -> None:
    assert complaints(page.read_text()) == []


def test_what_no_parser_takes_is_found() -> None:
    text = (
        "`meter probe --loud`, `lpirc-client run URL --team a --fly`, `referee score --metric`\n\n"
        "    .venv/bin/referee init day \\\n      --colour red && meter record sim: -o a --duration long  # meter fly\n"
        "    referee run show N [--json]\n"
        "    umask 077; REFEREE_CONTEST=day referee run arm; useradd referee --home\n"
    )
    assert complaints(text) == [
        "meter probe --loud: No such option '--loud'.",
        "lpirc-client run URL --team a --fly: unrecognized arguments: --fly",
        "referee init day --colour red: No such option '--colour'.",
        "meter record sim: -o a --duration long: Invalid value for '--duration': "
        "'long' is not a number; its unit is S.",
        "referee run arm: Missing argument 'TEAM'.",
    ]
