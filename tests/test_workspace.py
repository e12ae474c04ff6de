"""The six distributions: what each says of itself is so, and all say the same where they must."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.wheels.building import FOLDERS, ROOT

ONE_SCREEN = 60  # lines
LOCKS = ("requirements.lock", "extras.lock", "development.lock")
OTHER_LOCKS = ("bench/requirements.lock", "bench/mutants.lock")
CLIENT_OLDEST = "client/oldest.lock"  # of Python 3.8

OURS = {
    "referee": "lpirc-referee",
    **{name.replace("-", "_"): name for name in FOLDERS if name != "lpirc-referee"},
}
# Arrows: what each distribution may ask for among ours.
KNOWS = {
    "lpirc-testsets": set(),
    "lpirc-score": {"lpirc-testsets"},
    "lpirc-power": set(),
    "lpirc-client": set(),
    "lpirc-referee": {"lpirc-testsets", "lpirc-score", "lpirc-power"},
    "lpirc-tracks": {"lpirc-testsets", "lpirc-score", "lpirc-power", "lpirc-referee"},
}
# A program that is started, or one file of it for a demo: an extra, and no arrow.
STARTS = {
    "lpirc-referee": {"lpirc-client"},
    "lpirc-tracks": {"lpirc-client"},
}
# Imported without being asked for, since what is asked for always brings it.
BROUGHT = {"urllib3"}  # by requests, whose exceptions it raises
# Asked for without an import that can be seen.
NOT_IMPORTED = {
    "lpirc-power": {"pyusb", "pyserial"},  # pyvisa-py imports them
    "lpirc-client": {"flatbuffers"},  # the schema of ai-edge-litert imports it
}
# Each is imported late, by a caller that names the extra when it is missing.
ONLY_WITH_AN_EXTRA = {
    "client/lpirc_client/adapters",
    "client/lpirc_client/harness",
    "client/lpirc_client/sample_detector",
    "referee/workers/cluster.py",
    "referee/workers/cluster_client.py",
    "scoring/lpirc_score/metrics/coco_reference.py",
}


@cache
def project_of(name: str) -> dict[str, Any]:
    text = (ROOT / FOLDERS[name] / "pyproject.toml").read_text()
    project: dict[str, Any] = tomllib.loads(text)["project"]
    return project


def asked(name: str) -> dict[str, set[str]]:
    """The names that a distribution asks for, by extra; "" without one."""
    project = project_of(name)
    extras = {"": project["dependencies"], **project.get("optional-dependencies", {})}
    return {
        extra: {canonicalize_name(Requirement(line).name) for line in lines}
        for extra, lines in extras.items()
    }


def package_of(name: str) -> Path:
    folder = ROOT / FOLDERS[name]
    import_name = "referee" if name == "lpirc-referee" else name.replace("-", "_")
    return folder if folder.name == import_name else folder / import_name


def imports(file: Path) -> Iterator[tuple[str, bool]]:
    """The top-level names that a file imports, and whether it does so when it is itself imported."""
    tree = ast.parse(file.read_text())
    first = {id(one) for one in _at_import(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        else:
            continue
        for one in names:
            yield one.partition(".")[0], id(node) in first


def _at_import(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        is_late = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        is_type = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        if not is_late and not is_type:
            yield node
            yield from _at_import(node)


def imported(name: str) -> dict[str, set[str]]:
    """The distributions that a distribution imports, each with the files that do."""
    found: dict[str, set[str]] = {}
    package = package_of(name)
    for file in package.rglob("*.py"):
        for module, _ in imports(file):
            if module in sys.stdlib_module_names or module in (package.name, *BROUGHT):
                continue
            place = str(file.relative_to(ROOT))
            found.setdefault(provider(module), set()).add(place)
    return found


@cache
def provider(module: str) -> str:
    """The distribution that a module at the top comes from; the module itself where none does."""
    if module in OURS:
        return OURS[module]
    names = sorted(set(_providers().get(module, [module])))
    return canonicalize_name(names[0])


@cache
def _providers() -> Mapping[str, list[str]]:
    return metadata.packages_distributions()


def entries(lock: str) -> dict[str, set[str]]:
    """The versions of each package of a lock: several where they differ by Python."""
    found: dict[str, set[str]] = {}
    lines = re.findall(
        r"^([a-z0-9-]+)==([^ ]+)",
        (ROOT / lock).read_text(),
        re.MULTILINE,
    )
    for name, version in lines:
        found.setdefault(name, set()).add(version)
    return found


@pytest.mark.parametrize("name", FOLDERS)
def test_each_has_a_page_of_one_screen_a_licence_and_the_common_version(
    name: str,
) -> None:
    project = project_of(name)
    folder = ROOT / FOLDERS[name]
    assert project["name"] == name
    assert project["version"] == project_of("lpirc-referee")["version"]
    assert project["version"] == metadata.version(name)
    lines = (folder / "README.md").read_text().splitlines()
    assert lines[0] == f"# {name}"
    assert 10 <= len(lines) <= ONE_SCREEN
    assert max(map(len, lines)) <= 120
    assert (folder / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    assert not (folder / "LICENSE").is_symlink()


@pytest.mark.parametrize("name", FOLDERS)
def test_each_asks_for_what_it_imports_and_nothing_else(name: str) -> None:
    wanted = set().union(*asked(name).values())
    found = imported(name)
    missing = {one: found[one] for one in {*found} - wanted}
    assert not missing
    assert wanted - {*found} <= NOT_IMPORTED.get(name, set()) | STARTS.get(name, set())


@pytest.mark.parametrize("name", FOLDERS)
def test_each_can_be_imported_without_its_extras(name: str) -> None:
    needs = asked(name)
    optional = set().union(*needs.values()) - needs[""]
    for file in package_of(name).rglob("*.py"):
        place = file.relative_to(ROOT)
        is_late = {str(place), str(place.parent)} & ONLY_WITH_AN_EXTRA
        first = {provider(module) for module, is_first in imports(file) if is_first}
        assert is_late or not first & optional, place


@pytest.mark.parametrize("name", FOLDERS)
def test_each_knows_only_those_below(name: str) -> None:
    ours = {one for one in imported(name) if one in FOLDERS}
    assert ours <= KNOWS[name] | STARTS.get(name, set())
    needs = asked(name)
    assert needs[""] & {*FOLDERS} <= KNOWS[name]
    below = [*FOLDERS][: [*FOLDERS].index(name)]
    assert set().union(*needs.values()) & {*FOLDERS} <= {*below}


def test_the_workspace_itself_is_no_distribution() -> None:
    root = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "project" not in root
    assert "build-system" not in root
    assert sorted(root["tool"]["uv"]["workspace"]["members"]) == sorted(
        FOLDERS.values()
    )
    assert {*root["tool"]["uv"]["sources"]} == {*FOLDERS}
    running = {
        canonicalize_name(Requirement(one).name)
        for one in root["dependency-groups"]["run"]
    }
    assert {*FOLDERS} <= running


def test_the_locks_are_of_one_resolution_and_name_no_index() -> None:
    first = {name: entries(name) for name in (*LOCKS, *OTHER_LOCKS)}
    versions: dict[str, set[str]] = {}
    for lock, found in first.items():
        for name, here in found.items():
            assert versions.setdefault(name, here) == here, f"{name} in {lock}"
    for lock in (*first, CLIENT_OLDEST):
        text = (ROOT / lock).read_text()
        assert "://" not in text
        assert "lpirc" not in re.sub("#.*", "", text)


def test_running_needs_no_tools_of_development() -> None:
    running = entries(LOCKS[0])
    develop = entries(LOCKS[2])
    for name in ("pytest", "mypy", "ruff", "playwright", "mkdocs", "distributed"):
        assert name not in running
    for name in ("pytest", "mypy", "ruff", "playwright", "mkdocs"):
        assert name in develop
    assert len(running) < 60


def test_what_the_environment_installs_is_the_workspace() -> None:
    from tests.environment import DISTRIBUTIONS
    from tests.environment import LOCKS as INSTALLED

    assert [*DISTRIBUTIONS] == [*FOLDERS.values()]
    assert {one for locks in INSTALLED.values() for one in locks} == {*LOCKS}


@pytest.mark.parametrize(
    ("contest", "told"),
    [
        ("my day", "<init><my day><--yes>\n<serve><my day>\n"),
        ("", "name the folder of the contest: make serve CONTEST=contest\n"),
    ],
)
def test_make_serve_takes_a_folder_with_a_blank_and_none_without_a_name(
    tmp_path: Path, contest: str, told: str
) -> None:
    program = tmp_path / "referee"
    program.write_text('#!/bin/sh\nprintf "<%s>" "$@"\necho\n')
    program.chmod(0o755)
    make = ["make", "-s", "-o", "setup", "serve", f"BIN={tmp_path}"]
    command = [*make, f"CONTEST={contest}"]
    # The tests run below a make themselves, whose options and ARGS the new one would take.
    environment = dict(os.environ)
    for name in ("MAKEFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "MFLAGS", "ARGS"):
        environment.pop(name, None)
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout or done.stderr).startswith(told)
    assert done.returncode == (0 if contest else 2)
