"""Public names in Python: what a package lists in `__all__`, and what a page of docs imports."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from textwrap import dedent

LISTED = ("lpirc_power", "lpirc_score", "lpirc_testsets", "lpirc_tracks")
OURS = re.compile(r"(?:referee|lpirc_[a-z]+)(?:\.|$)")
IMPORT = re.compile(
    r"^[ ]*(from (?:referee|lpirc_)[\w.]* import (?:\([^)]*\)|[^\n#(]*))", re.MULTILINE
)


def lines(root: Path) -> list[str]:
    """Return a line for each name, and for each attribute of a public class."""
    names = {(module, name) for module in LISTED for name in _listed(module)}
    names |= {one for page in _pages(root) for one in _imported(page)}
    return sorted({line for module, name in names for line in _told(module, name)})


def _listed(module: str) -> list[str]:
    return [*import_module(module).__all__]


def _pages(root: Path) -> list[Path]:
    decisions = root / "docs" / "decisions"
    found = [*(root / "docs").rglob("*.md"), *root.glob("*/README.md")]
    return [one for one in found if decisions not in one.parents]


def _imported(page: Path) -> Iterator[tuple[str, str]]:
    for statement in IMPORT.findall(page.read_text()):
        try:
            (tree,) = ast.parse(dedent(statement)).body
        except SyntaxError:
            continue  # prose, such as `from lpirc_score import ...`
        assert isinstance(tree, ast.ImportFrom)
        for alias in tree.names:
            yield str(tree.module), alias.name


def _told(module: str, name: str) -> Iterator[str]:
    found = getattr(import_module(module), name, None)
    if found is None:
        found = import_module(f"{module}.{name}")
    place = f"{module}.{name}"
    if inspect.ismodule(found):
        yield f"{place}: module"
    elif inspect.isclass(found):
        yield f"{place}{_signature(found) if _has_own_call(found) else ''}: class"
        yield from (f"{place}.{one}" for one in _attributes(found))
    elif inspect.isroutine(found):
        yield f"{place}{_signature(found)}"
    else:
        yield f"{place}: {type(found).__name__}"


def _has_own_call(found: type) -> bool:
    """Whether this class says itself how it is made; Python's own classes differ by version."""
    if issubclass(found, Enum | BaseException) or getattr(found, "_is_protocol", False):
        return False
    return is_dataclass(found) or "__init__" in vars(found)


def _signature(found: object) -> str:
    """The parameters by name and kind; `=` marks one with a default."""
    parameters = []
    star = False
    for one in inspect.signature(found).parameters.values():  # type: ignore[arg-type]
        if one.name == "self":
            continue
        if one.kind is one.KEYWORD_ONLY and not star:
            parameters.append("*")
            star = True
        stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        star = star or stars == "*"
        parameters.append(f"{stars}{one.name}{'' if one.default is one.empty else '='}")
    return f"({', '.join(parameters)})"


def _attributes(found: type) -> Iterator[str]:
    for base in found.__mro__:
        if not OURS.match(base.__module__):
            continue
        for name in {*vars(base), *inspect.get_annotations(base)}:
            if not name.startswith("_"):
                member = inspect.getattr_static(base, name, None)
                is_method = inspect.isfunction(member)
                yield f"{name}{_signature(member) if is_method else ''}"
