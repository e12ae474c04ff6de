"""The pages name modules that exist, in sentences that are read once; doorplates name what is behind the door."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = ("datasets", "scoring", "power", "client", "referee", "tracks")
MOST_ROWS = 40
"""Of what file names do not tell."""
MOST_WORDS = 35
"""Of a sentence."""
SHORT_SENTENCES = ("docs/energy.md", "docs/operators.md", "docs/architecture.md")

CODE = re.compile(r"`([^`\n]+)`")
TOPS = "|".join((*DISTRIBUTIONS, "tests", "bench", "docs"))
PATH = re.compile(rf"(?:{TOPS})/[\w./-]+")
MODULE = re.compile(r"(?:referee|lpirc_\w+)(?:\.[a-z_0-9]+)+")
FILE = re.compile(r"\w+\.py")
MODULE_NAME = re.compile(r"(?!lpirc\.)[a-z_0-9]+(?:\.(?!toml|json)[a-z_0-9]+)*")
COMMANDS = {"bench", "validate"}
PLACEHOLDERS = {"mydetector.py", "NAME.txt", "referee.crt"}

FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.) ")
LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
SENTENCE_END = re.compile(r"(?<=[.!?])[\"*)]*\s+(?=[\"*(\[`\w])")


@cache
def tracked() -> frozenset[str]:
    """All files of the project, and their folders."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    files = [one for one in listed.stdout.splitlines() if (ROOT / one).exists()]
    folders = (str(folder) for one in files for folder in PurePosixPath(one).parents)
    return frozenset((*files, *folders))


@cache
def file_names() -> frozenset[str]:
    return frozenset(PurePosixPath(one).name for one in tracked())


def pages() -> list[str]:
    """The pages that say how things are now: not the changelog."""
    return sorted(
        one for one in tracked() if one.endswith(".md") and one != "CHANGELOG.md"
    )


def source_of(module: str) -> Path | None:
    """The file of a module, by its dotted name."""
    inner = module.replace(".", "/")
    for folder in ("", *DISTRIBUTIONS):
        for form in (f"{inner}.py", f"{inner}/__init__.py"):
            if (ROOT / folder / form).is_file():
                return ROOT / folder / form
    return None


def is_known(module: str) -> bool:
    """Whether the dotted name is a module, or a name in one."""
    if source_of(module) is not None:
        return True
    owner, _, name = module.rpartition(".")
    source = source_of(owner)
    return source is not None and name in source.read_text()


def unknown_in(page: str) -> Iterator[str]:
    """What a page names as a path, a module or a file, and is none."""
    for span in CODE.findall((ROOT / page).read_text()):
        for word in (one.strip("(),;:\"'") for one in span.split()):
            if PurePosixPath(word).name in PLACEHOLDERS:
                continue
            if PATH.fullmatch(word):
                known = word.rstrip("/") in tracked()
            elif MODULE.fullmatch(word):
                known = is_known(word) or PurePosixPath(word).suffix == ".service"
            elif FILE.fullmatch(word):
                known = word in file_names()
            else:
                continue
            if not known:
                yield word


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page, without its code blocks, tables and headings; of a link its text alone."""
    block: list[str] = []
    for line in (*FENCE.sub("", text).splitlines(), ""):
        is_prose = line.strip() and not line.startswith(("    ", "|", "#"))
        if not is_prose or ITEM.match(line):
            joined = CODE.sub("code", LINK.sub(r"\1", " ".join(block)))
            yield from SENTENCE_END.split(joined)
            block = []
        if is_prose:
            block.append(ITEM.sub("", line).strip())


def rooms() -> list[str]:
    return sorted(
        one
        for one in tracked()
        if one.endswith("/__init__.py") and one.startswith(DISTRIBUTIONS)
    )


@pytest.mark.parametrize("page", pages())
def test_a_page_names_only_modules_and_paths_that_exist(page: str) -> None:
    assert list(unknown_in(page)) == []


@pytest.mark.parametrize("page", SHORT_SENTENCES)
def test_no_sentence_of_a_long_page_is_too_long(page: str) -> None:
    counted = ((len(one.split()), one) for one in sentences((ROOT / page).read_text()))
    assert [one for one in counted if one[0] > MOST_WORDS] == []


def test_long_sentences_are_counted_across_lines_and_links() -> None:
    text = "# A\n\nOne two\nthree `a b` [x y](z). Four.\n- five\n  six\n\n    code\n| a |\n"
    found = [one for one in sentences(text) if one]
    assert found == ["One two three code x y.", "Four.", "five six"]


def test_the_change_table_has_only_what_names_do_not_tell() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    table = page.rpartition("\n## I want to change")[2]
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    assert 1 < len(rows) <= MOST_ROWS + 1  # with the heading


def test_every_room_stands_in_the_tables_of_rooms() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    tables = page.partition("\n## Rooms")[2].partition("\n## ")[0]
    named = {word for span in CODE.findall(tables) for word in span.split()}
    missing = []
    for room in rooms():
        folder = PurePosixPath(room).parent
        above = {str(folder), *(str(one) for one in folder.parents)}
        is_distribution = str(folder) == "referee" or len(folder.parts) == 2
        if not (named & above or is_distribution):
            missing.append(room)
    assert missing == []


@pytest.mark.parametrize("room", rooms())
def test_a_doorplate_names_what_is_behind_the_door(room: str) -> None:
    """A word in backquotes is a file or folder of the room or beside it, a command, or a dotted name that exists."""
    plate = ast.get_docstring(ast.parse((ROOT / room).read_text())) or ""
    folder = (ROOT / room).parent
    unknown = []
    for word in CODE.findall(plate):
        if not MODULE_NAME.fullmatch(word) or word in COMMANDS:
            continue
        inner = word.replace(".", "/")
        places = [folder / inner, folder.parent / inner, folder / f"{inner}.py"]
        places.append(folder.parent / f"{inner}.py")
        if not (any(one.exists() for one in places) or is_known(word)):
            unknown.append(word)
    assert unknown == []
