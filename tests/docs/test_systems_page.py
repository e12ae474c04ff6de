"""docs/systems.md has every locked package with machine code, in the version of the locks."""

from __future__ import annotations

import importlib.util
import re
import sys
from itertools import chain
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| ([a-z0-9-]+) (\d\S*) \|", re.MULTILINE)
MADE = re.compile(r"^(?:All )?(\d+)(?: of (\d+))? packages of `(\S+)`", re.MULTILINE)


def loaded() -> ModuleType:
    """The script, which is no module of a package."""
    file = ROOT / "docs" / "make" / "systems.py"
    spec = importlib.util.spec_from_file_location("docs_make_systems", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


systems = loaded()
X86 = "x86-64"
ARM = "aarch64"


def package(marker: str = "") -> object:
    return systems.Package("thing", "1.0", marker, frozenset())


def wheels(*names: str, marker: str = "") -> dict[str, str]:
    files = [f"thing-1.0-{one}.whl" for one in names]
    told: dict[str, str] = systems.wheels_for(package(marker), files, systems.PYTHONS)
    return told


def test_the_tables_are_of_the_locks() -> None:
    text = systems.PAGE.read_text()
    locked = {
        (one.name, one.version)
        for one in chain.from_iterable(map(systems.packages, systems.LOCKS))
    }
    stale = {*ROW.findall(text)} - locked
    assert not stale, "run .venv/bin/python docs/make/systems.py"
    for pure, of_all, lock in MADE.findall(text):
        assert int(of_all or pure) == len(systems.packages(lock)), lock
    assert {lock for _, _, lock in MADE.findall(text)} == {*systems.LOCKS}
    assert re.search(r"^As the index had it on \d{4}-\d\d-\d\d\.$", text, re.MULTILINE)


def test_a_wheel_for_each_python_is_all_and_fewer_are_named() -> None:
    both = [
        f"cp3{n}-cp3{n}-manylinux_2_28_{machine}"
        for n in (11, 12, 13, 14)
        for machine in ("x86_64", "aarch64")
    ]
    assert wheels(*both)[X86] == wheels(*both)[ARM] == "all"
    assert wheels(*both[:4])[ARM] == "3.11, 3.12"
    assert wheels(*both)["32-bit ARM"] == "none"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("cp39-abi3-manylinux2014_aarch64", "all"),
        ("cp313-abi3-manylinux_2_34_aarch64", "3.13, 3.14"),
        ("py3-none-manylinux_2_17_aarch64.manylinux2014_aarch64", "all"),
        ("cp311-cp311-manylinux_2_39_aarch64", "none"),  # a newer glibc
        ("cp311-cp311-musllinux_1_2_aarch64", "none"),
        ("cp311-cp311-macosx_11_0_arm64", "none"),
        ("cp314-cp314t-manylinux_2_28_aarch64", "none"),  # without the global lock
    ],
)
def test_what_pip_takes_on_a_board(name: str, told: str) -> None:
    assert wheels(name)[ARM] == told


def test_what_the_lock_does_not_want_there_is_empty() -> None:
    name = "cp311-cp311-manylinux_2_28_aarch64"
    assert wheels(name, marker="python_version < '3.12'")[ARM] == "all"
    assert wheels(name, marker="platform_machine == 'x86_64'")[ARM] == ""
    assert wheels(name, marker="sys_platform == 'win32'")[X86] == ""


def test_a_pure_package_has_no_row() -> None:
    pure = package()
    files = {pure: ["thing-1.0-py3-none-any.whl"]}
    assert [*systems.rows([pure], files, systems.PYTHONS)] == []
