"""`python -m tests.lines [FOLDER ...]`: is the code loose enough to be read line by line? For `make lint`.

ruff holds the width of a line and the branches of a function. Counted here is the rest: tokens for each line of code
in each top-level folder, expressions that a reader has to unfold, long modules and long functions. Names each place.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

TOKENS_A_LINE = 7.5
MODULE_LINES = 400
FUNCTION_LINES = 60

CHOSEN_CALL = "a call of a chosen function: name the function first"
BOOL_PRODUCT = "a product with a bool: write an if"
DOUBLED = "several assignments in one: write a line for each"
NESTED = "a comprehension or ternary inside a comprehension: name the inner value"
LONG_FUNCTION = f"a function of more than {FUNCTION_LINES} lines"
LONG_MODULE = f"a module of more than {MODULE_LINES} lines"

OUTSIDE = ("tests", "bench", "docs")  # of the product
OF_PRODUCT = (LONG_FUNCTION, LONG_MODULE)  # a test may tell a long story
# How many places there may be of one rule: in a folder, or in all of the product together. None of what is not here.
LIMITS = {
    ("the product", NESTED): 10,
    ("tests", NESTED): 110,
}
NO_CODE = frozenset(
    (
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    )
)
# Before Python 3.12 an f-string is one token; since then it has a first, a last and several between.
F_STRING_FIRST: int | None = getattr(tokenize, "FSTRING_START", None)
F_STRING_LAST: int | None = getattr(tokenize, "FSTRING_END", None)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Place:
    """A line of a file that breaks a rule."""

    file: str
    line: int
    rule: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.rule}"


@dataclass(frozen=True)
class Counted:
    """The code of one file: its tokens, its lines with code, and the places that break a rule."""

    tokens: int
    lines: int
    places: tuple[Place, ...]


def main(folders: Sequence[str]) -> int:
    """Print each place that breaks a limit; the exit code is 1 for one, else 0."""
    counted = {file: count(file, Path(file).read_text()) for file in tracked(folders)}
    broken = [*broken_densities(counted), *broken_rules(counted)]
    for line in broken:
        click.echo(f"lines: {line}", err=True)
    if not broken:
        density = max(densities(counted).values(), default=0.0)
        click.echo(f"lines: {len(counted)} files, at most {density:.2f} tokens a line")
    return int(bool(broken))


def tracked(folders: Sequence[str]) -> list[str]:
    """Return the modules that are part of the project, in these folders or in all."""
    command = ["git", "ls-files", *folders]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    files = listed.stdout.splitlines()
    return [file for file in files if file.endswith(".py") and Path(file).exists()]


def count(file: str, text: str) -> Counted:
    """Count the code of one file."""
    tree = ast.parse(text)
    prose = set[int]()
    for node in ast.walk(tree):
        if _is_text(node):
            prose.update(_lines_of(node))
    tokens = 0
    lines = set[int]()
    for token in _tokens(text):
        first = token.start[0]
        last = token.end[0]
        if token.type not in NO_CODE and first not in prose:
            tokens += 1
            lines.update(range(first, last + 1))
    return Counted(tokens, len(lines), tuple(_places(file, text, tree)))


def densities(counted: Mapping[str, Counted]) -> dict[str, float]:
    """Return the tokens for each line of code, by top-level folder."""
    tokens = Counter[str]()
    lines = Counter[str]()
    for file, one in counted.items():
        tokens[folder_of(file)] += one.tokens
        lines[folder_of(file)] += one.lines
    return {folder: tokens[folder] / max(1, lines[folder]) for folder in tokens}


def folder_of(file: str) -> str:
    """Return the top-level folder of a file."""
    return file.partition("/")[0]


def broken_densities(counted: Mapping[str, Counted]) -> Iterator[str]:
    """Return a sentence for each folder whose lines are too dense, with its densest files."""
    for folder, density in densities(counted).items():
        if round(density, 2) <= TOKENS_A_LINE:
            continue
        yield f"{folder}: {density:.2f} tokens a line; the limit is {TOKENS_A_LINE}"
        inside = {
            file: one for file, one in counted.items() if folder_of(file) == folder
        }
        yield from _densest(inside)


def broken_rules(counted: Mapping[str, Counted]) -> Iterator[str]:
    """Return the places of each rule that is broken more often than its limit, and how often."""
    found = defaultdict[tuple[str, str], list[Place]](list)
    for file, one in counted.items():
        folder = folder_of(file)
        is_product = folder not in OUTSIDE
        for place in one.places:
            if is_product and place.rule == NESTED:
                found["the product", NESTED].append(place)
            elif is_product or place.rule not in OF_PRODUCT:
                found[folder, place.rule].append(place)
    for (where, rule), places in found.items():
        limit = LIMITS.get((where, rule), 0)
        if len(places) > limit:
            yield from map(str, places)
            yield f"{where}: {len(places)} times {rule}; the limit is {limit}"


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    """Yield the tokens of a module, each f-string as one token."""
    starts: list[tuple[int, int]] = []  # of the f-strings that are open, the inner last
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == F_STRING_FIRST:
            starts.append(token.start)
        elif token.type == F_STRING_LAST:
            token = token._replace(start=starts.pop())
        if not starts:
            yield token


def _densest(counted: Mapping[str, Counted], most: int = 10) -> Iterator[str]:
    def cost(file: str) -> float:
        return counted[file].tokens - TOKENS_A_LINE * counted[file].lines

    for file in sorted(counted, key=cost, reverse=True)[:most]:
        one = counted[file]
        yield f"{file}:1: {one.tokens / max(1, one.lines):.2f} tokens a line"


def _places(
    file: str,
    text: str,
    tree: ast.Module,
) -> Iterator[Place]:
    for node in ast.walk(tree):
        for rule in _rules_broken(node):
            yield Place(file, node.lineno, rule)  # type: ignore[attr-defined]
    if text.count("\n") > MODULE_LINES:
        yield Place(file, 1, LONG_MODULE)


def _rules_broken(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.IfExp() | ast.BoolOp()):
            yield CHOSEN_CALL
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            if _is_bool(left) or _is_bool(right):
                yield BOOL_PRODUCT
        case ast.Assign(targets=[ast.Tuple(), *_], value=ast.Tuple()):
            yield DOUBLED
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            if _body_lines(node) > FUNCTION_LINES:
                yield LONG_FUNCTION
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            if _is_unfolded(node):
                yield NESTED


def _body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of a function below its signature and its docstring."""
    statements = [one for one in function.body if not _is_text(one)]
    if not statements:
        return 0
    return _lines_of(statements[-1]).stop - statements[0].lineno


def _is_bool(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "bool"
    return isinstance(node, ast.Compare)


def _is_unfolded(node: ast.expr) -> bool:
    """Return if a comprehension holds another one, or a ternary."""
    inner: Iterable[ast.AST] = (one for one in ast.walk(node) if one is not node)
    return any(isinstance(one, (*COMPREHENSIONS, ast.IfExp)) for one in inner)


def _is_text(node: ast.AST) -> bool:
    """Return if a statement is nothing but a text, such as a docstring."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
        return False
    return isinstance(node.value.value, str)


def _lines_of(node: ast.AST) -> range:
    first: int = node.lineno  # type: ignore[attr-defined]
    last: int = node.end_lineno  # type: ignore[attr-defined]
    return range(first, last + 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
