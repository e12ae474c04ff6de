"""The client's files, made from what is installed: a wheel that is one, a zipapp, and a file for Python 3.6."""

from __future__ import annotations

import ast
import base64
import hashlib
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from referee.handouts import client_files as files_module
from referee.handouts.client_files import ZIPAPP, client_files, sums

OLD_PYTHONS = (
    Path("/usr/bin/python3.6"),
    Path("/root/.pyenv/versions/3.6.15/bin/python"),
)
# What came into the standard library after Python 3.6.
NEWER = {
    "contextvars",
    "dataclasses",
    "graphlib",
    "importlib.metadata",
    "importlib.resources",
    "tomllib",
    "zoneinfo",
}
OF_THE_FUTURE = {"annotations"}


def test_the_one_file_client_has_no_syntax_or_import_newer_than_python_3_6() -> None:
    text = client_files()["client.py"].content.decode()
    tree = ast.parse(text, feature_version=(3, 6))
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
            assert node.module != "__future__" or not names & OF_THE_FUTURE
            imported.add(node.module or "")
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            assert node.value.id not in {"dict", "list", "set", "tuple", "type"}
        assert not isinstance(node, ast.NamedExpr)
    assert not imported & NEWER
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names


def test_the_one_file_client_starts_on_python_3_6() -> None:
    old = next((one for one in OLD_PYTHONS if os.access(one, os.X_OK)), None)
    if old is None:
        pytest.skip("Python 3.6 is not installed here")
    told = subprocess.run(
        [old, "-"],
        input=client_files()["client.py"].content,
        capture_output=True,
        check=False,
    )
    assert b"python3 client.py URL TEAM PASSWORD_FILE" in told.stderr
    assert b"Error" not in told.stderr


WHEELS = [one for one in client_files() if one.endswith(".whl")]


@pytest.mark.parametrize("name", WHEELS, ids=lambda one: one.partition("-")[0])
def test_a_wheel_lists_each_of_its_files_with_its_sum(name: str) -> None:
    with zipfile.ZipFile(io.BytesIO(client_files()[name].content)) as wheel:
        held = {one: wheel.read(one) for one in wheel.namelist()}
    (record_name,) = (one for one in held if one.endswith(".dist-info/RECORD"))
    lines = [line.split(",") for line in held.pop(record_name).decode().splitlines()]
    stated = {path: sum_ for path, sum_, _ in lines if sum_}
    for path, content in held.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
        assert stated.pop(path) == f"sha256={digest.decode().rstrip('=')}"
    assert stated == {}
    assert any("/licenses/LICENSE" in path for path in held)
    assert not any("__pycache__" in path or path.endswith(".so") for path in held)


def test_the_wheels_are_the_client_and_all_that_it_needs() -> None:
    assert [one.partition("-")[0] for one in WHEELS] == [
        "lpirc_client",
        *(package for _, package in files_module.NEEDED),
    ]
    with zipfile.ZipFile(io.BytesIO(client_files()[WHEELS[0]].content)) as wheel:
        held = wheel.namelist()
    assert "lpirc_client/cli.py" in held
    assert "lpirc_client/examples/go/client.go" in held


def test_the_zipapp_runs_without_anything_installed_and_names_its_licences(
    tmp_path: Path,
) -> None:
    program = tmp_path / ZIPAPP
    program.write_bytes(client_files()[ZIPAPP].content)
    told = subprocess.run(
        [sys.executable, "-I", "-S", str(program), "--version"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert told.stdout.startswith("lpirc-client "), told.stderr
    with zipfile.ZipFile(program) as held:
        names = held.namelist()
    for package in ("requests", "urllib3", "idna", "charset_normalizer"):
        assert any(
            f"{package}-" in name and "licenses/" in name.lower() for name in names
        ), package
    assert not any(name.endswith((".so", ".pyc")) for name in names)


def test_the_same_installation_makes_the_same_bytes() -> None:
    first = sums()
    client_files.cache_clear()
    assert sums() == first
    assert len(first.splitlines()) == len(client_files()) >= 10


def test_without_the_client_there_is_nothing_to_download(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(files_module, "CLIENT", ("lpirc-absent", "lpirc_absent"))
    client_files.cache_clear()
    assert client_files() == {}
    assert sums() == ""
    client_files.cache_clear()


def test_without_what_the_client_needs_there_is_no_zipapp(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(files_module, "NEEDED", (("absent", "absent"),))
    client_files.cache_clear()
    assert ZIPAPP not in client_files()
    assert "client.py" in client_files()
    client_files.cache_clear()
