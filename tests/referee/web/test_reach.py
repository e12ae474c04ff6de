"""How much of the project a handler depends on, as its modules say by their imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

FOLDERS = {
    "lpirc_testsets": ROOT / "datasets/lpirc_testsets",
    "lpirc_score": ROOT / "scoring/lpirc_score",
    "lpirc_power": ROOT / "power/lpirc_power",
    "lpirc_client": ROOT / "client/lpirc_client",
    "lpirc_tracks": ROOT / "tracks/lpirc_tracks",
    "referee": ROOT / "referee",
}
MOST_OF_A_POST = 100


def source_of(module: str) -> Path | None:
    """Return the file of one of our modules; None for a name that is not one."""
    top, *rest = module.split(".")
    if top not in FOLDERS:
        return None
    path = FOLDERS[top].joinpath(*rest)
    for found in (path.with_suffix(".py"), path / "__init__.py"):
        if found.is_file():
            return found
    return None


def statements(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that run when a module is imported: none of a function, none for type checkers alone."""
    for one in body:
        if isinstance(one, ast.Import | ast.ImportFrom):
            yield one
        elif isinstance(one, ast.If):
            if ast.unparse(one.test) not in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
                yield from statements(one.body)
            yield from statements(one.orelse)
        elif isinstance(one, ast.Try):
            parts = [one.body, one.orelse, one.finalbody]
            parts += [handler.body for handler in one.handlers]
            for part in parts:
                yield from statements(part)
        elif isinstance(one, ast.With | ast.ClassDef):
            yield from statements(one.body)


def imported(source: Path) -> set[str]:
    """Return the names that a module imports, of modules and of what is in them."""
    names = set()
    for one in statements(ast.parse(source.read_text()).body):
        if isinstance(one, ast.Import):
            names |= {name.name for name in one.names}
        else:
            assert one.level == 0, f"{source} has a relative import"
            names |= {f"{one.module}.{name.name}" for name in one.names}
    return names


def reach(module: str) -> set[str]:
    """Return all modules of ours that importing `module` imports, packages included."""
    reached: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        package = name.rpartition(".")[0]
        if package:
            waiting.append(package)
        source = source_of(name)
        if source is not None and name not in reached:
            reached.add(name)
            waiting += imported(source)
    return reached


def test_a_post_of_detections_depends_on_few_modules() -> None:
    reached = reach("referee.web.contestant.posted_detections")
    assert "referee.web.request_bodies" in reached  # it is looked for rightly
    assert "lpirc_score.detections.json_body" in reached
    assert len(reached) <= MOST_OF_A_POST, sorted(reached)


def test_a_post_of_detections_knows_nothing_of_pages_meters_and_judging() -> None:
    reached = reach("referee.web.contestant.posted_detections")
    others = (
        "referee.judging",
        "referee.web.operator",
        "referee.web.public",
        "lpirc_power",
        "lpirc_tracks",
    )
    assert [one for one in sorted(reached) if one.startswith(others)] == []
